//! What a decision reads only when it needs it.

use std::{fmt, sync::Arc};

/// A question to the reader, asked by the decision when it needs the answer. Most decisions do not.
#[derive(Clone)]
pub struct Lazy<'r, Q, A>(Arc<dyn Fn(Q) -> A + Send + Sync + 'r>);

impl<'r, Q, A> Lazy<'r, Q, A> {
    pub(crate) fn new(read: impl Fn(Q) -> A + Send + Sync + 'r) -> Self {
        Self(Arc::new(read))
    }

    /// Reads the answer.
    pub fn read(&self, question: Q) -> A {
        (self.0)(question)
    }
}

impl<Q, A> fmt::Debug for Lazy<'_, Q, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Lazy")
    }
}
