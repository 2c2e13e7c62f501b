//! What controllers and their queues did and do, under the names that controller-runtime has for it.

use std::{fmt, sync::Arc, time::Duration};

use prometheus_client::metrics::{
    counter::Counter,
    gauge::Gauge,
    histogram::{Histogram, exponential_buckets},
};

use super::{Encoder, Series, Source};
use crate::{ObjectKey, Outcome, Queue};

const BY_CONTROLLER: &[&str] = &["controller"];
/// In controller-runtime a queue has the name of its controller.
const BY_QUEUE: &[&str] = &["name", "controller"];

pub(super) const RECONCILES: Series = Series::counter(
    "controller_runtime_reconcile",
    &["controller", "result"],
    "Reconciliations by how they ended: success, error, requeue, requeue_after",
);
pub(super) const ERRORS: Series = Series::counter(
    "controller_runtime_reconcile_errors",
    BY_CONTROLLER,
    "Reconciliations that failed and are retried",
);
pub(super) const PANICS: Series = Series::counter(
    "controller_runtime_reconcile_panics",
    BY_CONTROLLER,
    "Reconciliations that panicked and are retried",
);
pub(super) const TIME: Series = Series::histogram(
    "controller_runtime_reconcile_time_seconds",
    BY_CONTROLLER,
    "Seconds that a reconciliation took",
);
pub(super) const ACTIVE: Series = Series::gauge(
    "controller_runtime_active_workers",
    BY_CONTROLLER,
    "Workers that reconcile at this moment",
);
pub(super) const MOST: Series = Series::gauge(
    "controller_runtime_max_concurrent_reconciles",
    BY_CONTROLLER,
    "Workers that the controller has",
);
pub(super) const DEPTH: Series = Series::gauge("workqueue_depth", BY_QUEUE, "Keys that wait for a worker");
pub(super) const ADDS: Series =
    Series::counter("workqueue_adds", BY_QUEUE, "Keys that were added, without those that waited already");
pub(super) const WAITED: Series = Series::histogram(
    "workqueue_queue_duration_seconds",
    BY_QUEUE,
    "Seconds for which a key waited for a worker",
);
pub(super) const WORKED: Series =
    Series::histogram("workqueue_work_duration_seconds", BY_QUEUE, "Seconds for which a worker had a key");
pub(super) const UNFINISHED: Series = Series::gauge(
    "workqueue_unfinished_work_seconds",
    BY_QUEUE,
    "Seconds that all keys that are being worked on have taken so far, together",
);
pub(super) const LONGEST: Series = Series::gauge(
    "workqueue_longest_running_processor_seconds",
    BY_QUEUE,
    "Seconds that the key which is being worked on for longest has taken so far",
);
pub(super) const RETRIES: Series =
    Series::counter("workqueue_retries", BY_QUEUE, "Keys that were added for later");

/// Seconds of a reconciliation, as controller-runtime counts them.
const RECONCILE_BUCKETS: [f64; 40] = [
    0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.25,
    1.5, 1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 15.0, 20.0, 25.0, 30.0, 40.0,
    50.0, 60.0,
];

/// What a queue counts.
#[derive(Debug, Clone)]
pub(crate) struct QueueFigures {
    pub(crate) adds: Counter,
    pub(crate) retries: Counter,
    pub(crate) waited: Histogram,
    pub(crate) worked: Histogram,
}

impl Default for QueueFigures {
    fn default() -> Self {
        // From 10 ns to 1000 s.
        let seconds = || Histogram::new(exponential_buckets(1e-8, 10.0, 12));
        Self { adds: Counter::default(), retries: Counter::default(), waited: seconds(), worked: seconds() }
    }
}

/// What a controller counts.
#[derive(Debug, Clone)]
pub(crate) struct ReconcileFigures {
    success: Counter,
    error: Counter,
    requeue: Counter,
    requeue_after: Counter,
    panics: Counter,
    time: Histogram,
    active: Gauge,
    pub(crate) workers: Gauge,
}

impl Default for ReconcileFigures {
    fn default() -> Self {
        Self {
            success: Counter::default(),
            error: Counter::default(),
            requeue: Counter::default(),
            requeue_after: Counter::default(),
            panics: Counter::default(),
            time: Histogram::new(RECONCILE_BUCKETS),
            active: Gauge::default(),
            workers: Gauge::default(),
        }
    }
}

impl ReconcileFigures {
    /// A worker has taken a key.
    pub(crate) fn begin(&self) {
        self.active.inc();
    }

    /// The worker has done with it; no outcome: it panicked.
    pub(crate) fn end(&self, took: Duration, outcome: Option<&Outcome>) {
        self.active.dec();
        self.time.observe(took.as_secs_f64());
        let result = match outcome {
            Some(Outcome::Settled) => &self.success,
            Some(Outcome::After(_)) => &self.requeue_after,
            Some(Outcome::Restless) => &self.requeue,
            Some(Outcome::Failed(_)) => &self.error,
            None => {
                self.panics.inc();
                &self.error
            }
        };
        result.inc();
    }
}

/// What a controller and its queue count.
#[derive(Debug, Clone)]
pub struct ControllerFigures {
    pub(crate) name: &'static str,
    pub(crate) queue: Arc<Queue<ObjectKey>>,
    pub(crate) reconciles: ReconcileFigures,
}

/// The series of controllers.
#[derive(Debug)]
pub struct ControllerSource(Vec<ControllerFigures>);

impl ControllerSource {
    /// Those of these controllers.
    pub fn new(controllers: Vec<ControllerFigures>) -> Self {
        Self(controllers)
    }

    fn of<T>(&self, value: impl Fn(&ReconcileFigures) -> T) -> impl Iterator<Item = ([&'static str; 1], T)> {
        self.0.iter().map(move |it| ([it.name], value(&it.reconciles)))
    }

    fn queues<T>(
        &self,
        value: impl Fn(&Queue<ObjectKey>) -> T,
    ) -> impl Iterator<Item = ([&'static str; 2], T)> {
        self.0.iter().map(move |it| ([it.name, it.name], value(&it.queue)))
    }
}

impl Source for ControllerSource {
    fn encode(&self, encoder: &mut Encoder<'_>) -> fmt::Result {
        let results = self.0.iter().flat_map(|it| {
            let of = &it.reconciles;
            [
                ("error", &of.error),
                ("requeue", &of.requeue),
                ("requeue_after", &of.requeue_after),
                ("success", &of.success),
            ]
            .map(|(result, count)| ([it.name, result], count.get()))
        });
        encoder.counters(&RECONCILES, results)?;
        encoder.counters(&ERRORS, self.of(|it| it.error.get()))?;
        encoder.counters(&PANICS, self.of(|it| it.panics.get()))?;
        encoder.histograms(&TIME, self.of(|it| it.time.clone()))?;
        encoder.gauges(&ACTIVE, self.of(|it| float(it.active.get())))?;
        encoder.gauges(&MOST, self.of(|it| float(it.workers.get())))?;
        encoder.gauges(&DEPTH, self.queues(|it| float(it.depth().ready)))?;
        encoder.counters(&ADDS, self.queues(|it| it.figures().adds.get()))?;
        encoder.histograms(&WAITED, self.queues(|it| it.figures().waited.clone()))?;
        encoder.histograms(&WORKED, self.queues(|it| it.figures().worked.clone()))?;
        encoder.gauges(&UNFINISHED, self.queues(|it| it.running().all.as_secs_f64()))?;
        encoder.gauges(&LONGEST, self.queues(|it| it.running().longest.as_secs_f64()))?;
        encoder.counters(&RETRIES, self.queues(|it| it.figures().retries.get()))
    }
}

/// As Prometheus has numbers. Whole ones up to 2^53 are exact.
#[expect(clippy::cast_precision_loss, reason = "counts of things are far below 2^53")]
fn float(number: impl TryInto<i64>) -> f64 {
    number.try_into().map_or(f64::INFINITY, |number| number as f64)
}
