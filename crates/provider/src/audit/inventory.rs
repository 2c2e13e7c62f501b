//! The objects that are audited, and what is known of their age.
//!
//! Takes objects as an API server or files show them; keeps them by type, in the same stores and indexes that the controllers
//! have. It also keeps which kinds were read completely: only of those does an absence count.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use capm3_api::{conversion, metadata::group_of, neighbours::Node, v1beta2};
use capm3_engine::{Caches, Index, Object, ObjectKey, ResourceKind};
use jiff::Timestamp;
use kube::core::ObjectMeta;
use serde::Deserialize;
use serde_json::Value;

use super::{
    Subject,
    age::{Age, Rest, age_of},
};
use crate::{
    host_crd,
    kinds::{self, Reading, Visitor},
};

/// Objects by kind and key.
#[derive(Debug)]
pub struct Inventory {
    pub(super) caches: Caches,
    pub(super) nodes: Vec<Arc<Node>>,
    ages: BTreeMap<Place, Entry>,
    /// What an earlier look has shown.
    before: Option<BTreeSet<Place>>,
    pub(super) uids: BTreeSet<String>,
    pub(super) host_definition: Option<ObjectMeta>,
    complete: BTreeSet<(String, String)>,
}

/// Kind and key.
type Place = (String, ObjectKey);

#[derive(Debug)]
struct Entry {
    version: Option<String>,
    age: Age,
    has_uid: bool,
}

/// Why an object was left out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{object} cannot be read: {reason}")]
pub struct Unreadable {
    /// Kind and key.
    pub object: String,
    /// What is wrong with it.
    pub reason: String,
}

impl Default for Inventory {
    fn default() -> Self {
        let mut caches = Caches::default();
        kinds::register(&mut caches);
        Self {
            caches,
            nodes: Vec::new(),
            ages: BTreeMap::new(),
            before: None,
            uids: BTreeSet::new(),
            host_definition: None,
            complete: BTreeSet::new(),
        }
    }
}

impl Inventory {
    /// Takes an object of any kind, in any version. Kinds that the audit does not judge count as owners of others only.
    pub fn add(&mut self, object: &Value) -> Result<(), Unreadable> {
        self.add_with(object, age_of(object))
    }

    /// The same for an object of which the caller knows when it changed last.
    pub fn add_changed_at(&mut self, object: &Value, changed: Timestamp) -> Result<(), Unreadable> {
        self.add_with(object, Age::Known(changed))
    }

    fn add_with(&mut self, object: &Value, age: Age) -> Result<(), Unreadable> {
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let has_uid = !text("/metadata/uid").is_empty();
        if has_uid {
            self.uids.insert(text("/metadata/uid").to_owned());
        }
        let (group, kind) = (group_of(text("/apiVersion")), text("/kind"));
        let key = ObjectKey::new(text("/metadata/namespace"), text("/metadata/name"));
        let unreadable = |reason: String| Unreadable { object: format!("{kind} {key}"), reason };
        let is_kept = match kind {
            "CustomResourceDefinition" => {
                self.keep_definition(&key, object);
                Ok(false)
            }
            "Node" if group.is_empty() => self.keep_node(object),
            _ => self.keep(group, kind, object),
        };
        if !is_kept.map_err(unreadable)? {
            return Ok(());
        }
        let version = Some(text("/metadata/resourceVersion").to_owned()).filter(|text| !text.is_empty());
        let entry = Entry { version, age, has_uid };
        self.ages.insert((plural_of(group, kind), key), entry);
        Ok(())
    }

    fn keep_definition(&mut self, key: &ObjectKey, definition: &Value) {
        if key.name == host_crd::NAME {
            let metadata = definition.get("metadata").unwrap_or(&Value::Null);
            self.host_definition = ObjectMeta::deserialize(metadata).ok();
        }
    }

    fn keep_node(&mut self, node: &Value) -> Result<bool, String> {
        let node = Node::deserialize(node).map_err(|error| error.to_string())?;
        self.nodes.push(Arc::new(node));
        Ok(true)
    }

    /// Whether it is of a kind that is judged.
    fn keep(&self, group: &str, kind: &str, object: &Value) -> Result<bool, String> {
        let is_older = group == v1beta2::GROUP
            && object.get("apiVersion").is_none_or(|version| version != v1beta2::API_VERSION);
        let converted = is_older.then(|| conversion::convert(object.clone(), v1beta2::API_VERSION));
        let converted = converted.transpose().map_err(|error| error.to_string())?;
        let object = converted.as_ref().unwrap_or(object);
        let mut put = Put { caches: &self.caches, object, group, kind, done: None };
        kinds::visit(&mut put);
        put.done.map_or(Ok(false), |done| done.map(|()| true))
    }

    /// Every object of that kind was added, as far as there are any.
    pub fn mark_complete(&mut self, group: &str, kind: &str) {
        self.complete.insert((group.to_owned(), kind.to_owned()));
    }

    /// Whether every object of a kind is known.
    pub(super) fn knows_all_of(&self, group: &str, kind: &str) -> bool {
        self.complete.contains(&(group.to_owned(), kind.to_owned()))
    }

    /// Compares with an earlier look at the same cluster: what has the same version in both did not change meanwhile, and what
    /// is missing in both is not just being made or removed.
    pub fn compare_with(&mut self, earlier: &Self) {
        for (place, entry) in &mut self.ages {
            let before = earlier.ages.get(place);
            let is_same = before.is_some_and(|before| before.version == entry.version);
            if let Age::Unknown { seen_unchanged, .. } = &mut entry.age {
                *seen_unchanged = is_same && entry.version.is_some();
            }
        }
        self.before = Some(earlier.ages.keys().cloned().collect());
    }

    /// Whether an object that is missing was missing before, too.
    pub(super) fn rest_of_absent(&self, object: &Subject) -> Rest {
        match &self.before {
            None => Rest::Unknown,
            Some(before) if before.contains(&place_of(object)) => Rest::Young,
            Some(_) => Rest::Old,
        }
    }

    pub(super) fn is_without_uid(&self, object: &Subject) -> bool {
        self.ages.get(&place_of(object)).is_some_and(|entry| !entry.has_uid)
    }

    pub(super) fn age(&self, object: &Subject) -> Option<&Age> {
        self.ages.get(&place_of(object)).map(|entry| &entry.age)
    }

    /// How many objects are judged.
    pub fn len(&self) -> usize {
        self.ages.len()
    }

    /// Whether there is nothing to judge.
    pub fn is_empty(&self) -> bool {
        self.ages.is_empty()
    }

    /// The kinds that are judged.
    pub fn kinds() -> Vec<(ResourceKind, Reading)> {
        #[derive(Default)]
        struct Kinds(Vec<(ResourceKind, Reading)>);
        impl Visitor for Kinds {
            fn visit<K: Object>(&mut self, reading: Reading, _: &[Index<K>]) {
                self.0.push((ResourceKind::of::<K>(), reading));
            }
        }
        let mut kinds = Kinds::default();
        kinds::visit(&mut kinds);
        kinds.0
    }
}

fn place_of(object: &Subject) -> Place {
    (plural_of(&object.kind.group, &object.kind.kind), object.key.clone())
}

/// A kind in one word; two groups have IPAddresses.
fn plural_of(group: &str, kind: &str) -> String {
    format!("{kind}.{group}")
}

/// Stores an object if it is of a kind that the controllers read.
struct Put<'a> {
    caches: &'a Caches,
    object: &'a Value,
    group: &'a str,
    kind: &'a str,
    done: Option<Result<(), String>>,
}

impl Visitor for Put<'_> {
    fn visit<K: Object>(&mut self, _: Reading, _: &[Index<K>]) {
        if self.done.is_some() || K::kind(&()) != self.kind || K::group(&()) != self.group {
            return;
        }
        let read = K::deserialize(self.object).map_err(|error| error.to_string());
        self.done = Some(read.map(|object| {
            if let Some(store) = self.caches.store::<K>() {
                store.apply(object);
            }
        }));
    }
}
