//! The objects of now and the changes to them, in one memory that provider and neighbours read.
//!
//! Takes documents; gives the memory, what is taken for granted, and what could not be read. Objects that no server has seen get a
//! uid and a time of creation, except Metal3Machines: the uid of a machine decides, and must not be invented.

use std::collections::BTreeMap;

use capm3_api::{metadata::group_of, v1beta2::Metal3Machine};
use capm3_engine::{
    Caches, Index, Memory, Object, ObjectKey, ResourceKind, clock,
    manifests::{Document, Problem},
};
use capm3_provider::{
    dry_run,
    kinds::{self, Reading, Visitor},
};
use capm3_world::dry_run as world;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::stored;

/// Reads what is there, then applies the changes.
pub(super) fn read<'d>(
    state: impl IntoIterator<Item = &'d Document>,
    changes: impl IntoIterator<Item = &'d Document>,
    now: Timestamp,
) -> (Memory, Vec<String>, Vec<Problem>) {
    let memory = Memory::new(register).tracking(dry_run::UNCOUNTED).without_uids_of::<Metal3Machine>();
    let kinds = memory.caches().kinds();
    let mut load = Load { memory, kinds, now: clock::text(now), problems: Vec::new() };
    let mut seen: BTreeMap<(ResourceKind, ObjectKey), &Document> = BTreeMap::new();
    for document in state {
        load.put(document, &mut seen, false);
    }
    let mut changed: BTreeMap<(ResourceKind, ObjectKey), &Document> = BTreeMap::new();
    for document in changes {
        load.put(document, &mut changed, true);
    }
    let Load { mut memory, problems, .. } = load;
    let workload = || Memory::new(register_nodes);
    let assumed = world::prepare(&mut memory, workload);
    let notes = assumed.iter().map(|cluster| {
        format!("the control plane of Cluster {cluster} is not among the objects: it counts as running")
    });
    (memory, notes.collect(), problems)
}

fn register(caches: &mut Caches) {
    world::register(caches);
    kinds::register(caches);
}

fn register_nodes(caches: &mut Caches) {
    world::register_nodes(caches);
    dry_run::register_nodes(caches);
}

struct Load {
    memory: Memory,
    kinds: Vec<ResourceKind>,
    now: String,
    problems: Vec<Problem>,
}

impl Load {
    /// Kinds that nobody reads are passed over.
    fn put<'d>(
        &mut self,
        document: &'d Document,
        seen: &mut BTreeMap<(ResourceKind, ObjectKey), &'d Document>,
        is_change: bool,
    ) {
        let group = group_of(document.api_version());
        let is_it = |kind: &&ResourceKind| kind.kind == document.kind() && kind.group == group;
        let Some(kind) = self.kinds.iter().find(is_it).cloned() else { return };
        let first = *seen.entry((kind.clone(), document.key())).or_insert(document);
        if !std::ptr::eq(first, document) {
            if first.value != document.value {
                self.problems.push(stored::twice(document, first));
            }
            return;
        }
        if let Err(problem) = readable(document) {
            return self.problems.push(problem);
        }
        match stored::value(document) {
            Ok(value) if is_change && self.memory.value(&kind, &document.key()).is_some() => {
                self.memory.merge_value(&kind, &document.key(), &wished(value));
            }
            Ok(value) => {
                let value = self.completed(&kind, document, value);
                self.memory.put_value(&kind, value);
            }
            Err(problem) => self.problems.push(problem),
        }
    }

    /// What a server adds to a new object.
    fn completed(&self, kind: &ResourceKind, document: &Document, mut value: Value) -> Value {
        let Some(metadata) = value.get_mut("metadata").and_then(Value::as_object_mut) else { return value };
        let key = document.key();
        let is_empty = |value: Option<&Value>| value.and_then(Value::as_str).is_none_or(str::is_empty);
        if is_empty(metadata.get("uid")) && kind.kind != Metal3Machine::API.kind {
            metadata.insert("uid".to_owned(), json!(format!("planned-{}-{key}", kind.plural)));
        }
        if is_empty(metadata.get("creationTimestamp")) {
            metadata.insert("creationTimestamp".to_owned(), json!(self.now));
        }
        value
    }
}

/// What a user writes of an object, without what servers and controllers write.
fn wished(mut value: Value) -> Value {
    if let Some(members) = value.as_object_mut() {
        members.remove("status");
    }
    if let Some(metadata) = value.get_mut("metadata").and_then(Value::as_object_mut) {
        for member in ["uid", "resourceVersion", "creationTimestamp", "generation", "managedFields"] {
            metadata.remove(member);
        }
    }
    value
}

/// Whether the provider can read a document of a kind that it reads.
fn readable(document: &Document) -> Result<(), Problem> {
    struct Try<'a>(&'a Document, Result<(), Problem>);
    impl Visitor for Try<'_> {
        fn visit<K: Object>(&mut self, _reading: Reading, _indexes: &[Index<K>]) {
            if stored::is_of::<K>(self.0) {
                self.1 = stored::object::<K>(self.0).map(drop);
            }
        }
    }
    let mut tried = Try(document, Ok(()));
    kinds::visit(&mut tried);
    tried.1
}

/// Every kind that is read, to be listed of a cluster.
pub fn wanted() -> Vec<ResourceKind> {
    Memory::new(register).caches().kinds()
}
