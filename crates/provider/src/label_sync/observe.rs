//! What a decision about the labels of one host needs to know.

use std::sync::Arc;

use capm3_api::{
    metadata::MetadataExt,
    neighbours::{BareMetalHost, CAPI_GROUP, Cluster, Machine, Node},
    v1beta2::{Metal3Cluster, Metal3Machine},
};
use capm3_domain::host::{Bond, bond};
use capm3_engine::{ObjectKey, Reader};

use super::{Answer, InSync};
use crate::{baremetalhost::consumer_machine, workload::Workload};

/// A host and the chain of objects that leads to its Node.
#[derive(Debug, Clone)]
pub struct LabelSnapshot {
    /// The host.
    pub host: Arc<BareMetalHost>,
    /// The Metal3Machine that uses the host: each of the two names the other.
    pub metal3_machine: Option<Arc<Metal3Machine>>,
    /// Its Machine.
    pub machine: Option<Arc<Machine>>,
    /// The Cluster of the Machine.
    pub cluster: Option<Arc<Cluster>>,
    /// The Metal3Cluster of the Cluster.
    pub metal3_cluster: Option<Arc<Metal3Cluster>>,
    /// What is known of the Node.
    pub nodes: Nodes,
    /// The Node with all of its labels, if one was read.
    pub answer: Option<Answer>,
    /// The Node as an earlier decision left it.
    pub in_sync: Option<InSync>,
}

/// What is known of the Node of a Machine.
#[derive(Debug, Clone)]
pub enum Nodes {
    /// The Machine names none, or nobody asked for a connection yet.
    NotConnected,
    /// The first list of Nodes has not arrived yet.
    Connecting,
    /// The workload cluster cannot be reached.
    Unreachable(String),
    /// The Node, if it is there.
    Known(Option<Arc<Node>>),
}

/// What a decision needs beside the objects.
pub struct Inputs<'a> {
    /// What is known of a workload cluster.
    pub workload: &'a dyn Fn(&ObjectKey) -> Workload,
    /// The Node, if one was read.
    pub answer: Option<&'a Answer>,
    /// The Node as an earlier decision left it.
    pub in_sync: Option<InSync>,
}

impl std::fmt::Debug for Inputs<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Inputs").field("in_sync", &self.in_sync).finish_non_exhaustive()
    }
}

/// Reads the snapshot; `None` when the host is gone.
pub fn observe(reader: &impl Reader, inputs: Inputs<'_>, key: &ObjectKey) -> Option<LabelSnapshot> {
    let host = reader.get::<BareMetalHost>(key)?;
    let here = |name: &str| ObjectKey::new(&key.namespace, name);
    let metal3_machine = consumer_machine(&host).and_then(|machine| reader.get::<Metal3Machine>(&machine));
    let metal3_machine = metal3_machine.filter(|machine| bond(machine, &host) >= Bond::Claimed);
    let owner = metal3_machine.as_ref().and_then(|m| m.metadata.owner(CAPI_GROUP, "Machine"));
    let machine = owner.and_then(|owner| reader.get::<Machine>(&here(&owner.name)));
    let cluster_key = machine.as_ref().map(|machine| here(&machine.spec.cluster_name));
    let cluster = cluster_key.as_ref().and_then(|cluster| reader.get::<Cluster>(cluster));
    let infrastructure = cluster.as_ref().and_then(|cluster| cluster.spec.infrastructure_ref.as_ref());
    let infrastructure =
        infrastructure.filter(|it| it.kind.as_deref().is_none_or(|kind| kind == "Metal3Cluster"));
    let name = infrastructure.and_then(|it| it.name.as_deref());
    let metal3_cluster = name.and_then(|name| reader.get::<Metal3Cluster>(&here(name)));
    let node = machine.as_ref().and_then(|machine| machine.node_name());
    let nodes = match (cluster_key, node) {
        (Some(cluster), Some(node)) => match (inputs.workload)(&cluster) {
            Workload::Unknown => Nodes::NotConnected,
            Workload::Connecting => Nodes::Connecting,
            Workload::Unreachable { cause, .. } => Nodes::Unreachable(cause),
            Workload::Synced(store, _) | Workload::InMemory(store) => {
                Nodes::Known(store.get(&ObjectKey::new("", node)))
            }
        },
        _ => Nodes::NotConnected,
    };
    Some(LabelSnapshot {
        metal3_machine,
        machine,
        cluster,
        metal3_cluster,
        nodes,
        answer: inputs.answer.cloned(),
        in_sync: inputs.in_sync,
        host,
    })
}
