//! How many writes there were: the one place that metrics of writes come from.

use std::{collections::BTreeMap, sync::Arc};

use parking_lot::Mutex;

use crate::{ApiError, Write};

/// A verb, the kind of the object, and why the server did not do what was asked; none if it did.
pub type WriteOutcome = (&'static str, String, Option<&'static str>);

/// How many writes there were of each kind and outcome. Shared by all copies of an executor.
#[derive(Debug, Clone, Default)]
pub struct WriteCounts(Arc<Mutex<BTreeMap<WriteOutcome, u64>>>);

impl WriteCounts {
    pub(crate) fn add(&self, write: &Write, error: Option<&ApiError>) {
        let outcome = (write.verb(), write.kind().kind.clone(), error.map(ApiError::label));
        *self.0.lock().entry(outcome).or_default() += 1;
    }

    /// The counts so far.
    pub fn all(&self) -> BTreeMap<WriteOutcome, u64> {
        self.0.lock().clone()
    }
}
