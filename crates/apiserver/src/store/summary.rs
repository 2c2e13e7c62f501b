//! What the server itself asks an object all the time, read once when it is stored: who it is, who owns it, whether
//! it goes. Everything else is read from the text.

use serde_json::Value;

use crate::meta;

/// Identity, owners and deletion of one object.
#[derive(Debug)]
pub(crate) struct ObjectSummary {
    pub(crate) api_version: Box<str>,
    pub(crate) namespace: Box<str>,
    pub(crate) name: Box<str>,
    pub(crate) uid: Box<str>,
    pub(crate) owners: Box<[Owner]>,
    pub(crate) is_deleting: bool,
    /// Whether it waits for the garbage collector to delete its dependents.
    pub(crate) awaits_dependents: bool,
    /// Whether it waits for the garbage collector to cut its dependents loose.
    pub(crate) awaits_orphaning: bool,
}

/// One entry of `ownerReferences`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Owner {
    pub(crate) api_version: Box<str>,
    pub(crate) kind: Box<str>,
    pub(crate) uid: Box<str>,
    pub(crate) blocks: bool,
}

impl ObjectSummary {
    /// Total: an absent or odd field reads as absent.
    pub(super) fn of(object: &Value) -> Self {
        let is_deleting = meta::is_deleting(object);
        Self {
            api_version: meta::str_at(object, "apiVersion").into(),
            namespace: meta::namespace(object).into(),
            name: meta::name(object).into(),
            uid: meta::uid(object).into(),
            owners: owners(object),
            is_deleting,
            awaits_dependents: is_deleting && meta::has_finalizer(object, meta::FOREGROUND),
            awaits_orphaning: is_deleting && meta::has_finalizer(object, meta::ORPHAN),
        }
    }
}

fn owners(object: &Value) -> Box<[Owner]> {
    let list =
        meta::of(object).and_then(|metadata| metadata.get("ownerReferences")).and_then(Value::as_array);
    let owner = |reference: &Value| Owner {
        api_version: meta::str_at(reference, "apiVersion").into(),
        kind: meta::str_at(reference, "kind").into(),
        uid: meta::str_at(reference, "uid").into(),
        blocks: reference.get("blockOwnerDeletion").and_then(Value::as_bool).unwrap_or_default(),
    };
    list.into_iter().flatten().map(owner).collect()
}
