//! Subscriptions that wake controllers.

use std::sync::{Arc, Weak};

use capm3_api::metadata::MetadataExt;
use capm3_engine::{Caches, Index, Object, ObjectKey, Queue, Reader, informer::Change};
use kube::core::ObjectMeta;

use crate::context::Context;

/// Puts objects of one of our kinds into the queue of their controller.
#[derive(Clone)]
pub(crate) struct Waker {
    pub(crate) queue: Arc<Queue<ObjectKey>>,
    pub(crate) caches: Weak<Caches>,
}

impl Waker {
    /// A waker for the controller of this queue.
    pub(crate) fn new(context: &Context, queue: &Arc<Queue<ObjectKey>>) -> Self {
        Self { queue: Arc::clone(queue), caches: Arc::downgrade(&context.caches) }
    }

    /// Wakes the objects with that value in an index.
    pub(crate) fn by_index<K: Object>(&self, index: &Index<K>, value: &str) {
        for object in self.caches.upgrade().iter().flat_map(|caches| caches.by_index(index, value)) {
            self.queue.add(object.key());
        }
    }

    /// Wakes the owner of that kind.
    pub(crate) fn owner_of(&self, metadata: &ObjectMeta, group: &str, kind: &str) {
        if let Some(owner) = metadata.owner(group, kind) {
            self.queue.add(ObjectKey::new(metadata.namespace_str(), &owner.name));
        }
    }
}

/// Calls `wake` for an object as it was and as it is, whenever it changes: who was concerned before and who is now.
pub(crate) fn subscribe<K: Object>(context: &Context, wake: impl Fn(&K) + Send + Sync + 'static) {
    if let Some(store) = context.caches.store::<K>() {
        store.subscribe(move |change| {
            for object in [&change.old, &change.new].into_iter().flatten() {
                wake(object);
            }
        });
    }
}

/// The object, unless only its status changed: those changes are our own writes, or the data controller's.
pub(crate) fn changed_beside_status<K: Object>(change: &Change<K>) -> Option<&K> {
    let (old, new) = match (&change.old, &change.new) {
        (Some(old), Some(new)) => (old, new),
        (old, new) => return new.as_deref().or(old.as_deref()),
    };
    let same = |a: &ObjectMeta, b: &ObjectMeta| {
        a.deletion_timestamp == b.deletion_timestamp
            && a.finalizers == b.finalizers
            && a.labels == b.labels
            && a.annotations == b.annotations
            && a.owner_references == b.owner_references
            && a.generation == b.generation
    };
    (!same(old.meta(), new.meta())).then_some(new.as_ref())
}

/// The object, if it appeared, vanished, or its deletion began: what others do with it does not matter here.
pub(crate) fn came_or_went<K: Object>(change: &Change<K>) -> Option<&K> {
    match (&change.old, &change.new) {
        (Some(old), Some(new)) => {
            (old.meta().deletion_timestamp != new.meta().deletion_timestamp).then_some(new.as_ref())
        }
        (old, new) => new.as_deref().or(old.as_deref()),
    }
}
