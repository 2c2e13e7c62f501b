//! What wakes a Metal3Machine.

use std::sync::Arc;

use capm3_api::{
    metadata::MetadataExt,
    neighbours::{BareMetalHost, Cluster, Machine, SecretMetadata},
    v1beta2::{self, Metal3Cluster, Metal3Data, Metal3DataClaim, Metal3Machine, Metal3MachineTemplate},
};
use capm3_engine::{Object, ObjectKey, Queue};

use crate::{
    context::Context,
    indexes::{
        MACHINES_BY_CLUSTER, MACHINES_BY_HOST, MACHINES_BY_OWNER, MACHINES_BY_SECRET, MACHINES_BY_TEMPLATE,
        MACHINES_WITHOUT_HOST,
    },
    watching::{Waker, subscribe},
};

pub(super) fn watch(context: &Context, queue: &Arc<Queue<ObjectKey>>) {
    let waker = Waker::new(context, queue);
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
    subscribe::<Metal3DataClaim>(context, move |claim| {
        w.owner_of(&claim.metadata, v1beta2::GROUP, "Metal3Machine")
    });
    let w = waker.clone();
    subscribe::<Metal3Data>(context, move |data| w.owner_of(&data.metadata, v1beta2::GROUP, "Metal3Machine"));
    let w = waker.clone();
    subscribe::<BareMetalHost>(context, move |host| wake_for_host(&w, host));
    let w = waker.clone();
    subscribe::<SecretMetadata>(context, move |secret| {
        w.by_index(&MACHINES_BY_SECRET, &secret.key().to_string())
    });
    context.workloads.subscribe(move |cluster| waker.by_index(&MACHINES_BY_CLUSTER, &cluster.to_string()));
}

/// A host wakes its consumer and whoever has it recorded; one without a consumer wakes those who wait for a host.
fn wake_for_host(waker: &Waker, host: &BareMetalHost) {
    let key = host.key();
    waker.by_index(&MACHINES_BY_HOST, &key.to_string());
    match host.spec.consumer_ref.as_ref().and_then(|consumer| consumer.name.as_deref()) {
        Some(name) => waker.queue.add(ObjectKey::new(&key.namespace, name)),
        None => waker.by_index(&MACHINES_WITHOUT_HOST, &key.namespace),
    }
}
