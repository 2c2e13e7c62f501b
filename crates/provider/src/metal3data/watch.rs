//! What wakes a Metal3Data.

use std::sync::Arc;

use capm3_api::{
    ipam::{IpAddress, IpClaim},
    metadata::MetadataExt,
    neighbours::{BareMetalHost, Cluster, Machine, SecretMetadata},
    v1beta2::{self, Metal3Data, Metal3DataClaim, Metal3DataTemplate, Metal3Machine},
};
use capm3_engine::{Object, ObjectKey, Queue, Reader};

use crate::{
    context::Context,
    indexes::{DATA_BY_CLAIM, DATA_BY_CLUSTER, DATA_BY_SECRET, DATA_BY_TEMPLATE, MACHINES_BY_OWNER},
    watching::{Waker, subscribe},
};

pub(super) fn watch(context: &Context, queue: &Arc<Queue<ObjectKey>>) {
    let waker = Waker::new(context, queue);
    let w = waker.clone();
    subscribe::<Metal3Data>(context, move |data| w.queue.add(data.key()));
    let w = waker.clone();
    subscribe::<Metal3DataClaim>(context, move |claim| w.by_index(&DATA_BY_CLAIM, &claim.key().to_string()));
    let w = waker.clone();
    subscribe::<Metal3DataTemplate>(context, move |template| {
        w.by_index(&DATA_BY_TEMPLATE, &template.key().to_string());
    });
    let w = waker.clone();
    subscribe::<Cluster>(context, move |cluster| w.by_index(&DATA_BY_CLUSTER, &cluster.key().to_string()));
    let w = waker.clone();
    // A machine has the name of its claim.
    subscribe::<Metal3Machine>(context, move |machine| {
        w.by_index(&DATA_BY_CLAIM, &machine.key().to_string())
    });
    let w = waker.clone();
    subscribe::<BareMetalHost>(context, move |host| {
        if let Some(consumer) = host.spec.consumer_ref.as_ref().and_then(|c| c.name.as_deref()) {
            w.by_index(&DATA_BY_CLAIM, &format!("{}/{consumer}", host.metadata.namespace_str()));
        }
    });
    let w = waker.clone();
    subscribe::<IpClaim>(context, move |claim| w.owner_of(&claim.metadata, v1beta2::GROUP, "Metal3Data"));
    let w = waker.clone();
    subscribe::<IpAddress>(context, move |address| wake_for_address(&w, address));
    let w = waker.clone();
    subscribe::<Machine>(context, move |machine| wake_for_machine(&w, machine));
    // Also those whose Secret's name is taken by somebody else.
    subscribe::<SecretMetadata>(context, move |secret| {
        waker.by_index(&DATA_BY_SECRET, &secret.key().to_string())
    });
}

/// A Machine wakes the data of the Metal3Machine that it owns.
fn wake_for_machine(waker: &Waker, machine: &Machine) {
    let Some(caches) = waker.caches.upgrade() else { return };
    for owned in caches.by_index(&MACHINES_BY_OWNER, &machine.key().to_string()) {
        waker.by_index(&DATA_BY_CLAIM, &owned.key().to_string());
    }
}

/// An address wakes the data whose claim it serves.
fn wake_for_address(waker: &Waker, address: &IpAddress) {
    let Some(claim) = address.spec.claim.name.as_deref() else {
        return;
    };
    let key = ObjectKey::new(address.metadata.namespace_str(), claim);
    let claim = waker.caches.upgrade().and_then(|caches| caches.get::<IpClaim>(&key));
    if let Some(claim) = claim {
        waker.owner_of(&claim.metadata, v1beta2::GROUP, "Metal3Data");
    }
}
