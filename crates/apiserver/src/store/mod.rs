//! The objects of one cluster: takes finished objects, gives them a revision, logs the event, keeps the indexes.
//!
//! Decides nothing about what may be written; every rule is applied before. What a write sets in motion (garbage
//! collection, terminating namespaces, CRDs) is read from `changes` by `side_effects`.

mod bucket;
pub(crate) mod index;
pub(crate) mod log;
pub(crate) mod object;
pub(crate) mod summary;
pub(crate) mod table;

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
    task::Waker,
};

use serde_json::Value;

use self::{
    index::Index,
    log::{Event, EventKind, Retention},
    object::{ObjectKey, Stored},
    table::{Table, WatcherId},
};
use crate::resource::{Resource, ResourceKey};

/// One effective write, for those who must react to it.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    pub(crate) key: ObjectKey,
    pub(crate) old: Option<Arc<Stored>>,
    pub(crate) new: Option<Arc<Stored>>,
}

/// All objects of one cluster.
pub(crate) struct Store {
    revision: u64,
    tables: BTreeMap<ResourceKey, Table>,
    pub(crate) index: Index,
    changes: VecDeque<Change>,
    woken: Vec<Waker>,
    last_watcher: WatcherId,
    last_epoch: u64,
    retention: Retention,
}

impl Store {
    pub(crate) fn new(retention: Retention) -> Self {
        Self {
            revision: 1,
            tables: BTreeMap::new(),
            index: Index::default(),
            changes: VecDeque::new(),
            woken: Vec::new(),
            last_watcher: 0,
            last_epoch: 0,
            retention,
        }
    }

    /// The revision of the latest write.
    pub(crate) fn revision(&self) -> u64 {
        self.revision
    }

    /// Serves a resource, or serves it with a new definition and its objects kept.
    pub(crate) fn define(&mut self, resource: Arc<Resource>) {
        if let Some(table) = self.tables.get_mut(&resource.key) {
            table.resource = resource;
            return;
        }
        self.last_epoch += 1;
        let table = Table::new(Arc::clone(&resource), self.last_epoch, self.retention.clone());
        self.tables.insert(resource.key.clone(), table);
    }

    /// Stops serving a resource; its watchers are woken to find their table gone.
    pub(crate) fn undefine(&mut self, key: &ResourceKey) {
        if let Some(table) = self.tables.remove(key) {
            self.woken.extend(table.into_wakers());
        }
    }

    pub(crate) fn table(&self, key: &ResourceKey) -> Option<&Table> {
        self.tables.get(key)
    }

    pub(crate) fn table_mut(&mut self, key: &ResourceKey) -> Option<&mut Table> {
        self.tables.get_mut(key)
    }

    pub(crate) fn tables(&self) -> impl Iterator<Item = &Table> {
        self.tables.values()
    }

    pub(crate) fn get(&self, key: &ObjectKey) -> Option<&Arc<Stored>> {
        self.tables.get(&key.resource)?.objects.get(&key.namespace, &key.name)
    }

    /// Stores an object, new or changed. `None` only if the resource is not served.
    pub(crate) fn put(&mut self, key: &ObjectKey, value: Value) -> Option<Arc<Stored>> {
        let table = self.tables.get_mut(&key.resource)?;
        self.revision += 1;
        let object = Arc::new(Stored::new(value, self.revision));
        let previous = table.objects.put(&key.namespace, &key.name, Arc::clone(&object));
        let kind = if previous.is_some() { EventKind::Modified } else { EventKind::Added };
        let event = Event { kind, object: Arc::clone(&object), previous: previous.clone() };
        table.announce(&key.namespace, event, &mut self.woken);
        self.note(key, previous, Some(Arc::clone(&object)));
        Some(object)
    }

    /// Removes an object; `last` replaces its stored state in the event, for a write that took its last finalizer.
    pub(crate) fn remove(&mut self, key: &ObjectKey, last: Option<Value>) -> Option<Arc<Stored>> {
        let table = self.tables.get_mut(&key.resource)?;
        let previous = table.objects.take(&key.namespace, &key.name)?;
        self.revision += 1;
        let last = last.unwrap_or_else(|| previous.value());
        let object = Arc::new(Stored::new(last, self.revision));
        let event = Event {
            kind: EventKind::Deleted,
            object: Arc::clone(&object),
            previous: Some(Arc::clone(&previous)),
        };
        table.announce(&key.namespace, event, &mut self.woken);
        self.note(key, Some(previous), None);
        Some(object)
    }

    fn note(&mut self, key: &ObjectKey, old: Option<Arc<Stored>>, new: Option<Arc<Stored>>) {
        self.index.update(key, old.as_ref().map(|it| &it.head), new.as_ref().map(|it| &it.head));
        self.changes.push_back(Change { key: key.clone(), old, new });
    }

    /// The oldest change nobody has reacted to.
    pub(crate) fn next_change(&mut self) -> Option<Change> {
        self.changes.pop_front()
    }

    pub(crate) fn new_watcher(&mut self) -> WatcherId {
        self.last_watcher += 1;
        self.last_watcher
    }

    /// Registers a watcher that has seen everything so far.
    pub(crate) fn register_waker(
        &mut self,
        resource: &ResourceKey,
        watcher: WatcherId,
        namespace: Option<&Arc<str>>,
        waker: &Waker,
    ) {
        if let Some(table) = self.tables.get_mut(resource) {
            table.register_waker(watcher, namespace, waker, &mut self.woken);
        }
    }

    /// Watchers to wake once the cluster is unlocked.
    pub(crate) fn take_woken(&mut self) -> Vec<Waker> {
        std::mem::take(&mut self.woken)
    }

    /// Forgets all resources, for a cluster that is removed while others still hold it.
    pub(crate) fn close(&mut self) {
        let keys: Vec<ResourceKey> = self.tables.keys().cloned().collect();
        keys.iter().for_each(|key| self.undefine(key));
    }
}
