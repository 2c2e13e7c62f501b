//! Plans of this provider's controllers: what they wait for is a [`Wait`].

use capm3_domain::wait::Wait;

/// A plan of a controller.
pub type Plan = capm3_engine::Plan<Wait>;

/// How a pass of a controller ends.
pub type End = capm3_engine::End<Wait>;

/// What a plan waits for, as people read it; empty if it does not wait.
#[cfg(test)]
pub(crate) fn waits_for(plan: &Plan) -> String {
    match &plan.end {
        End::WaitFor(wait) | End::Retry(wait, _) => wait.to_string(),
        End::Done | End::Again | End::After(_) => String::new(),
    }
}
