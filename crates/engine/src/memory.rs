//! Objects in memory that plans are carried out on, as an API server would do it: names are unique, versions guard patches,
//! finalizers hold back deletion, a patch of the status changes nothing else.
//!
//! Takes objects and plans; gives a [`Reader`] over the same indexes that controllers have. It is all there is: what it does
//! not show is not there. It asks nobody and it does nothing by itself.

#[path = "memory_reads.rs"]
pub(crate) mod reads;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::Arc,
};

use serde_json::{Map, Value, json};
use thiserror::Error;

pub use self::reads::News;
use self::reads::Reads;
use crate::{Aggregate, Caches, End, Index, Object, ObjectKey, Plan, Reader, ResourceKind, Visit, Write};

/// How many passes [`Memory::drive`] makes for one key before it gives up.
const ATTEMPTS: usize = 8;

/// Group and plural of a kind, namespace and name.
type Place = (String, String, ObjectKey);

/// Versions that the own writes of a plan gave.
type OwnVersions = BTreeMap<Place, u64>;

/// Objects by kind, namespace and name.
pub struct Memory {
    register: fn(&mut Caches),
    caches: Caches,
    /// Objects with all their members, as far as they are known to have more than their Rust types.
    wholes: BTreeMap<Place, Value>,
    version: u64,
    now: Option<String>,
    log: Option<Vec<Write>>,
    /// Who read what, if that is tracked.
    reads: Option<Arc<Reads>>,
    /// Indexes whose counts wake nobody.
    uncounted: &'static [&'static str],
    /// Kinds, by group and plural, whose objects get no uid: what is made by others later has one that is not known.
    without_uids: BTreeSet<(String, String)>,
    /// The workload clusters that are kept, by Cluster.
    workloads: BTreeMap<ObjectKey, Memory>,
}

/// The view was outdated; the plan is to be made again.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct Outdated(String);

impl Memory {
    /// An empty memory with the kinds and indexes that `register` adds.
    pub fn new(register: fn(&mut Caches)) -> Self {
        let mut caches = Caches::default();
        register(&mut caches);
        Self {
            register,
            caches,
            wholes: BTreeMap::new(),
            version: 0,
            now: None,
            log: None,
            reads: None,
            uncounted: &[],
            without_uids: BTreeSet::new(),
            workloads: BTreeMap::new(),
        }
    }

    /// The same, which takes note of who reads what from now on, except of counts by the indexes `uncounted`.
    #[must_use]
    pub fn tracking(self, uncounted: &'static [&'static str]) -> Self {
        let reads = Arc::new(Reads::default());
        self.caches.track(&reads);
        Self { reads: Some(reads), uncounted, ..self }
    }

    /// The same, in which the uid of a new object of the kind is not known.
    #[must_use]
    pub fn without_uids_of<K: Object>(mut self) -> Self {
        let ResourceKind { group, plural, .. } = ResourceKind::of::<K>();
        self.without_uids.insert((group, plural));
        self
    }

    /// Runs `work`; what it reads counts as read by `reader`, instead of what that read before.
    pub fn read_by<T>(&mut self, reader: usize, work: impl FnOnce(&mut Self) -> T) -> T {
        if let Some(reads) = &self.reads {
            reads.begin(reader);
        }
        let result = work(self);
        if let Some(reads) = &self.reads {
            reads.end();
        }
        result
    }

    /// The reader reads the Nodes of a host in their workload cluster.
    pub fn reads_nodes_of(&self, host: &ObjectKey) {
        if let Some(reads) = &self.reads {
            reads.nodes_of(host);
        }
    }

    /// The Nodes of a host have changed in their workload cluster.
    pub fn nodes_changed(&self, host: &ObjectKey) {
        if let Some(reads) = &self.reads {
            reads.nodes_changed(host);
        }
    }

    /// Every workload cluster that is kept, by Cluster.
    pub fn workloads(&self) -> impl Iterator<Item = (&ObjectKey, &Self)> {
        self.workloads.iter()
    }

    /// What has happened since this was asked last; nothing if reads are not tracked.
    pub fn news(&self) -> News {
        self.reads.as_ref().map(|reads| reads.news()).unwrap_or_default()
    }

    /// The objects of a workload cluster, if they are kept.
    pub fn workload(&self, cluster: &ObjectKey) -> Option<&Self> {
        self.workloads.get(cluster)
    }

    /// The same, to be changed.
    pub fn workload_mut(&mut self, cluster: &ObjectKey) -> Option<&mut Self> {
        self.workloads.get_mut(cluster)
    }

    /// Keeps the objects of a workload cluster from now on.
    pub fn keep_workload(&mut self, cluster: ObjectKey, workload: Self) {
        self.workloads.entry(cluster).or_insert(workload);
    }

    /// The same, with a record of every write that is carried out.
    #[must_use]
    pub fn recording(self) -> Self {
        Self { log: Some(Vec::new()), ..self }
    }

    /// The time at which objects are created from now on; without it they have none.
    pub fn tell_time(&mut self, now: impl Into<String>) {
        self.now = Some(now.into());
    }

    /// Every write that was carried out, if they are recorded.
    pub fn log(&self) -> &[Write] {
        self.log.as_deref().unwrap_or_default()
    }

    /// How many writes there were; the same as before if nothing was written.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// What is stored, by kind.
    pub fn caches(&self) -> &Caches {
        &self.caches
    }

    /// Stores an object as it is, with a new version.
    pub fn put<K: Object>(&mut self, mut object: K) {
        self.version += 1;
        object.meta_mut().resource_version = Some(self.version.to_string());
        let place = place(&ResourceKind::of::<K>(), &object.key());
        self.wholes.remove(&place);
        if let Some(store) = self.caches.store::<K>() {
            store.apply(object);
        }
    }

    /// The same for an object with all its members. One that its Rust type cannot read is stored and not shown.
    pub fn put_whole<K: Object>(&mut self, object: Value) {
        self.store(&ResourceKind::of::<K>(), &key_of(&object), object);
    }

    /// Stores an object of a kind of which the Rust type is not at hand.
    pub fn put_value(&mut self, kind: &ResourceKind, object: Value) {
        self.store(kind, &key_of(&object), object);
    }

    /// Such an object with all its members.
    pub fn value(&self, kind: &ResourceKind, key: &ObjectKey) -> Option<Value> {
        self.find(kind, key)
    }

    /// Changes such an object whatever its version is, if it is there.
    pub fn merge_value(&mut self, kind: &ResourceKind, key: &ObjectKey, patch: &Value) {
        self.merge(kind, key, patch);
    }

    /// All objects of such a kind, by namespace and name.
    pub fn values(&self, kind: &ResourceKind) -> Vec<Value> {
        let all = self.caches.values(kind);
        all.iter().filter_map(|object| self.find(kind, &key_of(object))).collect()
    }

    /// Everything that is known of an object.
    pub fn whole<K: Object>(&self, key: &ObjectKey) -> Option<Value> {
        self.find(&ResourceKind::of::<K>(), key)
    }

    /// All objects of a kind, by namespace and name.
    pub fn list<K: Object>(&self) -> Vec<Value> {
        let all = self.caches.store::<K>().map(|store| store.all()).unwrap_or_default();
        all.iter().filter_map(|object| self.whole::<K>(&object.key())).collect()
    }

    /// Changes an object whatever its version is, if it is there.
    pub fn change<K: Object>(&mut self, key: &ObjectKey, patch: &Value) {
        let kind = ResourceKind::of::<K>();
        self.merge(&kind, key, patch);
    }

    fn merge(&mut self, kind: &ResourceKind, key: &ObjectKey, patch: &Value) {
        if let Some(mut object) = self.find(kind, key) {
            json_patch::merge(&mut object, patch);
            self.store(kind, key, object);
        }
    }

    /// Deletes an object as a user does.
    pub fn delete<K: Object>(&mut self, key: &ObjectKey) {
        let kind = ResourceKind::of::<K>();
        if let Some(object) = self.find(&kind, key) {
            self.remove(&kind, key, object);
        }
    }

    /// Carries out a plan; stops at the first write that meets an outdated view.
    pub fn act<W>(&mut self, plan: Plan<W>) -> Result<End<W>, Outdated> {
        self.act_until_crash(plan, usize::MAX)
    }

    /// Carries out the first writes of a plan, then nothing, as if the process had died.
    pub fn act_until_crash<W>(&mut self, plan: Plan<W>, writes: usize) -> Result<End<W>, Outdated> {
        let mut own = OwnVersions::new();
        for write in plan.writes.into_iter().take(writes) {
            self.write(write, &mut own)?;
        }
        Ok(plan.end)
    }

    /// Carries out a plan that comes in parts, which may write the same objects; ends as the last part does.
    pub fn act_in_parts<W>(&mut self, parts: impl Iterator<Item = Plan<W>>) -> Result<End<W>, Outdated> {
        let (mut own, mut end) = (OwnVersions::new(), End::Done);
        for part in parts {
            for write in part.writes {
                self.write(write, &mut own)?;
            }
            end = part.end;
        }
        Ok(end)
    }

    /// Plans and acts as a controller does: at once again while the view is outdated or the plan says so.
    pub fn drive<W>(&mut self, mut plan: impl FnMut(&Self) -> Option<Plan<W>>) -> End<W> {
        for _ in 0..ATTEMPTS {
            let Some(plan) = plan(self) else { return End::Done };
            match self.act(plan) {
                Ok(End::Again) | Err(Outdated(_)) => {}
                Ok(end) => return end,
            }
        }
        End::Again
    }

    fn write(&mut self, write: Write, own: &mut OwnVersions) -> Result<(), Outdated> {
        let logged = self.log.is_some().then(|| write.clone());
        let place = place(write.kind(), write.key());
        match write {
            Write::Create { kind, key, object } => self.create(&kind, &key, object)?,
            Write::Patch { kind, key, subresource, version, patch } => {
                let version = own.get(&place).copied().or_else(|| version?.parse().ok());
                self.patch(&kind, &key, subresource, version, patch)?;
            }
            Write::Delete { kind, key, uid } => {
                if let Some(object) = self.find(&kind, &key) {
                    if uid.is_some_and(|uid| text(&object, "uid") != uid) {
                        return Err(Outdated(format!("{kind} {key} is another one")));
                    }
                    self.remove(&kind, &key, object);
                }
            }
            // What cannot be done is not worth failing for.
            Write::BestEffort(write) => {
                let _refused = self.write(*write, own);
                return Ok(());
            }
            // A workload cluster that is not kept is passed over.
            Write::Workload { cluster, kind, key, patch } => {
                if let Some(workload) = self.workloads.get_mut(&cluster) {
                    workload.merge(&kind, &key, &patch);
                }
                return Ok(());
            }
            Write::WorkloadDelete { cluster, kind, key, .. } => {
                if let Some(workload) = self.workloads.get_mut(&cluster)
                    && let Some(object) = workload.find(&kind, &key)
                {
                    workload.remove(&kind, &key, object);
                }
                return Ok(());
            }
        }
        own.insert(place, self.version);
        if let (Some(log), Some(write)) = (&mut self.log, logged) {
            log.push(write);
        }
        Ok(())
    }

    fn create(&mut self, kind: &ResourceKind, key: &ObjectKey, mut object: Value) -> Result<(), Outdated> {
        if self.version_of(kind, key) > 0 {
            return Err(Outdated(format!("{kind} {key} already exists")));
        }
        let has_uid = !self.without_uids.contains(&(kind.group.clone(), kind.plural.clone()));
        let metadata = metadata(&mut object);
        if has_uid {
            metadata.insert("uid".to_owned(), format!("{}-{}", key.name, self.version).into());
        }
        if let Some(now) = &self.now {
            metadata.insert("creationTimestamp".to_owned(), now.clone().into());
        }
        self.store(kind, key, object);
        Ok(())
    }

    fn patch(
        &mut self,
        kind: &ResourceKind,
        key: &ObjectKey,
        subresource: Option<&str>,
        version: Option<u64>,
        patch: Value,
    ) -> Result<(), Outdated> {
        let is = self.version_of(kind, key);
        let Some(mut object) = self.take(kind, key) else {
            return Err(Outdated(format!("{kind} {key} is gone")));
        };
        if version.is_some_and(|version| version != is) {
            self.wholes.insert(place(kind, key), object);
            return Err(Outdated(format!("{kind} {key} has changed")));
        }
        let Value::Object(mut members) = patch else { return Ok(()) };
        members.retain(|member, _| (member == "status") == (subresource == Some("status")));
        json_patch::merge(&mut object, &Value::Object(members));
        self.store(kind, key, object);
        Ok(())
    }

    fn remove(&mut self, kind: &ResourceKind, key: &ObjectKey, mut object: Value) {
        let now = self.now.clone().unwrap_or_else(|| "1970-01-01T00:00:00Z".to_owned());
        metadata(&mut object).entry("deletionTimestamp").or_insert(now.into());
        self.store(kind, key, object);
    }

    /// Stores what was written; an object being deleted that nobody holds is gone.
    fn store(&mut self, kind: &ResourceKind, key: &ObjectKey, mut object: Value) {
        self.version += 1;
        metadata(&mut object).insert("resourceVersion".to_owned(), self.version.to_string().into());
        self.caches.feed(kind, &object);
        let is_held = object.pointer("/metadata/finalizers").and_then(Value::as_array);
        let is_held = is_held.is_some_and(|finalizers| !finalizers.is_empty());
        match is_held || text(&object, "deletionTimestamp").is_empty() {
            true => self.wholes.insert(place(kind, key), object),
            false => self.wholes.remove(&place(kind, key)),
        };
    }

    fn find(&self, kind: &ResourceKind, key: &ObjectKey) -> Option<Value> {
        self.wholes.get(&place(kind, key)).cloned().or_else(|| self.caches.value(kind, key))
    }

    /// The object, which must be stored again.
    fn take(&mut self, kind: &ResourceKind, key: &ObjectKey) -> Option<Value> {
        self.wholes.remove(&place(kind, key)).or_else(|| self.caches.value(kind, key))
    }

    /// Version of an object, 0 if it is not there.
    fn version_of(&self, kind: &ResourceKind, key: &ObjectKey) -> u64 {
        match self.caches.version(kind, key) {
            0 => {
                let whole = self.wholes.get(&place(kind, key));
                whole.and_then(|object| text(object, "resourceVersion").parse().ok()).unwrap_or(0)
            }
            version => version,
        }
    }
}

impl Reader for Memory {
    fn get<K: Object>(&self, key: &ObjectKey) -> Option<Arc<K>> {
        if let Some(reads) = &self.reads {
            reads.object::<K>(key);
        }
        self.caches.get(key)
    }

    fn by_index<K: Object>(&self, index: &Index<K>, value: &str) -> Vec<Arc<K>> {
        if let Some(reads) = &self.reads {
            reads.index(index, value);
        }
        self.caches.by_index(index, value)
    }

    fn aggregate<K: Object, A: Aggregate<K>>(&self, group: &str) -> Arc<A> {
        if let Some(reads) = &self.reads {
            reads.summary::<K>();
        }
        self.caches.aggregate(group)
    }

    fn count<K: Object>(&self, index: &Index<K>, value: &str) -> usize {
        if let Some(reads) = self.reads.as_ref().filter(|_| !self.uncounted.contains(&index.name)) {
            reads.count(index, value);
        }
        self.caches.count(index, value)
    }

    fn each<K: Object>(&self, index: &Index<K>, value: &str, visit: &mut Visit<'_, K>) {
        if let Some(reads) = &self.reads {
            reads.index(index, value);
        }
        self.caches.each(index, value, visit);
    }
}

/// A copy does not track who reads it.
impl Clone for Memory {
    fn clone(&self) -> Self {
        let mut copy = Self { version: self.version, now: self.now.clone(), ..Self::new(self.register) };
        copy.log.clone_from(&self.log);
        copy.wholes.clone_from(&self.wholes);
        copy.without_uids.clone_from(&self.without_uids);
        copy.workloads.clone_from(&self.workloads);
        for kind in self.caches.kinds() {
            for object in self.caches.values(&kind) {
                copy.caches.feed(&kind, &object);
            }
        }
        copy
    }
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Memory").field("version", &self.version).finish_non_exhaustive()
    }
}

fn place(kind: &ResourceKind, key: &ObjectKey) -> Place {
    (kind.group.clone(), kind.plural.clone(), key.clone())
}

fn key_of(object: &Value) -> ObjectKey {
    ObjectKey::new(text(object, "namespace"), text(object, "name"))
}

/// A text of the metadata, empty if there is none.
fn text<'a>(object: &'a Value, member: &str) -> &'a str {
    object.get("metadata").and_then(|metadata| metadata.get(member)?.as_str()).unwrap_or_default()
}

fn metadata(object: &mut Value) -> &mut Map<String, Value> {
    if !object.is_object() {
        *object = json!({});
    }
    let members = object.as_object_mut().expect("was made an object");
    let metadata = members.entry("metadata").or_insert_with(|| json!({}));
    if !metadata.is_object() {
        *metadata = json!({});
    }
    metadata.as_object_mut().expect("was made an object")
}

#[cfg(test)]
#[path = "memory_tests.rs"]
mod tests;
