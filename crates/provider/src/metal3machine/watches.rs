//! What wakes a Metal3Machine.

use std::{collections::BTreeSet, sync::Arc};

use capm3_api::{
    metadata::MetadataExt,
    neighbours::{BareMetalHost, CAPI_GROUP, Cluster, Machine, Node, SecretMetadata},
    v1beta2::{self, Metal3Cluster, Metal3Data, Metal3DataClaim, Metal3Machine, Metal3MachineTemplate},
    vocabulary::label,
};
use capm3_domain::{
    host::{could_be_taken, reservation_changed},
    provider_id::SomeProviderId,
};
use capm3_engine::{Object, ObjectKey, Queue, Reader, informer::Change};

use super::host_waiters::HostWaiters;
use crate::{
    baremetalhost::consumer_machine,
    context::Context,
    indexes::{
        HOSTS_BY_BMC_SECRET, HOSTS_BY_UID, MACHINES_BY_CLUSTER, MACHINES_BY_HOST, MACHINES_BY_HOST_UID,
        MACHINES_BY_HOSTNAME, MACHINES_BY_OWNER, MACHINES_BY_SECRET, MACHINES_BY_TEMPLATE,
    },
    rightful_owner::hosts_left,
    watching::{Waker, changed_beside_status, subscribe},
};

pub(super) fn watch(context: &Context, queue: &Arc<Queue<ObjectKey>>, waiters: &Arc<HostWaiters>) {
    let waker = Waker::new(context, queue);
    let own = waker.clone();
    subscribe::<Metal3Machine>(context, move |machine| own.queue.add(machine.key()));
    wake_for_what_machines_leave(context, &waker, waiters);
    let w = waker.clone();
    subscribe::<Machine>(context, move |machine| w.by_index(&MACHINES_BY_OWNER, &machine.key().to_string()));
    let w = waker.clone();
    subscribe::<Metal3DataClaim>(context, move |claim| {
        w.owner_of(&claim.metadata, v1beta2::GROUP, "Metal3Machine")
    });
    let w = waker.clone();
    subscribe::<Metal3Data>(context, move |data| w.owner_of(&data.metadata, v1beta2::GROUP, "Metal3Machine"));
    watch_what_many_share(context, &waker);
    if let Some(hosts) = context.caches.store::<BareMetalHost>() {
        let (w, waiters) = (waker.clone(), Arc::clone(waiters));
        hosts.subscribe(move |change| wake_for_host(&w, &waiters, change));
    }
    let w = waker.clone();
    subscribe::<SecretMetadata>(context, move |secret| {
        w.by_index(&MACHINES_BY_SECRET, &secret.key().to_string())
    });
    wake_for_credentials(context, &waker);
    let w = waker.clone();
    context.workloads.subscribe(move |cluster| w.by_index(&MACHINES_BY_CLUSTER, &cluster.to_string()));
    context
        .workloads
        .subscribe_to_nodes(move |cluster, node| wake_for_node(&waker, &cluster.namespace, node));
}

/// The Secret of a management controller that comes is labelled by the machines on its hosts.
fn wake_for_credentials(context: &Context, waker: &Waker) {
    let Some(secrets) = context.caches.store::<SecretMetadata>() else { return };
    let waker = waker.clone();
    secrets.subscribe(move |change| {
        let (None, Some(secret), Some(caches)) = (&change.old, &change.new, waker.caches.upgrade()) else {
            return;
        };
        for host in caches.by_index(&HOSTS_BY_BMC_SECRET, &secret.key().to_string()) {
            if let Some(machine) = consumer_machine(&host) {
                waker.queue.add(machine);
            }
        }
    });
}

/// A host that its machine does not know any more is for the machine that it names, or for the next in line.
fn wake_for_what_machines_leave(context: &Context, waker: &Waker, waiters: &Arc<HostWaiters>) {
    let Some(machines) = context.caches.store::<Metal3Machine>() else { return };
    let (waker, waiters) = (waker.clone(), Arc::clone(waiters));
    machines.subscribe(move |change| {
        let Some(caches) = waker.caches.upgrade() else { return };
        let hosts =
            hosts_left(&*caches, change).into_iter().filter_map(|host| caches.get::<BareMetalHost>(&host));
        for host in hosts {
            let consumer = host.spec.consumer_ref.as_ref().and_then(|consumer| consumer.name.as_deref());
            let named = consumer.map(|name| ObjectKey::new(host.metadata.namespace_str(), name));
            let in_line = could_be_taken(&host).then(|| waiters.offer(&*caches, &host.key())).flatten();
            named.into_iter().chain(in_line).for_each(|machine| waker.queue.add(machine));
        }
    });
}

/// Clusters and templates have many machines: only what machines look at wakes them.
fn watch_what_many_share(context: &Context, waker: &Waker) {
    if let Some(clusters) = context.caches.store::<Cluster>() {
        let w = waker.clone();
        clusters.subscribe(move |change| {
            let seen = |cluster: &Arc<Cluster>| {
                let meta = &cluster.metadata;
                (
                    cluster.spec.clone(),
                    cluster.infrastructure_is_ready(),
                    meta.uid.clone(),
                    meta.is_deleting(),
                )
            };
            if change.old.as_ref().map(seen) != change.new.as_ref().map(seen) {
                let cluster = change.new.as_ref().or(change.old.as_ref());
                cluster.iter().for_each(|c| w.by_index(&MACHINES_BY_CLUSTER, &c.key().to_string()));
            }
        });
    }
    if let Some(clusters) = context.caches.store::<Metal3Cluster>() {
        let w = waker.clone();
        clusters.subscribe(move |change| {
            let Some(cluster) = changed_beside_status(change) else { return };
            if let Some(owner) = cluster.metadata.owner(CAPI_GROUP, "Cluster") {
                w.by_index(
                    &MACHINES_BY_CLUSTER,
                    &format!("{}/{}", cluster.metadata.namespace_str(), owner.name),
                );
            }
        });
    }
    if let Some(templates) = context.caches.store::<Metal3MachineTemplate>() {
        let w = waker.clone();
        templates.subscribe(move |change| {
            if change.old.as_ref().map(|t| &t.spec) != change.new.as_ref().map(|t| &t.spec) {
                let template = change.new.as_ref().or(change.old.as_ref());
                template.iter().for_each(|t| w.by_index(&MACHINES_BY_TEMPLATE, &t.key().to_string()));
            }
        });
    }
}

/// A host wakes its consumer and the machines that have recorded it. One that becomes usable wakes the next waiting machine. One
/// that is reserved wakes the machines that wait for it and cannot get it.
fn wake_for_host(waker: &Waker, waiters: &HostWaiters, change: &Change<BareMetalHost>) {
    for host in [&change.old, &change.new].into_iter().flatten() {
        let key = host.key();
        waker.by_index(&MACHINES_BY_HOST, &key.to_string());
        if let Some(uid) = &host.metadata.uid {
            waker.by_index(&MACHINES_BY_HOST_UID, uid);
        }
        if let Some(name) = host.spec.consumer_ref.as_ref().and_then(|consumer| consumer.name.as_deref()) {
            waker.queue.add(ObjectKey::new(&key.namespace, name));
        }
    }
    let Some(caches) = waker.caches.upgrade() else { return };
    if reservation_changed(change.old.as_deref(), change.new.as_deref()) {
        let hosts = [&change.old, &change.new].into_iter().flatten();
        let reservations: BTreeSet<_> = hosts
            .filter_map(|host| Some((host.metadata.namespace_str(), host.metadata.label(label::NODE_REUSE)?)))
            .collect();
        for (namespace, reservation) in reservations {
            waiters.reservation_changed(&*caches, namespace, reservation).enqueue(&waker.queue);
        }
    }
    if let Some(host) = &change.new
        && became_usable(change.old.as_deref(), host)
        && let Some(machine) = waiters.offer(&*caches, &host.key())
    {
        waker.queue.add(machine);
    }
}

fn became_usable(old: Option<&BareMetalHost>, new: &BareMetalHost) -> bool {
    let was = old.is_some_and(|old| could_be_taken(old) && old.metadata.labels == new.metadata.labels);
    could_be_taken(new) && !was
}

/// A Node wakes the machine that it may belong to.
fn wake_for_node(waker: &Waker, namespace: &str, node: &Node) {
    let Some(caches) = waker.caches.upgrade() else { return };
    let id = node.spec.provider_id.as_deref().and_then(|id| id.parse().ok());
    let mut uids: Vec<String> =
        node.metadata.label(label::NODE_UUID).map(str::to_owned).into_iter().collect();
    match id {
        Some(SomeProviderId::Current(id)) => {
            waker.by_index(&MACHINES_BY_HOST, &format!("{}/{}", id.namespace(), id.host()));
        }
        Some(SomeProviderId::Legacy { host_uid }) => {
            waker.by_index(&MACHINES_BY_HOST_UID, &host_uid);
            uids.push(host_uid);
        }
        _ => {}
    }
    for host in uids.iter().flat_map(|uid| caches.by_index(&HOSTS_BY_UID, uid)) {
        waker.by_index(&MACHINES_BY_HOST, &host.key().to_string());
    }
    if let Some(name) = node.metadata.label(label::NODE_HOSTNAME) {
        waker.by_index(&MACHINES_BY_HOSTNAME, &format!("{namespace}/{name}"));
    }
}
