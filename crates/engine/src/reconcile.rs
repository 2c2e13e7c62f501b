//! The one loop of passes over an object: observe and decide, then a question to the server or a plan, until nothing is left
//! to do at once.
//!
//! Takes a [`Reconciler`], which observes and decides; gives the [`Outcome`]. It is bounded: whoever writes against us, or a
//! question that leads to the next one, costs the key a pause.

use std::{fmt, future::Future, ops::ControlFlow};

use tracing::debug;

use crate::{ActError, End, Executor, Outcome, Plan};

/// How many plans may follow each other at once before the key has to wait.
const PLANS: usize = 8;

/// How many questions one reconciliation may put to the server.
const QUESTIONS: usize = 10;

/// What a pass comes to.
#[derive(Debug, Clone, PartialEq)]
pub enum Next<Q, W> {
    /// The server must be asked before anything can be decided.
    Ask(Q),
    /// This is to be done.
    Act(Plan<W>),
}

/// Reconciles one object, pass by pass.
pub trait Reconciler: Send {
    /// What the cache must not answer.
    type Question: Send;
    /// What a plan waits for.
    type Wait: fmt::Display + Send + Sync;

    /// One pass: observes and decides.
    fn next(&mut self) -> Next<Self::Question, Self::Wait>;

    /// Asks the server and keeps the answer for the next pass; an outcome ends the reconciliation.
    fn ask(&mut self, question: Self::Question) -> impl Future<Output = Result<(), Outcome>> + Send;
}

/// Runs passes until one ends without another at once.
pub async fn reconcile<R: Reconciler>(executor: &Executor, reconciler: &mut R) -> Outcome {
    let (mut passes, mut questions) = (Passes::default(), 0);
    loop {
        match reconciler.next() {
            Next::Ask(_) if questions >= QUESTIONS => return Outcome::Restless,
            Next::Ask(question) => {
                questions += 1;
                if let Err(outcome) = reconciler.ask(question).await {
                    return outcome;
                }
            }
            Next::Act(plan) => {
                if let End::WaitFor(wait) | End::Retry(wait, _) = &plan.end {
                    // In this form a wait that has a code begins with it.
                    debug!("waits: {wait:#}");
                }
                let ended = executor.act(&plan).await.map(|()| plan.end);
                if let ControlFlow::Break(outcome) = passes.after(ended) {
                    return outcome;
                }
            }
        }
    }
}

/// The same for a kind that asks nothing: `plan` observes and decides.
pub async fn drive<W, F>(executor: &Executor, plan: F) -> Outcome
where
    W: fmt::Display + Send + Sync,
    F: FnMut() -> Plan<W> + Send,
{
    reconcile(executor, &mut Planner(plan)).await
}

struct Planner<F>(F);

impl<W: fmt::Display + Send + Sync, F: FnMut() -> Plan<W> + Send> Reconciler for Planner<F> {
    type Question = std::convert::Infallible;
    type Wait = W;

    fn next(&mut self) -> Next<Self::Question, W> {
        Next::Act((self.0)())
    }

    async fn ask(&mut self, question: Self::Question) -> Result<(), Outcome> {
        match question {}
    }
}

/// Counts the plans for one key that follow each other at once.
#[derive(Debug, Default)]
pub struct Passes {
    taken: usize,
}

impl Passes {
    /// What follows a pass that ended like this: another one at once, or an outcome.
    pub fn after<W>(&mut self, ended: Result<End<W>, ActError>) -> ControlFlow<Outcome> {
        self.taken += 1;
        // Somebody else writes all the time, or undoes what we write: let other keys go first.
        let is_last = self.taken >= PLANS;
        match ended {
            Ok(End::Again) if is_last => ControlFlow::Break(Outcome::Restless),
            Ok(End::Again) => ControlFlow::Continue(()),
            Ok(End::Done | End::WaitFor(_)) => ControlFlow::Break(Outcome::Settled),
            Ok(End::After(delay) | End::Retry(_, delay)) => ControlFlow::Break(Outcome::After(delay)),
            Err(error) if error.is_outdated_view() && !is_last => ControlFlow::Continue(()),
            Err(error) => ControlFlow::Break(Outcome::Failed(error)),
        }
    }
}
