//! What is known of the Nodes that may be a machine's.

use std::sync::Arc;

use capm3_api::{
    metadata::MetadataExt,
    neighbours::{BareMetalHost, Machine, Node},
    v1beta2::{Initialization, Metal3Machine},
    vocabulary::{host_state, label},
};
use capm3_domain::host::known_host_uid;
use capm3_engine::{ObjectKey, Reader};

use crate::{
    indexes::HOSTS_BY_UID,
    workload::{NODES_BY_HOST, NODES_BY_HOSTNAME, NODES_BY_UUID, Workload},
};

/// What is known of the Nodes that may be this machine's.
#[derive(Debug, Clone, Default)]
pub enum Nodes {
    /// The host is not provisioned yet, or the Node is known already.
    #[default]
    NotNeeded,
    /// No connection to the workload cluster was asked for yet.
    NotConnected,
    /// The first list of Nodes has not arrived yet.
    Connecting,
    /// The workload cluster cannot be reached.
    Unreachable(String),
    /// The Nodes that may be this machine's.
    Known(NodeCandidates),
}

/// Nodes that may be a machine's, by how they were found.
#[derive(Debug, Clone, Default)]
pub struct NodeCandidates {
    /// By a provider ID of the host.
    pub with_id_of_host: Vec<Arc<Node>>,
    /// The uid in the machine's legacy provider ID, where no host has it any more.
    pub former_uid: Option<String>,
    /// By the label `metal3.io/uuid`.
    pub with_uuid: Vec<Arc<Node>>,
    /// By the label `kubernetes.io/hostname`.
    pub with_hostname: Vec<Arc<Node>>,
    /// Whether the machine had its Node before: it is looked for only because the one of that name has no provider ID.
    pub is_registered_again: bool,
}

/// The host names of a machine.
pub(super) fn hostnames(machine: &Metal3Machine) -> Vec<String> {
    let names = machine.status.addresses.iter().filter(|a| a.type_ == "Hostname");
    names.map(|a| a.address.clone()).collect()
}

/// Key of the workload cluster of a machine.
pub(crate) fn cluster_key(machine: &Metal3Machine) -> Option<ObjectKey> {
    let name = machine.metadata.label(label::CLUSTER_NAME)?;
    Some(ObjectKey::new(machine.metadata.namespace_str(), name))
}

/// Finds the Nodes, once the host is provisioned and while the Node of the machine is not known.
pub(super) fn observe_nodes(
    reader: &impl Reader,
    metal3_machine: &Metal3Machine,
    host: Option<&BareMetalHost>,
    machine: Option<&Machine>,
    workload: &dyn Fn(&ObjectKey) -> Workload,
) -> Nodes {
    let is_provisioned = host.is_some_and(|h| h.state() == host_state::PROVISIONED);
    let (Some(host), Some(cluster), true) = (host, cluster_key(metal3_machine), is_provisioned) else {
        return Nodes::NotNeeded;
    };
    // A status that was lost is found again at the Node.
    let is_finished = metal3_machine.spec.provider_id.is_some()
        && Initialization::is_provisioned(&metal3_machine.status.initialization)
        && machine.and_then(Machine::node_name).is_some();
    if metal3_machine.metadata.is_deleting() {
        return Nodes::NotNeeded;
    }
    let workload = workload(&cluster);
    // A Node that was deleted and registers again, as during a remediation, has no provider ID unless its kubelet is given one.
    let lacks_id = |node: &Arc<Node>| node.spec.provider_id.as_deref().is_none_or(str::is_empty);
    let is_registered_again = is_finished
        && matches!((&workload, machine.and_then(Machine::node_name)), (Workload::Synced(store, _), Some(name))
            if store.get(&ObjectKey::new("", name)).is_some_and(|node| lacks_id(&node)));
    if is_finished && !is_registered_again {
        return Nodes::NotNeeded;
    }
    match workload {
        Workload::Unknown => Nodes::NotConnected,
        Workload::Connecting => Nodes::Connecting,
        Workload::Unreachable { cause, .. } => Nodes::Unreachable(cause),
        Workload::Synced(store, _) | Workload::InMemory(store) => {
            let host_key = format!("{}/{}", host.metadata.namespace_str(), host.metadata.name_str());
            let uid = host.metadata.uid_str();
            let mut with_id_of_host = store.by_index(&NODES_BY_HOST, &host_key);
            with_id_of_host.extend(store.by_index(&NODES_BY_HOST, uid));
            // After a move the host has another uid than the legacy ID that machine and Node have in common.
            let former_uid = known_host_uid(metal3_machine)
                .filter(|former| former != uid && reader.count(&HOSTS_BY_UID, former) == 0);
            let of_former = former_uid.iter().flat_map(|former| store.by_index(&NODES_BY_HOST, former));
            with_id_of_host.extend(of_former);
            let names = hostnames(metal3_machine);
            Nodes::Known(NodeCandidates {
                with_id_of_host,
                former_uid,
                with_uuid: store.by_index(&NODES_BY_UUID, uid),
                with_hostname: names.iter().flat_map(|n| store.by_index(&NODES_BY_HOSTNAME, n)).collect(),
                is_registered_again,
            })
        }
    }
}
