//! Bounded workers that take keys from a queue, look, decide and act.

use std::{fmt, ops::ControlFlow, panic::AssertUnwindSafe, sync::Arc, time::Duration};

use futures::{FutureExt, future::BoxFuture};
use tracing::{debug, error, warn};

use crate::{ActError, Caches, End, Executor, ObjectKey, Plan, Queue, Tasks};

/// How often a plan is made anew at once because the view was outdated, before the key has to wait.
const LOOKS: usize = 8;

/// How the work on a key ended.
#[derive(Debug)]
pub enum Outcome {
    /// Nothing to do until something changes.
    Settled,
    /// To be looked at again after a while.
    After(Duration),
    /// Every look led to another one; to be tried again with a growing pause.
    Restless,
    /// Failed; to be tried again with a growing pause.
    Failed(ActError),
}

/// Work on one key.
pub type Reconcile = Arc<dyn Fn(ObjectKey) -> BoxFuture<'static, Outcome> + Send + Sync>;

/// A queue and its workers.
pub struct Controller {
    /// Name in logs.
    pub name: &'static str,
    /// Keys to look at.
    pub queue: Arc<Queue<ObjectKey>>,
    reconcile: Reconcile,
}

impl Controller {
    /// A controller that calls `reconcile` for each key.
    pub fn new(name: &'static str, queue: Arc<Queue<ObjectKey>>, reconcile: Reconcile) -> Self {
        Self { name, queue, reconcile }
    }

    /// Starts the workers once every cache has its first list: acting on half a view would be a guess.
    pub fn start_when_synced(&self, workers: usize, tasks: &Tasks, caches: Arc<Caches>) {
        for _ in 0..workers {
            let (name, queue, reconcile) = (self.name, Arc::clone(&self.queue), Arc::clone(&self.reconcile));
            let caches = Arc::clone(&caches);
            tasks.spawn(async move {
                caches.synced().await;
                work(name, queue, reconcile).await;
            });
        }
    }
}

impl std::fmt::Debug for Controller {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Controller").field("name", &self.name).field("depth", &self.queue.depth()).finish()
    }
}

async fn work(name: &'static str, queue: Arc<Queue<ObjectKey>>, reconcile: Reconcile) {
    loop {
        let key = queue.next().await;
        // A panic costs the key a pause, never the worker.
        let outcome = AssertUnwindSafe(reconcile(key.clone())).catch_unwind().await;
        match outcome {
            Ok(Outcome::Settled) => queue.forget_failures(&key),
            Ok(Outcome::After(delay)) => {
                queue.forget_failures(&key);
                queue.add_after(key.clone(), delay);
            }
            Ok(Outcome::Restless) => {
                warn!(controller = name, %key, "does not come to rest; will look again");
                queue.add_failed(key.clone());
            }
            Ok(Outcome::Failed(failure)) => {
                warn!(controller = name, %key, error = %failure, cause = %failure.source, "will try again");
                queue.add_failed(key.clone());
            }
            Err(_) => {
                error!(controller = name, %key, "panicked; will try again");
                queue.add_failed(key.clone());
            }
        }
        queue.done(&key);
    }
}

/// Looks and decides (`plan`), acts, and looks again at once while the plan says so or the view was outdated.
pub async fn drive<W: fmt::Display>(executor: &Executor, mut plan: impl FnMut() -> Plan<W>) -> Outcome {
    let mut looks = Looks::default();
    loop {
        let plan = plan();
        if let End::WaitFor(wait) | End::Retry(wait, _) = &plan.end {
            // In this form a wait that has a code begins with it.
            debug!("waits: {wait:#}");
        }
        let ended = executor.act(&plan).await.map(|()| plan.end);
        if let ControlFlow::Break(outcome) = looks.after(ended) {
            return outcome;
        }
    }
}

/// Counts the looks at one key that follow each other at once.
#[derive(Debug, Default)]
pub struct Looks {
    taken: usize,
}

impl Looks {
    /// What follows a look that ended like this: another one at once, or an outcome.
    pub fn after<W>(&mut self, ended: Result<End<W>, ActError>) -> ControlFlow<Outcome> {
        self.taken += 1;
        // Somebody else writes all the time, or undoes what we write: let other keys go first.
        let is_last = self.taken >= LOOKS;
        match ended {
            Ok(End::Again) if is_last => ControlFlow::Break(Outcome::Restless),
            Ok(End::Again) => ControlFlow::Continue(()),
            Ok(End::Done | End::WaitFor(_)) => ControlFlow::Break(Outcome::Settled),
            Ok(End::After(delay) | End::Retry(_, delay)) => ControlFlow::Break(Outcome::After(delay)),
            Err(error) if error.source.is_outdated_view() && !is_last => ControlFlow::Continue(()),
            Err(error) => ControlFlow::Break(Outcome::Failed(error)),
        }
    }
}
