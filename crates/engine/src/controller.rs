//! Bounded workers that take keys from a queue and reconcile them.

use std::{
    panic::AssertUnwindSafe,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use futures::{FutureExt, future::BoxFuture};
use tokio::time::Instant;
use tracing::{Instrument, debug, error, info_span, warn};

use crate::{
    ActError, ApiError, Caches, ObjectKey, Queue, Tasks, WriteGate,
    metrics::{ControllerFigures, ReconcileFigures},
};

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
    /// How many reconciliations were begun: each has its number in the log.
    begun: Arc<AtomicU64>,
    figures: ReconcileFigures,
}

impl Controller {
    /// A controller that calls `reconcile` for each key.
    pub fn new(name: &'static str, queue: Arc<Queue<ObjectKey>>, reconcile: Reconcile) -> Self {
        Self { name, queue, reconcile, begun: Arc::default(), figures: ReconcileFigures::default() }
    }

    /// Starts the workers once every cache has its first list, because acting on half a view would be a guess, and the gate
    /// is open. They end when it is closed.
    pub fn start_when_synced(&self, workers: usize, tasks: &Tasks, caches: Arc<Caches>, gate: &WriteGate) {
        self.figures.workers.set(i64::try_from(workers).unwrap_or(i64::MAX));
        for _ in 0..workers {
            let worker = Worker {
                name: self.name,
                queue: Arc::clone(&self.queue),
                reconcile: Arc::clone(&self.reconcile),
                begun: Arc::clone(&self.begun),
                figures: self.figures.clone(),
            };
            let (caches, gate) = (Arc::clone(&caches), gate.clone());
            tasks.spawn(async move {
                caches.synced().await;
                gate.opened().await;
                worker.work(&gate).await;
            });
        }
    }

    /// What it and its queue count.
    pub fn figures(&self) -> ControllerFigures {
        ControllerFigures {
            name: self.name,
            queue: Arc::clone(&self.queue),
            reconciles: self.figures.clone(),
        }
    }
}

impl std::fmt::Debug for Controller {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Controller").field("name", &self.name).field("depth", &self.queue.depth()).finish()
    }
}

/// Takes keys one after the other.
struct Worker {
    name: &'static str,
    queue: Arc<Queue<ObjectKey>>,
    reconcile: Reconcile,
    begun: Arc<AtomicU64>,
    figures: ReconcileFigures,
}

impl Worker {
    async fn work(&self, gate: &WriteGate) {
        loop {
            let key = self.queue.next().await;
            if !gate.is_open() {
                self.queue.done(&key);
                return;
            }
            let id = self.begun.fetch_add(1, Ordering::Relaxed) + 1;
            let span = info_span!("reconcile", controller = self.name, object = %key, reconcile_id = id);
            self.take(&key).instrument(span).await;
            self.queue.done(&key);
        }
    }

    async fn take(&self, key: &ObjectKey) {
        let start = Instant::now();
        self.figures.begin();
        // A panic costs the key a pause, never the worker.
        let outcome = AssertUnwindSafe((self.reconcile)(key.clone())).catch_unwind().await;
        let took = start.elapsed();
        self.figures.end(took, outcome.as_ref().ok());
        debug!(duration = ?took, "reconciled");
        match outcome {
            Ok(Outcome::Settled) => self.queue.forget_failures(key),
            Ok(Outcome::After(delay)) => {
                self.queue.forget_failures(key);
                self.queue.add_after(key.clone(), delay);
            }
            Ok(Outcome::Restless) => {
                warn!("the reconcile does not converge; retrying with back-off");
                self.queue.add_failed(key.clone());
            }
            Ok(Outcome::Failed(failure)) if matches!(failure.source, ApiError::GateClosed) => {
                debug!(error = %failure, "left for the next leader");
            }
            Ok(Outcome::Failed(failure)) => {
                warn!(error = %failure, cause = %failure.source, "failed; retries with back-off");
                self.queue.add_failed(key.clone());
            }
            Err(_) => {
                error!("panicked; retries with back-off");
                self.queue.add_failed(key.clone());
            }
        }
    }
}
