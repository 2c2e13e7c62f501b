//! What the owner of a server chooses once, when it is built.

use std::sync::Arc;

use jiff::Timestamp;

use crate::record::WriteRecord;

/// Events kept for each resource before a slow watcher must list again: some seconds of the busiest fleet, and
/// some ten megabytes for each kind that is busy.
const DEFAULT_LOG_CAPACITY: usize = 5_000;
/// Bytes of events kept for each resource, so that large objects that change often do not fill the memory.
const DEFAULT_LOG_BYTES: usize = 32 * 1024 * 1024;

/// How a server is built.
#[derive(Clone)]
pub struct Options {
    /// The time written into objects. The server reads no other clock.
    pub now: Arc<dyn Fn() -> Timestamp + Send + Sync>,
    /// Where uids and `generateName` suffixes come from.
    pub seed: u64,
    /// Called for every write, attempted ones included, in the order in which the server decided them. It is
    /// called with no lock held and may read the server.
    #[allow(clippy::type_complexity, reason = "spelled out, because callers build exactly this")]
    pub observer: Option<Arc<dyn Fn(&WriteRecord) + Send + Sync>>,
    /// How many events are kept for watches, for each resource of each cluster.
    pub log_capacity: usize,
    /// How many bytes of events are kept for watches, for each resource of each cluster; all resources together keep
    /// twice as many. An object before and after a change counts as two.
    pub log_bytes: usize,
}

impl Options {
    /// Options without an observer and with the usual limits of the log.
    pub fn new(now: Arc<dyn Fn() -> Timestamp + Send + Sync>, seed: u64) -> Self {
        Self { now, seed, observer: None, log_capacity: DEFAULT_LOG_CAPACITY, log_bytes: DEFAULT_LOG_BYTES }
    }
}

impl std::fmt::Debug for Options {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Options")
            .field("seed", &self.seed)
            .field("observed", &self.observer.is_some())
            .field("log_capacity", &self.log_capacity)
            .field("log_bytes", &self.log_bytes)
            .finish_non_exhaustive()
    }
}
