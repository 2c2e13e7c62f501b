//! Nodes: kubelets that join when their host runs an image, and a cloud provider that gives them a provider ID.
//!
//! `join` is the kubelet's side, `kubelet` how one fails, `outage` what becomes of what runs on a node that is out of service, `name` what kubeadm's configuration and the metadata make of a node,
//! `cloud_provider` the external one, `workloads` the way to the clusters of a real Cluster API and `mirror` what its kubeadm
//! control plane looks at. Nodes never leave by themselves: Cluster API deletes them.

pub(crate) mod cloud_provider;
pub(crate) mod join;
pub(crate) mod kubelet;
mod mirror;
mod name;
mod outage;
mod workloads;

use std::sync::Arc;

use capm3_api::{metadata::MetadataExt, v1beta2::Metal3Machine, vocabulary::label};
use capm3_engine::{Controller, ObjectKey, Reader};

use crate::{
    context::Context,
    kinds::{BareMetalHost, Cluster},
    metadata::beside,
};

pub(crate) fn controllers(context: &Arc<Context>) -> Vec<Controller> {
    vec![join::controller(context), cloud_provider::controller(context), outage::controller(context)]
}

pub(crate) use kubelet::{Kubelets, follow_power};
pub(crate) use outage::{is_out_of_service, key as outage_key};
pub(crate) use workloads::controller as workloads;

/// A host that runs an image, who uses it, and for which cluster.
pub(crate) struct Running {
    pub(crate) host: Arc<BareMetalHost>,
    pub(crate) consumer: Arc<Metal3Machine>,
    pub(crate) cluster: Arc<Cluster>,
}

pub(crate) fn running(reader: &impl Reader, key: &ObjectKey) -> Option<Running> {
    let host = reader.get::<BareMetalHost>(key)?;
    if host.state() != capm3_api::vocabulary::host_state::PROVISIONED {
        return None;
    }
    let consumer = reader.get::<Metal3Machine>(&beside(&*host, host.consumer()?))?;
    let name =
        host.metadata.label(label::CLUSTER_NAME).or_else(|| consumer.metadata.label(label::CLUSTER_NAME))?;
    let cluster = reader.get::<Cluster>(&beside(&*host, name))?;
    Some(Running { host, consumer, cluster })
}
