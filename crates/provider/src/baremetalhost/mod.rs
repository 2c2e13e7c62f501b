//! BareMetalHost: hosts that nobody looks after.
//!
//! A host whose Metal3Machine cannot be found is left as it is and reported; it is released only on request and with proof
//! that the machine is gone. A reservation whose owner is gone ends; a free host does not hold up a move; a host that is kept off
//! for a Metal3Remediation that is gone has power again. Everything else about hosts is the business of their machines. Woken by
//! hosts, and by machines, Metal3Remediations, Clusters, MachineDeployments and KubeadmControlPlanes that go. Control planes of other kinds are not watched: the server is asked for them whenever a host
//! that is reserved for one is looked at.

mod decide;
mod left_off;
mod observe;
mod orphan_release;
mod orphans;
mod owner;
mod reconcile;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use capm3_api::{
    neighbours::{BareMetalHost, Cluster, KubeadmControlPlane, MachineDeployment},
    v1beta2::{Metal3Machine, Metal3Remediation},
};
use capm3_domain::host::{control_plane_label, deployment_label};
use capm3_engine::{Controller, Object, ObjectKey, Queue};

pub use decide::{Request, decide, judge_release};
pub use observe::{Absent, ControlPlane, HostSnapshot, Orphan, consumer_machine, known_to_another, observe};
pub(crate) use orphans::Orphans;
use reconcile::{State, reconcile};

use crate::{
    context::{Context, boxed},
    indexes::{
        HOSTS_BY_CONSUMER, HOSTS_BY_POWER_OFF, PAUSED_HOSTS_BY_CLUSTER, REMEDIATIONS_BY_POWER_OFF,
        RESERVED_HOSTS_BY_CLUSTER, RESERVED_HOSTS_BY_LABEL,
    },
    rightful_owner::hosts_left,
    watching::{Waker, came_or_went},
};

/// The controller, and the task that brings orphaned hosts back to it.
pub(crate) fn controller(context: &Context) -> (Controller, impl Future<Output = ()> + use<>) {
    let queue = Arc::new(Queue::default());
    watch(context, &queue);
    let orphans = orphans::watch(context.clone(), Arc::clone(&queue));
    let context = context.clone();
    let state = Arc::new(State::default());
    let reconcile = move |key: ObjectKey| {
        let (context, state) = (context.clone(), Arc::clone(&state));
        boxed(async move { reconcile(&context, &state, &key).await })
    };
    (Controller::new("baremetalhost", queue, Arc::new(reconcile)), orphans)
}

fn watch(context: &Context, queue: &Arc<Queue<ObjectKey>>) {
    let waker = Waker::new(context, queue);
    if let Some(store) = context.caches.store::<BareMetalHost>() {
        let w = waker.clone();
        store.subscribe(move |change| {
            if let Some(host) = &change.new {
                w.queue.add(host.key());
            }
        });
    }
    if let Some(store) = context.caches.store::<Metal3Machine>() {
        let w = waker.clone();
        store.subscribe(move |change| {
            let left = w.caches.upgrade().map(|caches| hosts_left(&*caches, change));
            left.into_iter().flatten().for_each(|host| w.queue.add(host));
            if let Some(machine) = came_or_went(change) {
                w.by_index(&HOSTS_BY_CONSUMER, &machine.key().to_string());
            }
        });
    }
    if let Some(store) = context.caches.store::<Metal3Remediation>() {
        let w = waker.clone();
        store.subscribe(move |change| {
            if let Some(remediation) = came_or_went(change) {
                for value in (REMEDIATIONS_BY_POWER_OFF.values)(remediation) {
                    w.by_index(&HOSTS_BY_POWER_OFF, &value);
                }
            }
        });
    }
    if let Some(store) = context.caches.store::<Cluster>() {
        let w = waker.clone();
        store.subscribe(move |change| {
            let rests =
                |cluster: &Option<Arc<Cluster>>| cluster.as_ref().map(|c| (c.is_paused(), c.spec.clone()));
            if came_or_went(change).is_none() && rests(&change.old) == rests(&change.new) {
                return;
            }
            for cluster in [&change.old, &change.new].into_iter().flatten() {
                let key = cluster.key().to_string();
                w.by_index(&RESERVED_HOSTS_BY_CLUSTER, &key);
                w.by_index(&PAUSED_HOSTS_BY_CLUSTER, &key);
            }
        });
    }
    wake_for_owner::<MachineDeployment>(context, &waker, deployment_label);
    wake_for_owner::<KubeadmControlPlane>(context, &waker, control_plane_label);
}

/// An owner of machines that comes or goes wakes the hosts that are reserved for it.
fn wake_for_owner<K: Object>(context: &Context, waker: &Waker, label: fn(&str) -> String) {
    let Some(store) = context.caches.store::<K>() else { return };
    let waker = waker.clone();
    store.subscribe(move |change| {
        if let Some(owner) = came_or_went(change) {
            let key = owner.key();
            waker.by_index(&RESERVED_HOSTS_BY_LABEL, &format!("{}/{}", key.namespace, label(&key.name)));
        }
    });
}
