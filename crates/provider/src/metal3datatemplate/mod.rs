//! Metal3DataTemplate: gives each claim the lowest free index, as a Metal3Data, and takes it back when the claim
//! goes.
//!
//! One pass serves the whole template; templates that share an index space share a worker. Woken by the template, by its claims, by its data, and by a Cluster whose
//! pause begins or ends. Only objects say which index is in use; the status is their mirror.

mod allot;
mod claim;
mod decide;
mod left_behind;
#[cfg(test)]
#[path = "../../tests/memory/mod.rs"]
pub(crate) mod memory;
mod observe;
#[cfg(test)]
mod space_tests;
mod status;
mod template;
mod wake;

use std::sync::Arc;

use capm3_engine::{Controller, Object, ObjectKey, Outcome, Queue, Reader};
pub use decide::{decide, decide_in_parts};
pub use observe::{Snapshot, observe};

use crate::{
    batch::serve,
    context::{Context, boxed},
    indexes::TEMPLATES_BY_SPACE,
};

/// Keys of the queue are index spaces: templates that share one are served one after the other, so that no two of them
/// give the same index at the same time.
pub(crate) fn controller(context: &Context) -> Controller {
    let queue = Arc::new(Queue::default());
    wake::watch(&context.caches, &queue);
    let context = context.clone();
    Controller::new(
        "metal3datatemplate",
        queue,
        Arc::new(move |space: ObjectKey| {
            let context = context.clone();
            boxed(async move { serve_space(&context, &space).await })
        }),
    )
}

async fn serve_space(context: &Context, space: &ObjectKey) -> Outcome {
    // A template that is not there is looked at under its name.
    let mut outcome = left_behind::clean_up(context, space).await;
    for template in context.caches.by_index(&TEMPLATES_BY_SPACE, &space.to_string()) {
        let key = template.key();
        let served = serve(context, || observe(&*context.caches, &key));
        outcome = worse(outcome, served.await);
    }
    outcome
}

/// The one that asks for more.
fn worse(one: Outcome, other: Outcome) -> Outcome {
    match (one, other) {
        (failed @ (Outcome::Failed(_) | Outcome::Restless), _) => failed,
        (_, failed @ (Outcome::Failed(_) | Outcome::Restless)) => failed,
        (Outcome::After(one), Outcome::After(other)) => Outcome::After(one.min(other)),
        (Outcome::After(one), Outcome::Settled) => Outcome::After(one),
        (Outcome::Settled, other) => other,
    }
}
