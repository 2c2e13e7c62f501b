//! Background tasks that end with their owner.

use parking_lot::Mutex;
use tokio::task::JoinSet;

/// Tasks that are stopped when this value is dropped: dropping a provider is its crash.
#[derive(Debug, Default)]
pub struct Tasks {
    set: Mutex<JoinSet<()>>,
}

impl Tasks {
    /// Starts a task.
    pub fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.set.lock().spawn(task);
    }
}
