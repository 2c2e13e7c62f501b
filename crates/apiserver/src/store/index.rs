//! Who owns whom: objects by uid, and dependents by the uid of their owner. Kept by the store on every write, so
//! the garbage collector never scans.

use std::{
    collections::BTreeSet,
    hash::{BuildHasherDefault, DefaultHasher},
    sync::Arc,
};

use super::{object::ObjectKey, summary::ObjectSummary};

/// By uid. Never walked through, so that the order of hashes shows nowhere; hashes are the same in every run.
type ByUid<T> = hashbrown::HashMap<Arc<str>, T, BuildHasherDefault<DefaultHasher>>;

/// Uids and ownership of all objects of a cluster.
#[derive(Default)]
pub(crate) struct Index {
    by_uid: ByUid<ObjectKey>,
    dependents: ByUid<BTreeSet<ObjectKey>>,
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

    /// Follows one change of one object. Most change neither who the object is nor who owns it.
    pub(super) fn update(
        &mut self,
        key: &ObjectKey,
        old: Option<&ObjectSummary>,
        new: Option<&ObjectSummary>,
    ) {
        if let (Some(old), Some(new)) = (old, new)
            && old.uid == new.uid
            && old.owners == new.owners
        {
            return;
        }
        if let Some(old) = old {
            self.by_uid.remove(&*old.uid);
            old.owners.iter().for_each(|owner| self.unlink(&owner.uid, key));
        }
        if let Some(new) = new {
            self.by_uid.insert((&*new.uid).into(), key.clone());
            for owner in &new.owners {
                self.dependents.entry((&*owner.uid).into()).or_default().insert(key.clone());
            }
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
