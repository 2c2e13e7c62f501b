//! All stores of a provider by Rust type, and by the kind that a server's answer names.

use std::{
    any::{Any, TypeId},
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use futures::{FutureExt, future::BoxFuture};
use serde_json::Value;
use tracing::warn;

use crate::{
    Aggregate, Index, Informer, Object, ObjectKey, Reader, ResourceKind, Store, Tasks, Visit,
    client::{ApiClient, Detail},
    informer::{Advice, KindHealth, KindState, watch_for_stalled_server},
    memory::reads::{Matters, Reads},
    read_json::read_json,
};

/// Every store of a provider.
#[derive(Default)]
pub struct Caches {
    by_type: BTreeMap<TypeId, Arc<dyn Any + Send + Sync>>,
    /// A kind may be read as several types.
    by_resource: BTreeMap<(String, String), Vec<Arc<dyn Feed>>>,
    advice: Advice,
}

/// A store that takes in what a server answered.
trait Feed: Send + Sync {
    fn of(&self) -> TypeId;
    fn track(&self, reads: &Arc<Reads>);
    fn feed(&self, object: &Value);
    fn value(&self, key: &ObjectKey) -> Option<Value>;
    fn values(&self) -> Vec<Value>;
    fn feed_text(&self, object: &[u8]);
    fn remove(&self, key: &ObjectKey, version: u64);
    fn version(&self, key: &ObjectKey) -> u64;
    fn start(&self, client: ApiClient, namespace: &str, tasks: &Tasks);
    fn is_synced(&self) -> bool;
    fn health(&self) -> &Arc<KindHealth>;
    fn proved_absent(&self, key: &ObjectKey);
    fn saw_end(&self, uid: &str);
    fn is_known_absent(&self, key: &ObjectKey) -> bool;
    fn is_followed(&self) -> bool;
    fn synced(&self) -> BoxFuture<'_, ()>;
}

struct Fed<K: Object> {
    store: Arc<Store<K>>,
    detail: Detail,
    followed: Arc<AtomicBool>,
    health: Arc<KindHealth>,
    matters: Option<Matters<K>>,
}

impl<K: Object> Fed<K> {
    fn take(&self, object: serde_json::Result<K>) {
        match object {
            Ok(object) => {
                self.store.apply(object);
            }
            Err(error) => warn!(kind = %K::kind(&()), %error, "the answer to a write could not be read"),
        }
    }
}

impl<K: Object> Feed for Fed<K> {
    fn of(&self) -> TypeId {
        TypeId::of::<K>()
    }

    fn track(&self, reads: &Arc<Reads>) {
        let (reads, indexes, matters) = (Arc::clone(reads), self.store.indexes().to_vec(), self.matters);
        self.store.subscribe(move |change| reads.changed(change, &indexes, matters));
    }

    fn feed(&self, object: &Value) {
        self.take(K::deserialize(object));
    }

    fn value(&self, key: &ObjectKey) -> Option<Value> {
        serde_json::to_value(self.store.get(key)?.as_ref()).ok()
    }

    fn values(&self) -> Vec<Value> {
        self.store.all().iter().filter_map(|object| serde_json::to_value(object.as_ref()).ok()).collect()
    }

    fn feed_text(&self, object: &[u8]) {
        self.take(read_json(object));
    }

    fn remove(&self, key: &ObjectKey, version: u64) {
        self.store.remove(key, version);
    }

    fn version(&self, key: &ObjectKey) -> u64 {
        self.store.get(key).map_or(0, |object| object.version())
    }

    fn start(&self, client: ApiClient, namespace: &str, tasks: &Tasks) {
        let informer = Informer::new(client, Arc::clone(&self.store), self.detail).within(namespace);
        let informer = informer.telling(Arc::clone(&self.followed)).with_health(Arc::clone(&self.health));
        tasks.spawn(informer.run());
    }

    fn is_synced(&self) -> bool {
        self.store.is_synced()
    }

    fn health(&self) -> &Arc<KindHealth> {
        &self.health
    }

    fn proved_absent(&self, key: &ObjectKey) {
        self.store.proved_absent(key);
    }

    fn saw_end(&self, uid: &str) {
        self.store.saw_end(uid);
    }

    fn is_known_absent(&self, key: &ObjectKey) -> bool {
        self.store.is_known_gone(key, None)
    }

    fn is_followed(&self) -> bool {
        self.followed.load(Ordering::Relaxed)
    }

    fn synced(&self) -> BoxFuture<'_, ()> {
        self.store.synced().boxed()
    }
}

impl Caches {
    /// No stores yet; the log gives `advice`, which says what helps, where a kind cannot be read.
    pub fn advising(advice: Advice) -> Self {
        Self { advice, ..Self::default() }
    }

    /// Adds a kind with its indexes, without which nothing works.
    pub fn add<K: Object>(&mut self, indexes: &[Index<K>]) -> Arc<Store<K>> {
        self.add_with(indexes, Detail::Whole, true)
    }

    /// Adds a kind that need not be installed; once it was served it is needed like any other.
    pub fn add_optional<K: Object>(&mut self, indexes: &[Index<K>]) -> Arc<Store<K>> {
        self.add_with(indexes, Detail::Whole, false)
    }

    /// Adds a kind of which only the metadata is fetched.
    pub fn add_metadata_only<K: Object>(&mut self, indexes: &[Index<K>]) -> Arc<Store<K>> {
        self.add_with(indexes, Detail::Metadata, true)
    }

    /// Adds a kind with its indexes, as much of its objects as `detail` says. Unless it `is_required` it need not be
    /// installed; once it was served it is needed like any other. A type that was added before gets these indexes besides,
    /// in a store that is empty again.
    pub fn add_with<K: Object>(
        &mut self,
        indexes: &[Index<K>],
        detail: Detail,
        is_required: bool,
    ) -> Arc<Store<K>> {
        self.put::<K>(indexes, detail, is_required, None)
    }

    /// Adds a kind of which only some changes matter to those who get an object by its key; see
    /// [`Memory::tracking`](crate::Memory::tracking).
    pub fn add_seen<K: Object>(
        &mut self,
        indexes: &[Index<K>],
        matters: fn(&K, &K) -> bool,
    ) -> Arc<Store<K>> {
        self.put::<K>(indexes, Detail::Whole, true, Some(matters))
    }

    fn put<K: Object>(
        &mut self,
        indexes: &[Index<K>],
        detail: Detail,
        is_required: bool,
        matters: Option<Matters<K>>,
    ) -> Arc<Store<K>> {
        let known = self.store::<K>().map(|store| store.indexes().to_vec()).unwrap_or_default();
        let more = indexes.iter().filter(|index| known.iter().all(|it| it.name != index.name));
        let all: Vec<Index<K>> = known.iter().chain(more).copied().collect();
        let store = Arc::new(Store::new(&all));
        self.by_type.insert(TypeId::of::<K>(), Arc::clone(&store) as Arc<dyn Any + Send + Sync>);
        let kind = ResourceKind::of::<K>();
        let health = Arc::new(KindHealth::new(kind.clone(), is_required).advising(self.advice));
        let feed = Fed { store: Arc::clone(&store), detail, followed: Arc::default(), health, matters };
        let feeds = self.by_resource.entry((kind.group, kind.plural)).or_default();
        feeds.retain(|feed| feed.of() != TypeId::of::<K>());
        feeds.push(Arc::new(feed));
        store
    }

    /// Tells `reads` of every change from now on.
    pub(crate) fn track(&self, reads: &Arc<Reads>) {
        self.feeds().for_each(|feed| feed.track(reads));
    }

    fn feeds(&self) -> impl Iterator<Item = &Arc<dyn Feed>> {
        self.by_resource.values().flatten()
    }

    /// The store of a kind, if it was added.
    pub fn store<K: Object>(&self) -> Option<Arc<Store<K>>> {
        let store = self.by_type.get(&TypeId::of::<K>())?;
        Arc::clone(store).downcast::<Store<K>>().ok()
    }

    /// The kinds that were added, in the order of group and plural.
    pub fn kinds(&self) -> Vec<ResourceKind> {
        self.by_resource.values().filter_map(|feeds| Some(feeds.first()?.health().kind().clone())).collect()
    }

    /// Starts one informer per kind, in the order of group and plural, and the watchdog for a server that stops answering.
    pub fn start_informers(&self, client: &ApiClient, tasks: &Tasks) {
        self.start_informers_in("", client, tasks);
    }

    /// The same for the objects of one namespace; an empty one stands for all.
    pub fn start_informers_in(&self, namespace: &str, client: &ApiClient, tasks: &Tasks) {
        if let Some(activity) = client.activity() {
            let kinds = self.feeds().map(|feed| Arc::clone(feed.health())).collect();
            tasks.spawn(watch_for_stalled_server(client.clone(), activity.clone(), kinds));
        }
        for feed in self.feeds() {
            feed.start(client.clone(), namespace, tasks);
        }
    }

    /// Whether every first list has arrived.
    pub fn are_synced(&self) -> bool {
        self.feeds().all(|feed| feed.is_synced())
    }

    /// How the server answers for each kind, in the order of group and plural.
    pub fn health(&self) -> impl Iterator<Item = &KindHealth> {
        self.feeds().map(|feed| feed.health().as_ref())
    }

    /// How the server answers for a kind, if it was added.
    pub fn health_of(&self, kind: &ResourceKind) -> Option<&KindHealth> {
        self.feed_of(kind).map(|feed| feed.health().as_ref())
    }

    /// Takes note that there is proof of the absence of an object.
    pub fn proved_absent(&self, kind: &ResourceKind, key: &ObjectKey) {
        for feed in self.feeds_of(kind) {
            feed.proved_absent(key);
        }
    }

    /// Whether the absence of an object was proven a moment ago.
    pub fn is_known_absent(&self, kind: &ResourceKind, key: &ObjectKey) -> bool {
        self.feed_of(kind).is_some_and(|feed| feed.is_known_absent(key))
    }

    /// Takes note that the server has removed the object with that uid for us.
    pub fn saw_end(&self, kind: &ResourceKind, uid: &str) {
        for feed in self.feeds_of(kind) {
            feed.saw_end(uid);
        }
    }

    /// Whether every kind is followed at this moment: no watch is broken or waits to be opened again, so that what the
    /// server has sent is complete.
    pub fn are_followed(&self) -> bool {
        self.feeds().all(|feed| feed.is_followed())
    }

    /// Waits until every first list has arrived.
    pub async fn synced(&self) {
        for feed in self.feeds() {
            feed.synced().await;
        }
    }

    /// Takes in what the server answered to a write.
    pub fn feed(&self, kind: &ResourceKind, object: &Value) {
        for feed in self.feeds_of(kind) {
            feed.feed(object);
        }
    }

    /// An object as JSON, with what its Rust type knows.
    pub(crate) fn value(&self, kind: &ResourceKind, key: &ObjectKey) -> Option<Value> {
        self.feed_of(kind)?.value(key)
    }

    /// Every object of a kind as JSON, by key.
    pub(crate) fn values(&self, kind: &ResourceKind) -> Vec<Value> {
        self.feed_of(kind).map(|feed| feed.values()).unwrap_or_default()
    }

    /// Takes in the text that the server answered to a write.
    pub fn feed_text(&self, kind: &ResourceKind, object: &[u8]) {
        for feed in self.feeds_of(kind) {
            feed.feed_text(object);
        }
    }

    /// Version of an object as far as it is known, 0 if it is not.
    pub fn version(&self, kind: &ResourceKind, key: &ObjectKey) -> u64 {
        self.feeds_of(kind).map(|feed| feed.version(key)).max().unwrap_or(0)
    }

    /// Removes what the server reports as gone, unless a newer one than that of `version` came meanwhile.
    pub fn forget(&self, kind: &ResourceKind, key: &ObjectKey, version: u64) {
        for feed in self.feeds_of(kind) {
            feed.remove(key, version);
        }
    }

    fn feed_of(&self, kind: &ResourceKind) -> Option<&Arc<dyn Feed>> {
        self.feeds_of(kind).next()
    }

    fn feeds_of(&self, kind: &ResourceKind) -> impl Iterator<Item = &Arc<dyn Feed>> {
        self.by_resource.get(&(kind.group.clone(), kind.plural.clone())).into_iter().flatten()
    }
}

impl Reader for Caches {
    fn get<K: Object>(&self, key: &ObjectKey) -> Option<Arc<K>> {
        self.store::<K>()?.get(key)
    }

    fn by_index<K: Object>(&self, index: &Index<K>, value: &str) -> Vec<Arc<K>> {
        self.store::<K>().map(|store| store.by_index(index, value)).unwrap_or_default()
    }

    fn aggregate<K: Object, A: Aggregate<K>>(&self, group: &str) -> Arc<A> {
        self.store::<K>().map(|store| store.aggregate(group)).unwrap_or_default()
    }

    fn is_authoritative(&self) -> bool {
        false
    }

    fn is_known_gone<K: Object>(&self, key: &ObjectKey, uid: Option<&str>) -> bool {
        self.store::<K>().is_some_and(|store| store.is_known_gone(key, uid))
    }

    fn is_served<K: Object>(&self) -> Option<bool> {
        match self.health_of(&ResourceKind::of::<K>())?.state() {
            // Nothing has come from a server, as where the objects are those of files.
            KindState::Starting => None,
            KindState::NotInstalled | KindState::NotServed(_) => Some(false),
            _ => Some(true),
        }
    }

    fn count<K: Object>(&self, index: &Index<K>, value: &str) -> usize {
        self.store::<K>().map_or(0, |store| store.count(index, value))
    }

    fn each<K: Object>(&self, index: &Index<K>, value: &str, visit: &mut Visit<'_, K>) {
        if let Some(store) = self.store::<K>() {
            store.each(index, value, visit);
        }
    }
}

impl std::fmt::Debug for Caches {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.by_resource.keys()).finish()
    }
}
