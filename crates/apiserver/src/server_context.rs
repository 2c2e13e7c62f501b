//! What every cluster of one server shares: the clock, the seams, the record of writes.

use std::sync::Arc;

use jiff::Timestamp;
use parking_lot::RwLock;
use serde_json::Value;

use crate::{
    admission::Admission,
    conversion::{Conversion, RewriteApiVersion},
    event,
    options::Options,
    record::{Counters, Recorder},
    store::log::Retention,
    user::Tokens,
};

/// Shared surroundings of all clusters.
pub(crate) struct Env {
    now: Arc<dyn Fn() -> Timestamp + Send + Sync>,
    admission: RwLock<Option<Arc<dyn Admission>>>,
    conversion: RwLock<Arc<dyn Conversion>>,
    pub(crate) recorder: Recorder,
    pub(crate) counters: Counters,
    pub(crate) seed: u64,
    pub(crate) retention: Retention,
    pub(crate) tokens: Tokens,
}

impl Env {
    pub(crate) fn new(options: Options) -> Self {
        Self {
            now: options.now,
            admission: RwLock::new(None),
            conversion: RwLock::new(Arc::new(RewriteApiVersion)),
            recorder: Recorder::new(options.observer),
            counters: Counters::default(),
            seed: options.seed,
            retention: Retention::new(options.log_capacity, options.log_bytes),
            tokens: Tokens::default(),
        }
    }

    /// The time for timestamps, as Kubernetes writes it.
    pub(crate) fn now(&self) -> String {
        crate::clock::seconds((self.now)())
    }

    /// `None` until rules are installed, so that nobody pays for rules that do nothing.
    pub(crate) fn admission(&self) -> Option<Arc<dyn Admission>> {
        self.admission.read().clone()
    }

    /// An object in another version of its kind.
    pub(crate) fn convert(&self, object: Value, api_version: &str) -> Result<Value, String> {
        if event::is_event(&object) {
            return Ok(event::convert(object, api_version));
        }
        let conversion = Arc::clone(&self.conversion.read());
        conversion.convert(object, api_version)
    }

    /// The time for what is shown.
    pub(crate) fn timestamp(&self) -> Timestamp {
        (self.now)()
    }

    pub(crate) fn set_admission(&self, admission: Arc<dyn Admission>) {
        *self.admission.write() = Some(admission);
    }

    pub(crate) fn set_conversion(&self, conversion: Arc<dyn Conversion>) {
        *self.conversion.write() = conversion;
    }
}
