//! What wakes a Metal3Machine.

use std::sync::{Arc, Weak};

use capm3_api::{
    metadata::MetadataExt,
    neighbours::{BareMetalHost, Cluster, Machine},
    v1beta2::{self, Metal3Cluster, Metal3Data, Metal3DataClaim, Metal3Machine, Metal3MachineTemplate},
};
use capm3_engine::{Caches, Index, Object, ObjectKey, Queue, Reader};
use kube::core::ObjectMeta;

use crate::{
    context::Context,
    indexes::{MACHINES_BY_CLUSTER, MACHINES_BY_OWNER, MACHINES_BY_TEMPLATE, MACHINES_WITHOUT_HOST},
    watching::subscribe,
};

/// Finds machines by index and puts them into the queue.
#[derive(Clone)]
struct Waker {
    queue: Arc<Queue<ObjectKey>>,
    caches: Weak<Caches>,
}

impl Waker {
    fn by_index(&self, index: &Index<Metal3Machine>, value: &str) {
        for machine in self.caches.upgrade().iter().flat_map(|c| c.by_index(index, value)) {
            self.queue.add(machine.key());
        }
    }

    fn owner_of(&self, metadata: &ObjectMeta) {
        if let Some(owner) = metadata.owner(v1beta2::GROUP, "Metal3Machine") {
            self.queue.add(ObjectKey::new(metadata.namespace_str(), &owner.name));
        }
    }
}

pub(super) fn watch(context: &Context, queue: &Arc<Queue<ObjectKey>>) {
    let waker = Waker { queue: Arc::clone(queue), caches: Arc::downgrade(&context.caches) };
    let own = waker.clone();
    subscribe::<Metal3Machine>(context, move |machine| own.queue.add(machine.key()));
    let w = waker.clone();
    subscribe::<Machine>(context, move |machine| w.by_index(&MACHINES_BY_OWNER, &machine.key().to_string()));
    let w = waker.clone();
    subscribe::<Cluster>(context, move |cluster| {
        w.by_index(&MACHINES_BY_CLUSTER, &cluster.key().to_string())
    });
    let w = waker.clone();
    subscribe::<Metal3Cluster>(context, move |cluster| {
        if let Some(owner) = cluster.metadata.owner(capm3_api::neighbours::CAPI_GROUP, "Cluster") {
            w.by_index(&MACHINES_BY_CLUSTER, &format!("{}/{}", cluster.metadata.namespace_str(), owner.name));
        }
    });
    let w = waker.clone();
    subscribe::<Metal3MachineTemplate>(context, move |template| {
        w.by_index(&MACHINES_BY_TEMPLATE, &template.key().to_string());
    });
    let w = waker.clone();
    subscribe::<Metal3DataClaim>(context, move |claim| w.owner_of(&claim.metadata));
    let w = waker.clone();
    subscribe::<Metal3Data>(context, move |data| w.owner_of(&data.metadata));
    let w = waker.clone();
    subscribe::<BareMetalHost>(context, move |host| wake_for_host(&w, host));
    context.workloads.subscribe(move |cluster| waker.by_index(&MACHINES_BY_CLUSTER, &cluster.to_string()));
}

/// A host wakes its consumer; a host without one wakes those who wait for a host.
fn wake_for_host(waker: &Waker, host: &BareMetalHost) {
    match &host.spec.consumer_ref {
        Some(consumer) => {
            let part = |p: &Option<String>| p.clone().unwrap_or_default();
            waker.queue.add(ObjectKey::new(part(&consumer.namespace), part(&consumer.name)));
        }
        None => waker.by_index(&MACHINES_WITHOUT_HOST, host.metadata.namespace_str()),
    }
}
