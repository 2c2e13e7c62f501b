//! What wakes a Metal3Remediation.

use std::{sync::Arc, time::Duration};

use capm3_api::{
    metadata::MetadataExt,
    neighbours::{BareMetalHost, CAPI_GROUP, Cluster, Machine, Node},
    v1beta2::{Metal3Machine, Metal3Remediation},
};
use capm3_engine::{Caches, Object, ObjectKey, Queue, Reader};

use crate::{
    baremetalhost::consumer_machine,
    context::Context,
    indexes::{CAPI_MACHINES_BY_CLUSTER, CAPI_MACHINES_BY_NODE, MACHINES_BY_HOST, REMEDIATIONS_BY_MACHINE},
    watching::{Waker, changed_beside_status, subscribe},
};

/// What is left of a Node goes piece by piece: so long it is gathered.
const GATHER: Duration = Duration::from_secs(1);

pub(super) fn watch(context: &Context, queue: &Arc<Queue<ObjectKey>>) {
    let waker = Waker::new(context, queue);
    let w = waker.clone();
    subscribe::<Metal3Remediation>(context, move |remediation| w.queue.add(remediation.key()));
    watch_machines(context, &waker);
    watch_hosts(context, &waker);
    watch_workloads(context, &waker);
}

fn watch_machines(context: &Context, waker: &Waker) {
    if let Some(machines) = context.caches.store::<Machine>() {
        let w = waker.clone();
        machines.subscribe(move |change| {
            let seen = |machine: &Arc<Machine>| {
                let infrastructure = machine.spec.infrastructure_ref.clone();
                (machine.node_name().map(str::to_owned), machine.metadata.is_deleting(), infrastructure)
            };
            let Some(machine) = change.new.as_ref().or(change.old.as_ref()) else { return };
            if change.old.as_ref().map(seen) != change.new.as_ref().map(seen) {
                w.by_index(&REMEDIATIONS_BY_MACHINE, &machine.key().to_string());
            }
        });
    }
    if let Some(machines) = context.caches.store::<Metal3Machine>() {
        let w = waker.clone();
        machines.subscribe(move |change| {
            if let Some(machine) = changed_beside_status(change) {
                of_metal3_machine(&w, machine);
            }
        });
    }
    if let Some(clusters) = context.caches.store::<Cluster>() {
        let w = waker.clone();
        clusters.subscribe(move |change| {
            let is_paused = |cluster: &Arc<Cluster>| cluster.is_paused();
            if change.old.as_ref().map(is_paused) != change.new.as_ref().map(is_paused) {
                let cluster = change.new.as_ref().or(change.old.as_ref());
                cluster.iter().for_each(|cluster| of_cluster(&w, &cluster.key().to_string()));
            }
        });
    }
}

/// Hosts change often, and few have a remediation: only what its steps look at wakes one.
fn watch_hosts(context: &Context, waker: &Waker) {
    let Some(hosts) = context.caches.store::<BareMetalHost>() else { return };
    let w = waker.clone();
    hosts.subscribe(move |change| {
        let seen = |host: &Arc<BareMetalHost>| {
            let annotations = host.metadata.annotations.clone();
            (host.status.powered_on, host.spec.online, host.spec.consumer_ref.clone(), annotations)
        };
        if change.old.as_ref().map(seen) == change.new.as_ref().map(seen) {
            return;
        }
        let Some(caches) = w.caches.upgrade() else { return };
        for host in [&change.old, &change.new].into_iter().flatten() {
            let consumer = consumer_machine(host).and_then(|machine| caches.get::<Metal3Machine>(&machine));
            let recorded = caches.by_index(&MACHINES_BY_HOST, &host.key().to_string());
            for machine in consumer.into_iter().chain(recorded) {
                of_metal3_machine(&w, &machine);
            }
        }
    });
}

fn watch_workloads(context: &Context, waker: &Waker) {
    let w = waker.clone();
    context.workloads.subscribe(move |cluster| of_cluster(&w, &cluster.to_string()));
    let w = waker.clone();
    context.workloads.subscribe_to_nodes(move |cluster, node: &Node| {
        let Some(caches) = w.caches.upgrade() else { return };
        for machine in machines_of_node(&caches, cluster, node.metadata.name_str()) {
            w.by_index(&REMEDIATIONS_BY_MACHINE, &machine.key().to_string());
        }
    });
    let w = waker.clone();
    context.workloads.subscribe_to_drains(move |cluster, node| {
        let Some(caches) = w.caches.upgrade() else { return };
        for machine in machines_of_node(&caches, cluster, node) {
            for remediation in caches.by_index(&REMEDIATIONS_BY_MACHINE, &machine.key().to_string()) {
                w.queue.add_after(remediation.key(), GATHER);
            }
        }
    });
}

fn machines_of_node(caches: &Caches, cluster: &ObjectKey, node: &str) -> Vec<Arc<Machine>> {
    caches.by_index(&CAPI_MACHINES_BY_NODE, &format!("{cluster}/{node}"))
}

fn of_metal3_machine(waker: &Waker, machine: &Metal3Machine) {
    if let Some(owner) = machine.metadata.owner(CAPI_GROUP, "Machine") {
        let owner = ObjectKey::new(machine.metadata.namespace_str(), &owner.name);
        waker.by_index(&REMEDIATIONS_BY_MACHINE, &owner.to_string());
    }
}

fn of_cluster(waker: &Waker, cluster: &str) {
    let Some(caches) = waker.caches.upgrade() else { return };
    for machine in caches.by_index(&CAPI_MACHINES_BY_CLUSTER, cluster) {
        waker.by_index(&REMEDIATIONS_BY_MACHINE, &machine.key().to_string());
    }
}
