//! What wakes a host whose labels are synced.

use std::sync::Arc;

use capm3_api::{
    conditions::Condition,
    metadata::MetadataExt,
    neighbours::{BareMetalHost, CAPI_GROUP, Cluster, Machine},
    v1beta2::{Metal3Cluster, Metal3Machine},
    vocabulary::condition,
};
use capm3_engine::{Caches, Object, ObjectKey, Queue, Reader};

use crate::{
    context::Context,
    indexes::{CAPI_MACHINES_BY_NODE, HOSTS_BY_CONSUMER, MACHINES_BY_CLUSTER, MACHINES_BY_OWNER},
    watching::{Waker, changed_beside_status},
};

pub(super) fn watch(context: &Context, queue: &Arc<Queue<ObjectKey>>) {
    let waker = Waker::new(context, queue);
    watch_host_and_machine(context, &waker);
    watch_clusters(context, &waker);
    let w = waker.clone();
    context.workloads.subscribe(move |cluster| hosts_of_cluster(&w, &cluster.to_string()));
    context.workloads.subscribe_to_labels(move |cluster, node| {
        let Some(caches) = waker.caches.upgrade() else { return };
        let node = format!("{cluster}/{}", node.metadata.name_str());
        for machine in caches.by_index(&CAPI_MACHINES_BY_NODE, &node) {
            hosts_of_machine(&waker, &caches, &machine.key());
        }
    });
}

fn watch_host_and_machine(context: &Context, waker: &Waker) {
    if let Some(hosts) = context.caches.store::<BareMetalHost>() {
        let w = waker.clone();
        hosts.subscribe(move |change| {
            if let Some(host) = changed_beside_status(change) {
                w.queue.add(host.key());
            }
        });
    }
    if let Some(machines) = context.caches.store::<Metal3Machine>() {
        let w = waker.clone();
        machines.subscribe(move |change| {
            if let Some(machine) = changed_beside_status(change) {
                w.by_index(&HOSTS_BY_CONSUMER, &machine.key().to_string());
            }
        });
    }
    if let Some(machines) = context.caches.store::<Machine>() {
        let w = waker.clone();
        machines.subscribe(move |change| {
            let seen = |machine: &Arc<Machine>| {
                let is_deleting = machine.metadata.is_deleting();
                (machine.node_name().map(str::to_owned), machine.spec.failure_domain.clone(), is_deleting)
            };
            let Some(machine) = change.new.as_ref().or(change.old.as_ref()) else { return };
            if change.old.as_ref().map(seen) != change.new.as_ref().map(seen)
                && let Some(caches) = w.caches.upgrade()
            {
                hosts_of_machine(&w, &caches, &machine.key());
            }
        });
    }
}

/// Clusters have many hosts: only what decisions look at wakes them.
fn watch_clusters(context: &Context, waker: &Waker) {
    let w = waker.clone();
    if let Some(clusters) = context.caches.store::<Cluster>() {
        clusters.subscribe(move |change| {
            let seen = |cluster: &Arc<Cluster>| (cluster.spec.clone(), cluster.metadata.is_deleting());
            if change.old.as_ref().map(seen) != change.new.as_ref().map(seen) {
                let cluster = change.new.as_ref().or(change.old.as_ref());
                cluster.iter().for_each(|cluster| hosts_of_cluster(&w, &cluster.key().to_string()));
            }
        });
    }
    if let Some(clusters) = context.caches.store::<Metal3Cluster>() {
        let w = waker.clone();
        clusters.subscribe(move |change| {
            let is_synced = |cluster: &Arc<Metal3Cluster>| {
                let is_it = |c: &Condition| c.type_ == condition::LABEL_SYNC_ACTIVE;
                cluster.status.conditions.iter().any(is_it)
            };
            let is_news = changed_beside_status(change).is_some()
                || change.old.as_ref().map(is_synced) != change.new.as_ref().map(is_synced);
            let cluster = change.new.as_ref().or(change.old.as_ref()).filter(|_| is_news);
            if let Some(cluster) = cluster
                && let Some(owner) = cluster.metadata.owner(CAPI_GROUP, "Cluster")
            {
                hosts_of_cluster(&w, &format!("{}/{}", cluster.metadata.namespace_str(), owner.name));
            }
        });
    }
}

fn hosts_of_cluster(waker: &Waker, cluster: &str) {
    let Some(caches) = waker.caches.upgrade() else { return };
    for machine in caches.by_index(&MACHINES_BY_CLUSTER, cluster) {
        waker.by_index(&HOSTS_BY_CONSUMER, &machine.key().to_string());
    }
}

fn hosts_of_machine(waker: &Waker, caches: &Caches, machine: &ObjectKey) {
    for machine in caches.by_index(&MACHINES_BY_OWNER, &machine.to_string()) {
        waker.by_index(&HOSTS_BY_CONSUMER, &machine.key().to_string());
    }
}
