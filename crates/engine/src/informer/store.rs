//! A typed, indexed copy of one kind.
//!
//! Takes objects from lists, watches and from the answers to our own writes, in any order; keeps the newest of each
//! by resource version, never lets an older copy bring a deleted object back, and notifies its subscribers each
//! change once.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use parking_lot::{Mutex, RwLock};
use tokio::sync::watch;

use super::{
    aggregate::{Aggregate, Aggregates},
    known_gone::KnownGone,
    secondary_index::Groups,
    slots::{Slot, Slots},
};
use crate::{Object, ObjectKey, Visit};

/// A secondary index: under which values an object is found.
pub struct Index<K: 'static> {
    /// Name, unique among the indexes of the kind.
    pub name: &'static str,
    /// The values of an object.
    pub values: fn(&K) -> Vec<String>,
}

impl<K> Clone for Index<K> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<K> Copy for Index<K> {}
impl<K> std::fmt::Debug for Index<K> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Index({})", self.name)
    }
}

/// What happened to an object: before and after.
#[derive(Debug, Clone)]
pub struct Change<K> {
    /// The object before, if it was known.
    pub old: Option<Arc<K>>,
    /// The object now, if it is still there.
    pub new: Option<Arc<K>>,
}

type Subscriber<K> = Box<dyn Fn(&Change<K>) + Send + Sync>;

/// The copy of one kind.
pub struct Store<K: Object> {
    inner: RwLock<Inner<K>>,
    indexes: Vec<Index<K>>,
    subscribers: Mutex<Vec<Subscriber<K>>>,
    synced: watch::Sender<bool>,
}

/// A horizon beyond which nothing is known.
const EVERYTHING: u64 = u64::MAX;

/// Whether a list shows that the server was put back to an earlier state, as by a restored backup. A list without a version
/// says nothing.
pub(super) fn went_back(version: u64, known: u64) -> bool {
    0 < version && version < known
}

/// Whether a copy replaces the one that is known: it is newer, or it comes from a list that knows better.
fn is_news(version: u64, known: u64, horizon: u64) -> bool {
    version > known || horizon == EVERYTHING || (known <= horizon && version != known)
}

/// What the store had seen before a list was requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StorePosition {
    /// The newest version.
    pub version: u64,
    /// How many deletions.
    deletions: u64,
}

/// A key was seen deleted: at which version at least, and as the how many-th.
#[derive(Debug, Clone, Copy)]
struct Deletion {
    at: u64,
    number: u64,
}

struct Inner<K> {
    objects: Slots<K>,
    /// One for each index of the store.
    groups: Vec<Groups>,
    /// Summaries of objects that belong together.
    aggregates: Aggregates<K>,
    /// Keys that were seen deleted, until a list, a newer object or time settles it.
    deleted: BTreeMap<ObjectKey, Deletion>,
    /// How many deletions were seen.
    deletions: u64,
    /// Version up to which the watch had observed everything at the last bookmark.
    observed: u64,
    /// Objects that are known to have ended.
    known_gone: KnownGone,
}

impl<K: Object> Store<K> {
    /// An empty store with these indexes.
    pub fn new(indexes: &[Index<K>]) -> Self {
        Self {
            inner: RwLock::new(Inner {
                objects: Slots::new(),
                groups: indexes.iter().map(|_| Groups::default()).collect(),
                aggregates: Aggregates::default(),
                deleted: BTreeMap::new(),
                deletions: 0,
                observed: 0,
                known_gone: KnownGone::default(),
            }),
            indexes: indexes.to_vec(),
            subscribers: Mutex::new(Vec::new()),
            synced: watch::Sender::new(false),
        }
    }

    /// Its indexes.
    pub(crate) fn indexes(&self) -> &[Index<K>] {
        &self.indexes
    }

    /// Keeps an aggregate of the objects up to date from now on.
    pub fn maintain<A: Aggregate<K>>(&self) {
        let mut inner = self.inner.write();
        let Inner { objects, aggregates, .. } = &mut *inner;
        aggregates.add::<A>(objects.iter().map(AsRef::as_ref));
    }

    /// The aggregate of a group. It does not change any more: later changes make a new one. One that the store does not
    /// maintain is computed.
    pub fn aggregate<A: Aggregate<K>>(&self, group: &str) -> Arc<A> {
        let inner = self.inner.read();
        inner.aggregates.get(group).unwrap_or_else(|| {
            let entries = inner.objects.iter().flat_map(|object| A::entries(object));
            let mut sum = A::default();
            entries.filter(|(of, _)| of == group).for_each(|(_, entry)| sum.add(&entry));
            Arc::new(sum)
        })
    }

    /// The aggregates of all groups that are not empty; none of one that the store does not maintain.
    pub fn aggregates<A: Aggregate<K>>(&self) -> Vec<Arc<A>> {
        self.inner.read().aggregates.all()
    }

    /// Calls `subscriber` for every change from now on.
    pub fn subscribe(&self, subscriber: impl Fn(&Change<K>) + Send + Sync + 'static) {
        self.subscribers.lock().push(Box::new(subscriber));
    }

    /// One object.
    pub fn get(&self, key: &ObjectKey) -> Option<Arc<K>> {
        let inner = self.inner.read();
        inner.objects.find(key).and_then(|slot| inner.objects.get(slot)).cloned()
    }

    /// Every object, by key.
    pub fn all(&self) -> Vec<Arc<K>> {
        let mut all: Vec<Arc<K>> = self.inner.read().objects.iter().cloned().collect();
        all.sort_by_cached_key(|object| object.key());
        all
    }

    /// Shows every object, in no order that means anything. `visit` must not use the store.
    pub fn visit(&self, visit: impl FnMut(&K)) {
        self.inner.read().objects.iter().map(AsRef::as_ref).for_each(visit);
    }

    /// The objects with that value in an index, by key. An index that the store does not have is computed.
    pub fn by_index(&self, index: &Index<K>, value: &str) -> Vec<Arc<K>> {
        let has = |object: &Arc<K>| (index.values)(object).iter().any(|it| it == value);
        let inner = self.inner.read();
        match self.slots(&inner, index, value) {
            Some(slots) => slots.iter().filter_map(|slot| inner.objects.get(*slot)).cloned().collect(),
            None => {
                drop(inner);
                self.all().into_iter().filter(has).collect()
            }
        }
    }

    /// Shows the objects with that value in an index, by key. `visit` must not use the store.
    pub fn each(&self, index: &Index<K>, value: &str, visit: &mut Visit<'_, K>) {
        let inner = self.inner.read();
        let _all_or_broken = match self.slots(&inner, index, value) {
            Some(slots) => slots.iter().filter_map(|slot| inner.objects.get(*slot)).try_for_each(visit),
            None => {
                drop(inner);
                self.by_index(index, value).iter().try_for_each(visit)
            }
        };
    }

    /// How many objects have that value in an index, without touching them.
    pub fn count(&self, index: &Index<K>, value: &str) -> usize {
        let inner = self.inner.read();
        match self.slots(&inner, index, value) {
            Some(slots) => slots.len(),
            None => {
                drop(inner);
                self.by_index(index, value).len()
            }
        }
    }

    /// The slots with that value; `None` if the store does not have the index.
    fn slots<'a>(&self, inner: &'a Inner<K>, index: &Index<K>, value: &str) -> Option<&'a [Slot]> {
        let position = self.indexes.iter().position(|it| it.name == index.name)?;
        Some(inner.groups.get(position)?.get(&inner.objects, index.values, value))
    }

    /// Whether the first list has arrived.
    pub fn is_synced(&self) -> bool {
        *self.synced.borrow()
    }

    /// Waits for the first list.
    pub async fn synced(&self) {
        // The sender lives as long as the store, so waiting cannot fail.
        let _closed = self.synced.subscribe().wait_for(|synced| *synced).await.is_err();
    }

    /// Takes in an object if it is newer than what is known; `true` if it was.
    pub fn apply(&self, object: K) -> bool {
        self.take(object, 0, u64::MAX, false)
    }

    /// The same for an object of a watch. A watch reports in order: an object that it shows after the end of that
    /// very version is there anyway.
    pub fn apply_watched(&self, object: K) -> bool {
        self.take(object, 0, u64::MAX, true)
    }

    /// The same for an object of a list: of what is known up to `horizon`, and of the first `deletions`, the list knows
    /// better.
    fn take(&self, object: K, horizon: u64, deletions: u64, is_watched: bool) -> bool {
        if object.is_gone() {
            let mut inner = self.inner.write();
            inner.known_gone.saw_end(uid(&object));
            inner.known_gone.proved_absent(&object.key());
            drop(inner);
            return self.remove(&object.key(), object.version().max(horizon));
        }
        let change = {
            let mut inner = self.inner.write();
            let key = object.key();
            let version = object.version();
            let counts = |gone: &Deletion| gone.at > horizon || gone.number > deletions;
            let is_older = |gone: &Deletion| version < gone.at || version == gone.at && !is_watched;
            if inner.deleted.get(&key).is_some_and(|gone| is_older(gone) && counts(gone)) {
                return false;
            }
            let slot = inner.objects.find(&key);
            let old = slot.and_then(|slot| inner.objects.get(slot)).cloned();
            if old.as_ref().is_some_and(|old| !is_news(version, old.version(), horizon)) {
                return false;
            }
            inner.deleted.remove(&key);
            inner.known_gone.saw_alive(&key, uid(&object));
            let new = Arc::new(object);
            match slot {
                Some(slot) => self.exchange(&mut inner, slot, &new),
                None => self.add(&mut inner, &new),
            }
            Change { old, new: Some(new) }
        };
        self.notify(&change);
        true
    }

    /// Takes an object out that the watch says to be deleted. Its end counts as seen only if its deletion had begun: a
    /// server that went wrong may tell the same of live objects.
    pub fn saw_deleted(&self, object: &K) {
        if object.meta().deletion_timestamp.is_some() {
            self.inner.write().known_gone.saw_end(uid(object));
        }
        self.remove(&object.key(), object.version());
    }

    /// Takes note that the object with that uid has ended.
    pub fn saw_end(&self, uid: &str) {
        self.inner.write().known_gone.saw_end(uid);
    }

    /// Takes note that there is proof of the absence of an object.
    pub fn proved_absent(&self, key: &ObjectKey) {
        self.inner.write().known_gone.proved_absent(key);
    }

    /// Whether it is known, not only not seen, that an object is gone: the end of the one with that uid was seen, or there
    /// is proof that there is none of this name.
    pub fn is_known_gone(&self, key: &ObjectKey, uid: Option<&str>) -> bool {
        self.inner.read().known_gone.is_known_gone(key, uid)
    }

    /// Takes an object out that was deleted at `version`, unless a newer one of that key is known.
    pub fn remove(&self, key: &ObjectKey, version: u64) -> bool {
        let change = {
            let mut inner = self.inner.write();
            let slot = inner.objects.find(key);
            let old = slot.and_then(|slot| inner.objects.get(slot)).cloned();
            if old.as_ref().is_some_and(|old| old.version() > version) {
                return false;
            }
            inner.deletions += 1;
            let number = inner.deletions;
            let gone = inner.deleted.entry(key.clone()).or_insert(Deletion { at: version, number });
            *gone = Deletion { at: version.max(gone.at), number };
            let (Some(slot), Some(old)) = (slot, old) else { return false };
            self.take_out(&mut inner, slot, &old);
            Change { old: Some(old), new: None }
        };
        self.notify(&change);
        true
    }

    /// What the store has seen so far.
    pub fn position(&self) -> StorePosition {
        let inner = self.inner.read();
        let versions = inner.objects.iter().map(|object| object.version());
        let deleted = inner.deleted.values().map(|gone| gone.at);
        let version = versions.chain(deleted).chain([inner.observed]).max().unwrap_or_default();
        StorePosition { version, deletions: inner.deletions }
    }

    /// Takes in a whole list made at `version`: what is not in it and not newer than it is deleted, and what it has otherwise
    /// than known up to then is taken from it. `since` is the position before the list was requested. Lists are never older than
    /// that, unless the server was put back to an earlier state: then nothing counts but the list.
    ///
    /// Objects in `unreadable` are in the list, so what is known of them is kept.
    pub fn replace(
        &self,
        objects: Vec<K>,
        unreadable: &BTreeSet<ObjectKey>,
        version: u64,
        since: StorePosition,
    ) {
        let horizon = if went_back(version, since.version) { EVERYTHING } else { version };
        let listed: BTreeSet<ObjectKey> = objects.iter().map(Object::key).collect();
        let missing: BTreeSet<ObjectKey> = {
            let inner = self.inner.read();
            let known = inner.objects.iter().map(|object| object.key());
            known.filter(|key| !listed.contains(key) && !unreadable.contains(key)).collect()
        };
        for key in missing {
            self.remove(&key, horizon);
        }
        for object in objects {
            self.take(object, horizon, since.deletions, false);
        }
        let mut inner = self.inner.write();
        inner.deleted.retain(|_, gone| gone.at > horizon);
        inner.observed = inner.observed.min(version);
        drop(inner);
        self.synced.send_replace(true);
    }

    /// The watch has observed everything up to `version`. Deletions that were observed before the last such moment are
    /// forgotten: no answer to a write is under way that long.
    pub fn settle(&self, version: u64) {
        let mut inner = self.inner.write();
        let before = std::mem::replace(&mut inner.observed, version);
        inner.deleted.retain(|_, gone| gone.at > before);
    }

    /// What is held: objects as they weigh, and deletions that are remembered.
    pub(super) fn footprint(&self, weigh: fn(&K) -> usize, tombstone: usize) -> usize {
        let inner = self.inner.read();
        let deleted = inner.deleted.keys().map(|key| tombstone + key.namespace.len() + key.name.len());
        inner.objects.iter().map(|object| weigh(object)).chain(deleted).sum()
    }

    fn add(&self, inner: &mut Inner<K>, new: &Arc<K>) {
        inner.aggregates.change(None, Some(new));
        let slot = inner.objects.insert(Arc::clone(new));
        for (index, groups) in self.indexes.iter().zip(&mut inner.groups) {
            for value in (index.values)(new) {
                groups.insert(&inner.objects, index.values, &value, slot);
            }
        }
    }

    fn take_out(&self, inner: &mut Inner<K>, slot: Slot, old: &K) {
        inner.aggregates.change(Some(old), None);
        for (index, groups) in self.indexes.iter().zip(&mut inner.groups) {
            for value in (index.values)(old) {
                groups.remove(&inner.objects, index.values, &value, slot);
            }
        }
        inner.objects.remove(slot);
    }

    /// Puts a newer copy in the place of an object. Most changes leave it where it stands in every index.
    fn exchange(&self, inner: &mut Inner<K>, slot: Slot, new: &Arc<K>) {
        let Some(old) = inner.objects.get(slot).cloned() else { return };
        inner.aggregates.change(Some(&old), Some(new));
        let mut moved = Vec::new();
        for (index, groups) in self.indexes.iter().zip(&mut inner.groups) {
            let (before, after) = ((index.values)(&old), (index.values)(new));
            if before == after {
                continue;
            }
            for value in before {
                groups.remove(&inner.objects, index.values, &value, slot);
            }
            moved.push((index, groups, after));
        }
        inner.objects.replace(slot, Arc::clone(new));
        for (index, groups, values) in moved {
            for value in values {
                groups.insert(&inner.objects, index.values, &value, slot);
            }
        }
    }

    fn notify(&self, change: &Change<K>) {
        for subscriber in self.subscribers.lock().iter() {
            subscriber(change);
        }
    }
}

fn uid<K: Object>(object: &K) -> &str {
    object.meta().uid.as_deref().unwrap_or_default()
}

impl<K: Object> std::fmt::Debug for Store<K> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Store<{}>({})", K::kind(&()), self.inner.read().objects.len())
    }
}

#[cfg(test)]
#[path = "store_tests.rs"]
mod tests;
