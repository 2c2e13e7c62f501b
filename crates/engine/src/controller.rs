//! Bounded workers that take keys from a queue and reconcile them.

use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

use futures::{FutureExt, future::BoxFuture};
use tracing::{debug, error, warn};

use crate::{ActError, ApiError, Caches, ObjectKey, Queue, Tasks, WriteGate};

/// How the work on a key ended.
#[derive(Debug)]
pub enum Outcome {
    /// Nothing to do until something changes.
    Settled,
    /// To be reconciled again after a while.
    After(Duration),
    /// Every pass led to another one; retried with a growing pause.
    Restless,
    /// Failed; retried with a growing pause.
    Failed(ActError),
}

/// Work on one key.
pub type Reconcile = Arc<dyn Fn(ObjectKey) -> BoxFuture<'static, Outcome> + Send + Sync>;

/// A queue and its workers.
pub struct Controller {
    /// Name in logs.
    pub name: &'static str,
    /// Keys to reconcile.
    pub queue: Arc<Queue<ObjectKey>>,
    reconcile: Reconcile,
}

impl Controller {
    /// A controller that calls `reconcile` for each key.
    pub fn new(name: &'static str, queue: Arc<Queue<ObjectKey>>, reconcile: Reconcile) -> Self {
        Self { name, queue, reconcile }
    }

    /// Starts the workers once every cache has its first list, because acting on half a view would be a guess, and the gate
    /// is open. They end when it is closed.
    pub fn start_when_synced(&self, workers: usize, tasks: &Tasks, caches: Arc<Caches>, gate: &WriteGate) {
        for _ in 0..workers {
            let (name, queue, reconcile) = (self.name, Arc::clone(&self.queue), Arc::clone(&self.reconcile));
            let (caches, gate) = (Arc::clone(&caches), gate.clone());
            tasks.spawn(async move {
                caches.synced().await;
                gate.opened().await;
                work(name, queue, reconcile, gate).await;
            });
        }
    }
}

impl std::fmt::Debug for Controller {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Controller").field("name", &self.name).field("depth", &self.queue.depth()).finish()
    }
}

async fn work(name: &'static str, queue: Arc<Queue<ObjectKey>>, reconcile: Reconcile, gate: WriteGate) {
    loop {
        let key = queue.next().await;
        if !gate.is_open() {
            queue.done(&key);
            return;
        }
        // A panic costs the key a pause, never the worker.
        let outcome = AssertUnwindSafe(reconcile(key.clone())).catch_unwind().await;
        match outcome {
            Ok(Outcome::Settled) => queue.forget_failures(&key),
            Ok(Outcome::After(delay)) => {
                queue.forget_failures(&key);
                queue.add_after(key.clone(), delay);
            }
            Ok(Outcome::Restless) => {
                warn!(controller = name, %key, "reconcile passes do not settle; retries with back-off");
                queue.add_failed(key.clone());
            }
            Ok(Outcome::Failed(failure)) if matches!(failure.source, ApiError::GateClosed) => {
                debug!(controller = name, %key, error = %failure, "left for the next leader");
            }
            Ok(Outcome::Failed(failure)) => {
                warn!(controller = name, %key, error = %failure, cause = %failure.source, "failed; retries with back-off");
                queue.add_failed(key.clone());
            }
            Err(_) => {
                error!(controller = name, %key, "panicked; retries with back-off");
                queue.add_failed(key.clone());
            }
        }
        queue.done(&key);
    }
}
