//! Clusters, control planes and MachineDeployments that were seen to go.
//!
//! A reservation may name an object which is not there yet: a backup or a move brings objects in any order. Where the end was
//! seen, the reservation need not wait for it.

use std::{collections::BTreeSet, sync::Arc};

use capm3_api::neighbours::{Cluster, KubeadmControlPlane, MachineDeployment};
use capm3_domain::host::deployment_label;
use capm3_engine::{Object, ObjectKey, ResourceKind};
use parking_lot::Mutex;

use crate::context::Context;

/// Objects that were there and are gone, until one of that name is there again.
#[derive(Debug, Default)]
pub(crate) struct DeletionTracker {
    gone: Mutex<BTreeSet<(ResourceKind, ObjectKey)>>,
}

impl DeletionTracker {
    /// Watches Clusters, control planes and MachineDeployments go. The latter are known by the label with which
    /// hosts are reserved for them: where a name is long, a reservation has no more than that.
    pub(crate) fn watch(self: &Arc<Self>, context: &Context) {
        self.watch_kind::<Cluster>(context, Object::key);
        self.watch_kind::<KubeadmControlPlane>(context, Object::key);
        self.watch_kind::<MachineDeployment>(context, |deployment| {
            let key = deployment.key();
            ObjectKey::new(&key.namespace, deployment_label(&key.name))
        });
    }

    fn watch_kind<K: Object>(self: &Arc<Self>, context: &Context, known_as: fn(&K) -> ObjectKey) {
        let Some(store) = context.caches.store::<K>() else { return };
        let deletions = Arc::clone(self);
        store.subscribe(move |change| {
            let Some(object) = change.new.as_ref().or(change.old.as_ref()) else { return };
            let entry = (ResourceKind::of::<K>(), known_as(object));
            let mut gone = deletions.gone.lock();
            match change.new {
                Some(_) => gone.remove(&entry),
                None => gone.insert(entry),
            };
        });
    }

    /// Whether the object was seen to go.
    pub(crate) fn has_seen<K: Object>(&self, key: &ObjectKey) -> bool {
        self.gone.lock().contains(&(ResourceKind::of::<K>(), key.clone()))
    }
}
