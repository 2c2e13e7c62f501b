//! All objects of one resource in key order, their event log, and the watchers that sleep until it grows.

use std::{collections::BTreeMap, sync::Arc, task::Waker};

use super::{
    bucket::Bucket,
    log::{Event, Log, Retention},
};
use crate::resource::Resource;

/// Identifies a watcher within its cluster; also the order in which watchers are woken.
pub(crate) type WatcherId = u64;

/// A watcher that has seen everything so far.
struct Sleeper {
    /// `None` watches every namespace.
    namespace: Option<Arc<str>>,
    waker: Waker,
}

/// The objects of one resource.
pub(crate) struct Table {
    pub(crate) resource: Arc<Resource>,
    /// Changes when a CRD is removed and created again, so that old watchers do not read the new log.
    pub(crate) epoch: u64,
    /// Whether the CRD is going away and no new objects are taken.
    pub(crate) closing: bool,
    pub(crate) log: Log,
    /// Changed by the store alone, which logs every change.
    pub(crate) objects: Bucket,
    sleepers: BTreeMap<WatcherId, Sleeper>,
}

impl Table {
    pub(crate) fn new(resource: Arc<Resource>, epoch: u64, retention: Retention) -> Self {
        let (objects, sleepers) = (Bucket::default(), BTreeMap::new());
        Self { resource, epoch, closing: false, log: Log::new(retention), objects, sleepers }
    }

    /// Logs an event and gives the wakers of those who watch its namespace.
    pub(super) fn announce(&mut self, namespace: &str, event: Event, woken: &mut Vec<Waker>) {
        self.log.append(event);
        if self.sleepers.is_empty() {
            return;
        }
        let concerned = |_: &WatcherId, sleeper: &mut Sleeper| {
            sleeper.namespace.as_deref().is_none_or(|it| it == namespace)
        };
        woken.extend(self.sleepers.extract_if(.., concerned).map(|(_, sleeper)| sleeper.waker));
    }

    /// Registers a watcher for the next event. A waker it replaces is given to `woken`, because a waker must not be
    /// dropped while the cluster is locked: it may own the task that owns the watcher, whose end takes the lock.
    pub(super) fn register_waker(
        &mut self,
        watcher: WatcherId,
        namespace: Option<&Arc<str>>,
        waker: &Waker,
        woken: &mut Vec<Waker>,
    ) {
        match self.sleepers.get_mut(&watcher) {
            Some(sleeper) if sleeper.waker.will_wake(waker) => {}
            Some(sleeper) => woken.push(std::mem::replace(&mut sleeper.waker, waker.clone())),
            None => {
                let sleeper = Sleeper { namespace: namespace.cloned(), waker: waker.clone() };
                self.sleepers.insert(watcher, sleeper);
            }
        }
    }

    /// Ends a registration; the waker is for the caller to drop once the cluster is unlocked.
    #[must_use]
    pub(crate) fn forget(&mut self, watcher: WatcherId) -> Option<Waker> {
        self.sleepers.remove(&watcher).map(|sleeper| sleeper.waker)
    }

    /// Everybody who sleeps here, for when the table itself goes away.
    pub(crate) fn into_wakers(self) -> impl Iterator<Item = Waker> {
        self.sleepers.into_values().map(|sleeper| sleeper.waker)
    }
}
