//! Machines, Clusters, control planes and MachineDeployments that were seen to go.
//!
//! A host that names an object which is not there may belong to one that comes later: a backup or a move brings
//! objects in any order. Where the end was seen there is no doubt.

use std::{collections::BTreeSet, sync::Arc};

use capm3_api::{
    neighbours::{BareMetalHost, Cluster, KubeadmControlPlane, MachineDeployment},
    v1beta2::Metal3Machine,
};
use capm3_domain::host::deployment_label;
use capm3_engine::{Caches, Object, ObjectKey, Reader, ResourceKind};
use parking_lot::Mutex;

use crate::{context::Context, indexes::HOSTS_BY_CONSUMER};

/// Objects that were there and are gone, until one of that name is there again; machines only as long as a host names
/// them. Who comes to be named later, by an old manifest, was not seen to leave that host.
#[derive(Debug, Default)]
pub(crate) struct Departures {
    gone: Mutex<BTreeSet<(ResourceKind, ObjectKey)>>,
}

impl Departures {
    /// Watches machines, Clusters, control planes and MachineDeployments go. The latter are known by the label with which
    /// hosts are booked for them: where a name is long, a booking has no more than that.
    pub(crate) fn watch(self: &Arc<Self>, context: &Context) {
        self.watch_kind::<Metal3Machine>(context, Object::key);
        self.forget_machines(&context.caches);
        self.watch_kind::<Cluster>(context, Object::key);
        self.watch_kind::<KubeadmControlPlane>(context, Object::key);
        self.watch_kind::<MachineDeployment>(context, |deployment| {
            let key = deployment.key();
            ObjectKey::new(&key.namespace, deployment_label(&key.name))
        });
    }

    fn watch_kind<K: Object>(self: &Arc<Self>, context: &Context, known_as: fn(&K) -> ObjectKey) {
        let Some(store) = context.caches.store::<K>() else { return };
        let departures = Arc::clone(self);
        store.subscribe(move |change| {
            let Some(object) = change.new.as_ref().or(change.old.as_ref()) else { return };
            let entry = (ResourceKind::of::<K>(), known_as(object));
            let mut gone = departures.gone.lock();
            match change.new {
                Some(_) => gone.remove(&entry),
                None => gone.insert(entry),
            };
        });
    }

    /// Whenever a machine goes or a host ceases to name one, those that no host names are forgotten: one that gave its
    /// host back at once, and one whose host went or was given back. A backup may bring both again, in any order.
    fn forget_machines(self: &Arc<Self>, caches: &Arc<Caches>) {
        if let Some(store) = caches.store::<Metal3Machine>() {
            let (departures, caches) = (Arc::clone(self), Arc::downgrade(caches));
            store.subscribe(move |change| {
                if let (None, Some(caches)) = (&change.new, caches.upgrade()) {
                    departures.keep_named(&caches);
                }
            });
        }
        if let Some(store) = caches.store::<BareMetalHost>() {
            let (departures, caches) = (Arc::clone(self), Arc::downgrade(caches));
            store.subscribe(move |change| {
                let named = |host: &Option<Arc<BareMetalHost>>| {
                    host.as_deref().map(HOSTS_BY_CONSUMER.values).unwrap_or_default()
                };
                let before = named(&change.old);
                let ceased = !before.is_empty() && before != named(&change.new);
                if let (true, Some(caches)) = (ceased, caches.upgrade()) {
                    departures.keep_named(&caches);
                }
            });
        }
    }

    fn keep_named(&self, caches: &Caches) {
        if self.gone.lock().is_empty() {
            return;
        }
        let machines = ResourceKind::of::<Metal3Machine>();
        let is_named = |key: &ObjectKey| caches.count(&HOSTS_BY_CONSUMER, &key.to_string()) > 0;
        self.gone.lock().retain(|(kind, key)| *kind != machines || is_named(key));
    }

    /// Whether the object was seen to go.
    pub(crate) fn has_seen<K: Object>(&self, key: &ObjectKey) -> bool {
        self.gone.lock().contains(&(ResourceKind::of::<K>(), key.clone()))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::indexes;

    fn caches_with_a_host_of(machine: &str) -> Caches {
        let mut caches = Caches::default();
        indexes::register(&mut caches);
        let host = json!({"metadata": {"name": "h", "namespace": "ns", "resourceVersion": "1"}, "spec": {"consumerRef": {
            "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "Metal3Machine", "name": machine, "namespace": "ns"}}});
        caches.store::<BareMetalHost>().unwrap().apply(serde_json::from_value(host).unwrap());
        caches
    }

    /// A backup brings hosts and machines again in any order: nobody may be sure then that a machine is gone for good.
    #[test]
    fn a_machine_is_forgotten_with_the_last_host_that_names_it() {
        let caches = Arc::new(caches_with_a_host_of("m"));
        let (departures, machine) = (Arc::new(Departures::default()), ObjectKey::new("ns", "m"));
        departures.forget_machines(&caches);
        departures.gone.lock().insert((ResourceKind::of::<Metal3Machine>(), machine.clone()));
        assert!(departures.has_seen::<Metal3Machine>(&machine));
        caches.store::<BareMetalHost>().unwrap().remove(&ObjectKey::new("ns", "h"), 2);
        assert!(!departures.has_seen::<Metal3Machine>(&machine));
    }

    #[test]
    fn a_machine_that_no_host_names_is_forgotten() {
        let caches = caches_with_a_host_of("held");
        let (machines, clusters) = (ResourceKind::of::<Metal3Machine>(), ResourceKind::of::<Cluster>());
        let departures = Departures::default();
        for (kind, name) in [(&machines, "held"), (&machines, "free"), (&clusters, "free")] {
            departures.gone.lock().insert((kind.clone(), ObjectKey::new("ns", name)));
        }
        departures.keep_named(&caches);
        assert!(departures.has_seen::<Metal3Machine>(&ObjectKey::new("ns", "held")));
        assert!(!departures.has_seen::<Metal3Machine>(&ObjectKey::new("ns", "free")));
        assert!(departures.has_seen::<Cluster>(&ObjectKey::new("ns", "free")), "bookings may come later");
    }
}
