//! What objects wait for at present, by controller and key: the result of the latest decision about each.

use std::{collections::BTreeMap, time::Duration};

use capm3_domain::wait::Wait;
use capm3_engine::{Next, ObjectKey};
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::plan::End;

/// A controller by its name, and the object.
pub type Waiting = (&'static str, ObjectKey);

/// The waits of every object, and since when each has had its code.
#[derive(Debug, Default)]
pub(crate) struct Waits(Mutex<BTreeMap<Waiting, (Wait, Instant)>>);

impl Waits {
    /// Takes down what a decision waits for. A question to the server changes nothing.
    pub(crate) fn note<Q>(&self, controller: &'static str, key: &ObjectKey, next: &Next<Q, Wait>) {
        if let Next::Act(plan) = next {
            self.note_end(controller, key, &plan.end);
        }
    }

    /// Takes down how a pass ends.
    pub(crate) fn note_end(&self, controller: &'static str, key: &ObjectKey, end: &End) {
        let waiting = (controller, key.clone());
        match end {
            End::WaitFor(wait) | End::Retry(wait, _) => {
                let mut waits = self.0.lock();
                let before = waits.get(&waiting).filter(|(before, _)| before.code() == wait.code());
                let since = before.map_or_else(Instant::now, |(_, since)| *since);
                waits.insert(waiting, (wait.clone(), since));
            }
            End::Done => {
                self.0.lock().remove(&waiting);
            }
            // Decided by the next pass.
            End::Again | End::After(_) => {}
        }
    }

    /// The object is gone.
    pub(crate) fn forget(&self, controller: &'static str, key: &ObjectKey) {
        self.0.lock().remove(&(controller, key.clone()));
    }

    /// What waits, and what it waits for.
    pub(crate) fn all(&self) -> BTreeMap<Waiting, Wait> {
        self.0.lock().iter().map(|(waiting, (wait, _))| (waiting.clone(), wait.clone())).collect()
    }

    /// Shows every wait: the controller, what is waited for, and for how long it has had this code.
    pub(crate) fn each(&self, mut visit: impl FnMut(&'static str, &Wait, Duration)) {
        for ((controller, _), (wait, since)) in self.0.lock().iter() {
            visit(controller, wait, since.elapsed());
        }
    }
}
