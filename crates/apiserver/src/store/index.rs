//! Who owns whom: objects by uid, and dependents by the uid of their owner. Kept by the store on every write, so
//! the garbage collector never scans.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use serde_json::Value;

use super::object::ObjectKey;
use crate::meta;

/// Uids and ownership of all objects of a cluster.
#[derive(Default)]
pub(crate) struct Index {
    by_uid: BTreeMap<Arc<str>, ObjectKey>,
    dependents: BTreeMap<Arc<str>, BTreeSet<ObjectKey>>,
}

impl Index {
    /// The object with this uid.
    pub(crate) fn find(&self, uid: &str) -> Option<&ObjectKey> {
        self.by_uid.get(uid)
    }

    /// The objects that name this uid as an owner, in key order.
    pub(crate) fn dependents(&self, uid: &str) -> impl Iterator<Item = &ObjectKey> {
        self.dependents.get(uid).into_iter().flatten()
    }

    pub(crate) fn has_dependents(&self, uid: &str) -> bool {
        self.dependents.contains_key(uid)
    }

    /// Follows one change of one object.
    pub(super) fn update(&mut self, key: &ObjectKey, old: Option<&Value>, new: Option<&Value>) {
        if old.is_none() || new.is_none() {
            if let Some(old) = old {
                self.by_uid.remove(meta::uid(old));
            }
            if let Some(new) = new {
                self.by_uid.insert(meta::uid(new).into(), key.clone());
            }
        }
        for owner in old.into_iter().flat_map(meta::owners) {
            self.unlink(owner.uid, key);
        }
        for owner in new.into_iter().flat_map(meta::owners) {
            self.dependents.entry(owner.uid.into()).or_default().insert(key.clone());
        }
    }

    fn unlink(&mut self, owner: &str, key: &ObjectKey) {
        if let Some(keys) = self.dependents.get_mut(owner) {
            keys.remove(key);
            if keys.is_empty() {
                self.dependents.remove(owner);
            }
        }
    }
}
