//! Metrics: what a [`Source`] knows at the moment of a scrape, as Prometheus reads it.
//!
//! Nothing is registered globally. The engine counts in plain fields of its own (a queue its keys, a client its requests), so
//! that counting costs an addition and no lookup; the sources turn them into series when somebody asks. Each [`Series`]
//! is a row of a table, from which the documentation and the checks of dashboards and alerts come. Labels have bounded
//! values: no object names. The order of the text depends on nothing but the sources.

mod controllers;
mod encode;
mod exposition;
mod leadership;
mod process;
mod requests;

use std::{fmt, sync::Arc};

use parking_lot::{Mutex, MutexGuard};
use prometheus_client::{collector::Collector, encoding::DescriptorEncoder, registry::Registry};

pub use controllers::{ControllerFigures, ControllerSource};
pub(crate) use controllers::{QueueFigures, ReconcileFigures};
pub use encode::Encoder;
pub use exposition::Format;
pub use leadership::LeadershipSource;
pub use process::{CertificateSource, ProcessSource};
pub use prometheus_client::metrics::{counter::Counter, histogram::Histogram};
pub use requests::{RequestCounts, RequestSource};

/// What a series is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SeriesType {
    /// Only grows; its name ends in `_total`.
    Counter,
    /// Goes up and down.
    Gauge,
    /// How many observations there were, in buckets; its names end in `_bucket`, `_sum` and `_count`.
    Histogram,
}

/// A family of series.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Series {
    /// The name without what the type adds to it.
    pub family: &'static str,
    /// What it is.
    pub of: SeriesType,
    /// Names of its labels.
    pub labels: &'static [&'static str],
    /// What it shows, in one sentence without a full stop.
    pub help: &'static str,
}

impl Series {
    /// A counter.
    pub const fn counter(family: &'static str, labels: &'static [&'static str], help: &'static str) -> Self {
        Self { family, of: SeriesType::Counter, labels, help }
    }

    /// A gauge.
    pub const fn gauge(family: &'static str, labels: &'static [&'static str], help: &'static str) -> Self {
        Self { family, of: SeriesType::Gauge, labels, help }
    }

    /// A histogram.
    pub const fn histogram(
        family: &'static str,
        labels: &'static [&'static str],
        help: &'static str,
    ) -> Self {
        Self { family, of: SeriesType::Histogram, labels, help }
    }

    /// The names by which queries find it.
    pub fn names(&self) -> Vec<String> {
        let with = |suffix: &str| format!("{}{suffix}", self.family);
        match self.of {
            SeriesType::Counter => vec![with("_total")],
            SeriesType::Gauge => vec![with("")],
            SeriesType::Histogram => ["_bucket", "_sum", "_count"].map(with).to_vec(),
        }
    }
}

/// Something that knows figures.
pub trait Source: Send + Sync + 'static {
    /// Writes its series as they are now.
    ///
    /// # Errors
    /// Only those of the encoder.
    fn encode(&self, encoder: &mut Encoder<'_>) -> fmt::Result;
}

impl<S: Source> Source for Arc<S> {
    fn encode(&self, encoder: &mut Encoder<'_>) -> fmt::Result {
        self.as_ref().encode(encoder)
    }
}

/// The sources of a process. Copies are the same.
#[derive(Debug, Clone, Default)]
pub struct Metrics(Arc<Mutex<Registry>>);

impl Metrics {
    /// Adds a source; its series come after those of the sources before it.
    pub fn add(&self, source: impl Source) {
        self.lock().register_collector(Box::new(Collected(source)));
    }

    /// Everything as text.
    pub fn text(&self, format: Format) -> String {
        let mut text = String::new();
        // Writing to a String does not fail, and sources have no errors of their own.
        let _written = prometheus_client::encoding::text::encode(&mut text, &self.lock());
        exposition::in_format(text, format)
    }

    fn lock(&self) -> MutexGuard<'_, Registry> {
        self.0.lock()
    }
}

struct Collected<S>(S);

impl<S> fmt::Debug for Collected<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Collected")
    }
}

impl<S: Source> Collector for Collected<S> {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        self.0.encode(&mut Encoder::new(encoder))
    }
}

/// The series of the engine.
pub const SERIES: &[Series] = &[
    controllers::RECONCILES,
    controllers::ERRORS,
    controllers::PANICS,
    controllers::TIME,
    controllers::ACTIVE,
    controllers::MOST,
    controllers::DEPTH,
    controllers::ADDS,
    controllers::WAITED,
    controllers::WORKED,
    controllers::UNFINISHED,
    controllers::LONGEST,
    controllers::RETRIES,
    requests::REQUESTS,
    leadership::MASTER,
    process::EXPIRY,
    process::BUILD,
    process::CPU,
    process::MEMORY,
    process::FILES,
    process::MOST_FILES,
];
