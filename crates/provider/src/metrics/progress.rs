//! How long machines take from step to step.
//!
//! Each step is observed when the cached machine is seen to take it, once: a machine that had taken it when it was first seen,
//! as after a restart, is not counted again.

use std::fmt;

use capm3_api::{
    conditions::is_true,
    metadata::MetadataExt,
    v1beta2::Metal3Machine,
    vocabulary::{annotation, condition},
};
use capm3_engine::{
    Caches, Clock,
    informer::Change,
    metrics::{Encoder, Histogram, Series},
};

use crate::metal3machine::is_provisioned;

pub(super) const STEPS: Series = Series::histogram(
    "capm3_machine_step_seconds",
    &["step"],
    "Seconds from the creation of a Metal3Machine until it has a host, its data, its image on the disk \
     (provisioned), and is ready",
);

/// From a second to four hours: hardware boots in minutes, and a wait for hosts may last.
const BUCKETS: [f64; 16] = [
    1.0, 5.0, 15.0, 30.0, 60.0, 120.0, 300.0, 480.0, 600.0, 900.0, 1200.0, 1800.0, 2700.0, 3600.0, 7200.0,
    14400.0,
];

/// A step, and whether a machine has taken it.
type Step = (&'static str, fn(&Metal3Machine) -> bool);

const ORDER: [Step; 4] = [
    ("data", |machine| is_true(&machine.status.conditions, condition::DATA_READY)),
    ("host", |machine| machine.metadata.annotation(annotation::HOST).is_some()),
    ("provisioned", |machine| is_true(&machine.status.conditions, condition::HOST_PROVISIONED)),
    ("ready", is_provisioned),
];

/// How long the steps of machines took.
#[derive(Debug, Clone)]
pub(crate) struct Progress([Histogram; 4]);

impl Default for Progress {
    fn default() -> Self {
        Self(std::array::from_fn(|_| Histogram::new(BUCKETS)))
    }
}

impl Progress {
    /// Observes the machines of a cache from now on.
    pub(crate) fn watch(&self, caches: &Caches, clock: Clock) {
        let Some(machines) = caches.store::<Metal3Machine>() else { return };
        let progress = self.clone();
        machines.subscribe(move |change| progress.note(change, clock));
    }

    fn note(&self, change: &Change<Metal3Machine>, clock: Clock) {
        let (Some(old), Some(new)) = (&change.old, &change.new) else { return };
        if old.metadata.uid != new.metadata.uid {
            return;
        }
        for ((_, has_taken), histogram) in ORDER.iter().zip(&self.0) {
            if has_taken(new)
                && !has_taken(old)
                && let Some(created) = &new.metadata.creation_timestamp
            {
                histogram.observe(clock.now().duration_since(created.0).as_secs_f64().max(0.0));
            }
        }
    }

    pub(super) fn encode(&self, encoder: &mut Encoder<'_>) -> fmt::Result {
        let steps = ORDER.iter().zip(&self.0);
        encoder.histograms(&STEPS, steps.map(|((step, _), histogram)| ([step], histogram.clone())))
    }
}
