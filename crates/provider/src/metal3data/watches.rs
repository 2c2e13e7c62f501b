//! What wakes a Metal3Data.

use std::sync::Arc;

use capm3_api::{
    ipam::{IpAddress, IpClaim, IpPool},
    metadata::MetadataExt,
    neighbours::{BareMetalHost, CapiIpAddress, Cluster, IpAddressClaim, Machine, SecretMetadata},
    v1beta2::{self, Metal3Data, Metal3DataClaim, Metal3DataTemplate, Metal3Machine},
};
use capm3_engine::{Object, ObjectKey, Queue, Reader};
use kube::core::ObjectMeta;

use crate::{
    context::Context,
    indexes::{
        DATA_BY_CLAIM, DATA_BY_CLUSTER, DATA_BY_SECRET, DATA_BY_TEMPLATE, IP_CLAIMS_BY_POOL,
        MACHINES_BY_OWNER,
    },
    watching::{Waker, came_or_went, changed_beside_status, subscribe},
};

pub(super) fn watch(context: &Context, queue: &Arc<Queue<ObjectKey>>) {
    let waker = Waker::new(context, queue);
    let w = waker.clone();
    subscribe::<Metal3Data>(context, move |data| w.queue.add(data.key()));
    let w = waker.clone();
    subscribe::<Metal3DataClaim>(context, move |claim| {
        w.by_index(&DATA_BY_CLAIM, &claim.key().to_string());
        // Also data that is gone: it may have left something behind.
        if let Some(data) = &claim.status.rendered_data {
            w.queue.add(ObjectKey::new(claim.metadata.namespace_str(), data.name_str()));
        }
    });
    watch_templates(context, &waker);
    watch_clusters(context, &waker);
    let w = waker.clone();
    // A machine has the name of its claim.
    subscribe::<Metal3Machine>(context, move |machine| {
        w.by_index(&DATA_BY_CLAIM, &machine.key().to_string())
    });
    let w = waker.clone();
    subscribe::<BareMetalHost>(context, move |host| wake_for_host(&w, host));
    let w = waker.clone();
    subscribe::<IpClaim>(context, move |claim| {
        wake_for_address_claim(&w, &claim.metadata, claim.spec.pool.name_str());
    });
    let w = waker.clone();
    subscribe::<IpAddressClaim>(context, move |claim| {
        wake_for_address_claim(&w, &claim.metadata, &claim.spec.pool_ref.name);
    });
    let w = waker.clone();
    subscribe::<IpAddress>(context, move |address| {
        wake_for_address::<IpClaim>(&w, &address.metadata, address.spec.claim.name_str());
    });
    let w = waker.clone();
    subscribe::<CapiIpAddress>(context, move |address| {
        wake_for_address::<IpAddressClaim>(&w, &address.metadata, &address.spec.claim_ref.name);
    });
    watch_pools(context, &waker);
    let w = waker.clone();
    subscribe::<Machine>(context, move |machine| wake_for_machine(&w, machine));
    // Also those whose Secret's name is taken by somebody else.
    subscribe::<SecretMetadata>(context, move |secret| {
        waker.by_index(&DATA_BY_SECRET, &secret.key().to_string())
    });
}

/// An address claim wakes its owner, and the data whose claim would have its name.
fn wake_for_address_claim(waker: &Waker, claim: &ObjectMeta, pool: &str) {
    waker.owner_of(claim, v1beta2::GROUP, "Metal3Data");
    let data = claim.name_str().strip_suffix(pool).and_then(|rest| rest.strip_suffix('-'));
    let Some(name) = data else { return };
    let key = ObjectKey::new(claim.namespace_str(), name);
    // It may be named after a host as well.
    if let Some(host) = waker.caches.upgrade().and_then(|caches| caches.get::<BareMetalHost>(&key)) {
        wake_for_host(waker, &host);
    }
    waker.queue.add(key);
}

/// A host wakes the data of the machine that uses it.
fn wake_for_host(waker: &Waker, host: &BareMetalHost) {
    if let Some(consumer) = host.spec.consumer_ref.as_ref().and_then(|c| c.name.as_deref()) {
        waker.by_index(&DATA_BY_CLAIM, &format!("{}/{consumer}", host.metadata.namespace_str()));
    }
}

/// A Machine wakes the data of the Metal3Machine that it owns.
fn wake_for_machine(waker: &Waker, machine: &Machine) {
    let Some(caches) = waker.caches.upgrade() else { return };
    for owned in caches.by_index(&MACHINES_BY_OWNER, &machine.key().to_string()) {
        waker.by_index(&DATA_BY_CLAIM, &owned.key().to_string());
    }
}

/// A Cluster wakes its data when it is paused, goes or comes back, but not by its status, which changes with every machine.
fn watch_clusters(context: &Context, waker: &Waker) {
    let Some(store) = context.caches.store::<Cluster>() else { return };
    let waker = waker.clone();
    store.subscribe(move |change| {
        if let Some(cluster) = changed_beside_status(change) {
            waker.by_index(&DATA_BY_CLUSTER, &cluster.key().to_string());
        }
    });
}

/// A template wakes its data, but not by its status, which changes with every machine.
fn watch_templates(context: &Context, waker: &Waker) {
    let Some(store) = context.caches.store::<Metal3DataTemplate>() else { return };
    let waker = waker.clone();
    store.subscribe(move |change| {
        if let Some(template) = changed_beside_status(change) {
            waker.by_index(&DATA_BY_TEMPLATE, &template.key().to_string());
        }
    });
}

/// A pool that comes or goes wakes those who ask it: their conditions say whether it is there.
fn watch_pools(context: &Context, waker: &Waker) {
    let Some(store) = context.caches.store::<IpPool>() else { return };
    let waker = waker.clone();
    store.subscribe(move |change| {
        let Some(pool) = came_or_went(change) else { return };
        for claim in waker
            .caches
            .upgrade()
            .iter()
            .flat_map(|c| c.by_index(&IP_CLAIMS_BY_POOL, &pool.key().to_string()))
        {
            waker.owner_of(&claim.metadata, v1beta2::GROUP, "Metal3Data");
        }
    });
}

/// An address wakes the data whose claim it serves.
fn wake_for_address<K: Object>(waker: &Waker, address: &ObjectMeta, claim: &str) {
    let key = ObjectKey::new(address.namespace_str(), claim);
    let claim = waker.caches.upgrade().and_then(|caches| caches.get::<K>(&key));
    if let Some(claim) = claim {
        waker.owner_of(claim.meta(), v1beta2::GROUP, "Metal3Data");
    }
}
