//! How many writes there were: the one place that metrics of writes come from.

use std::{collections::BTreeMap, sync::Arc};

use parking_lot::Mutex;

use crate::Write;

/// A verb, the kind of the object, and whether the server did what was asked.
pub type WriteOutcome = (&'static str, String, bool);

/// How many writes there were of each kind and outcome. Shared by all copies of an executor.
#[derive(Debug, Clone, Default)]
pub struct WriteCounts(Arc<Mutex<BTreeMap<WriteOutcome, u64>>>);

impl WriteCounts {
    pub(crate) fn add(&self, write: &Write, is_done: bool) {
        let outcome = (write.verb(), write.kind().kind.clone(), is_done);
        *self.0.lock().entry(outcome).or_default() += 1;
    }

    /// The counts so far.
    pub fn all(&self) -> BTreeMap<WriteOutcome, u64> {
        self.0.lock().clone()
    }
}
