//! What wakes a Metal3Data.

use std::sync::{Arc, Weak};

use capm3_api::{
    ipam::{IpAddress, IpClaim},
    metadata::MetadataExt,
    neighbours::{BareMetalHost, Cluster, SecretMetadata},
    v1beta2::{self, Metal3Data, Metal3DataClaim, Metal3DataTemplate, Metal3Machine},
};
use capm3_engine::{Caches, Index, Object, ObjectKey, Queue, Reader};
use kube::core::ObjectMeta;

use crate::{
    context::Context,
    indexes::{DATA_BY_CLAIM, DATA_BY_CLUSTER, DATA_BY_TEMPLATE},
    watching::subscribe,
};

/// Finds data by index and puts it into the queue.
#[derive(Clone)]
struct Waker {
    queue: Arc<Queue<ObjectKey>>,
    caches: Weak<Caches>,
}

impl Waker {
    fn by_index(&self, index: &Index<Metal3Data>, value: &str) {
        for data in self.caches.upgrade().iter().flat_map(|c| c.by_index(index, value)) {
            self.queue.add(data.key());
        }
    }

    fn owner_of(&self, metadata: &ObjectMeta) {
        if let Some(owner) = metadata.owner(v1beta2::GROUP, "Metal3Data") {
            self.queue.add(ObjectKey::new(metadata.namespace_str(), &owner.name));
        }
    }
}

pub(super) fn watch(context: &Context, queue: &Arc<Queue<ObjectKey>>) {
    let waker = Waker { queue: Arc::clone(queue), caches: Arc::downgrade(&context.caches) };
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
    subscribe::<IpClaim>(context, move |claim| w.owner_of(&claim.metadata));
    let w = waker.clone();
    subscribe::<IpAddress>(context, move |address| wake_for_address(&w, address));
    subscribe::<SecretMetadata>(context, move |secret| waker.owner_of(&secret.metadata));
}

/// An address wakes the data whose claim it serves.
fn wake_for_address(waker: &Waker, address: &IpAddress) {
    let Some(claim) = address.spec.claim.name.as_deref() else {
        return;
    };
    let key = ObjectKey::new(address.metadata.namespace_str(), claim);
    let claim = waker.caches.upgrade().and_then(|caches| caches.get::<IpClaim>(&key));
    if let Some(claim) = claim {
        waker.owner_of(&claim.metadata);
    }
}
