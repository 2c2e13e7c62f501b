//! One stored object: immutable, shared, kept as the bytes readers get.
//!
//! A parsed object takes more than ten times the memory of its text, so only the head (type and metadata), which
//! selectors and the garbage collector look at all the time, stays parsed.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::{Map, Value};

use crate::{meta, resource::ResourceKey};

/// An object as of one revision, in the storage version.
#[derive(Debug)]
pub(crate) struct Stored {
    /// `apiVersion`, `kind` and `metadata`.
    pub(crate) head: Value,
    /// The whole object as text.
    pub(crate) json: Bytes,
    pub(crate) revision: u64,
}

impl Stored {
    /// Stamps the revision into the object.
    pub(crate) fn new(mut value: Value, revision: u64) -> Self {
        meta::set(&mut value, "resourceVersion", revision.to_string());
        Self { revision, ..Self::unsaved(value) }
    }

    /// An object that was only tried: it has no revision.
    pub(crate) fn unsaved(value: Value) -> Self {
        let json = serde_json::to_vec(&value).map(Bytes::from).unwrap_or_default();
        Self { head: head(value), json, revision: 0 }
    }

    /// The whole object, parsed anew.
    pub(crate) fn value(&self) -> Value {
        // What was serialised here can be parsed: the fallback is never seen.
        serde_json::from_slice(&self.json).unwrap_or_default()
    }
}

fn head(value: Value) -> Value {
    let Value::Object(mut fields) = value else {
        return Value::Null;
    };
    let mut head = Map::with_capacity(3);
    for name in ["apiVersion", "kind", "metadata"] {
        if let Some(field) = fields.swap_remove(name) {
            head.insert(name.to_owned(), field);
        }
    }
    Value::Object(head)
}

/// Where an object lives within a cluster; the namespace is empty for cluster-scoped objects.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ObjectKey {
    pub(crate) resource: ResourceKey,
    pub(crate) namespace: Arc<str>,
    pub(crate) name: Arc<str>,
}

impl ObjectKey {
    pub(crate) fn new(resource: &ResourceKey, namespace: &str, name: &str) -> Self {
        Self { resource: resource.clone(), namespace: namespace.into(), name: name.into() }
    }
}
