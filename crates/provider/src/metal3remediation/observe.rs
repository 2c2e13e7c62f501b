//! What a decision about a Metal3Remediation needs to know.

use std::sync::Arc;

use capm3_api::{
    metadata::MetadataExt,
    neighbours::{BareMetalHost, CAPI_GROUP, Cluster, Machine, Node, WholeNode},
    v1beta2::{Metal3Machine, Metal3Remediation},
};
use capm3_domain::{host::annotated_host, remediation::Progress};
use capm3_engine::{Object, ObjectKey, Reader};
use serde_json::Value;

use crate::{
    indexes::HOSTS_BY_POWER_OFF,
    workload::{Remains, Workload},
};

/// A Metal3Remediation, and the objects from its Machine to its Node.
#[derive(Debug, Clone)]
pub struct RemediationSnapshot {
    /// The object itself.
    pub remediation: Arc<Metal3Remediation>,
    /// Name of the Machine that owns it.
    pub owner: Option<String>,
    /// That Machine.
    pub machine: Option<Arc<Machine>>,
    /// The Cluster of the Machine.
    pub cluster: Option<Arc<Cluster>>,
    /// The Metal3Machine that the Machine names.
    pub metal3_machine: Option<Arc<Metal3Machine>>,
    /// The host that the Metal3Machine has recorded.
    pub host: Option<Arc<BareMetalHost>>,
    /// Hosts that have the annotation of this remediation.
    pub powered_off: Vec<Arc<BareMetalHost>>,
    /// Name of the Node: what the Machine says, or what was recorded when the Node was changed.
    pub node_name: Option<String>,
    /// What is known of the Node.
    pub nodes: Nodes,
    /// What is left of the Node, if that is watched.
    pub(crate) remains: Remains,
    /// What was asked during this reconciliation.
    pub answers: Answers,
}

/// What is known of the Node of the Machine.
#[derive(Debug, Clone)]
pub enum Nodes {
    /// The Machine names none, and none was changed.
    NotNamed,
    /// Nobody asked for a connection to the workload cluster yet.
    NotConnected,
    /// The first list of Nodes has not arrived yet.
    Connecting,
    /// The workload cluster cannot be reached.
    Unreachable(String),
    /// The workload cluster does not let us read or change Nodes.
    Forbidden,
    /// The Node, if it is there.
    Known(Option<Arc<Node>>),
}

/// A Node of a workload cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadNode {
    /// The Cluster.
    pub cluster: ObjectKey,
    /// The Node.
    pub node: ObjectKey,
}

/// What was asked during a reconciliation.
#[derive(Debug, Clone, Default)]
pub struct Answers {
    /// Whether it is proven that the Machine is gone.
    pub is_machine_gone: bool,
    /// The Node as the workload cluster has it; none if it is gone.
    pub node: Option<(ReadNode, Option<WholeNode>)>,
    /// The version of the workload cluster; none if it cannot be read as numbers.
    pub version: Option<(ObjectKey, Option<(u32, u32)>)>,
    /// The Machine as the server has it.
    pub machine: Option<Value>,
}

/// What is known beside the objects in the reader.
pub(super) struct Inputs<'a> {
    /// What is known of a workload cluster.
    pub(super) workload: &'a dyn Fn(&ObjectKey) -> Workload,
    /// What is left of a Node.
    pub(super) remains: &'a dyn Fn(&ObjectKey, &str) -> Remains,
    /// Whether a write to a Node was forbidden before.
    pub(super) is_forbidden: bool,
    /// What was asked.
    pub(super) answers: &'a Answers,
}

/// Reads the snapshot; `None` when the object is gone.
pub fn observe(reader: &impl Reader, key: &ObjectKey) -> Option<RemediationSnapshot> {
    let inputs = Inputs {
        workload: &|_| Workload::Unknown,
        remains: &|_, _| Remains::NotListed,
        is_forbidden: false,
        answers: &Answers { is_machine_gone: reader.is_authoritative(), ..Answers::default() },
    };
    observe_with(reader, &inputs, key)
}

pub(super) fn observe_with(
    reader: &impl Reader,
    inputs: &Inputs<'_>,
    key: &ObjectKey,
) -> Option<RemediationSnapshot> {
    let remediation = reader.get::<Metal3Remediation>(key)?;
    let here = |name: &str| ObjectKey::new(&key.namespace, name);
    let owner = remediation.metadata.owner(CAPI_GROUP, "Machine").map(|owner| owner.name.clone());
    let machine = owner.as_deref().and_then(|owner| reader.get::<Machine>(&here(owner)));
    let cluster = machine.as_ref().map(|machine| here(&machine.spec.cluster_name));
    let infrastructure = machine.as_ref().and_then(|machine| machine.spec.infrastructure_ref.as_ref());
    let name = infrastructure.and_then(|it| it.name.as_deref());
    let metal3_machine = name.and_then(|name| reader.get::<Metal3Machine>(&here(name)));
    let recorded = metal3_machine.as_ref().and_then(|machine| annotated_host(machine).ok().flatten());
    let host = recorded.and_then(|name| reader.get::<BareMetalHost>(&here(name)));
    let Progress { power_off_annotation, node, .. } = Progress::of(&remediation);
    let power_off = format!("{}/{power_off_annotation}", key.namespace);
    let named = machine.as_ref().and_then(|machine| machine.node_name()).map(str::to_owned);
    let node_name = named.or(node);
    let (nodes, remains) = match (&cluster, node_name.as_deref()) {
        (Some(cluster), Some(node)) => (of_node(inputs, cluster, node), (inputs.remains)(cluster, node)),
        _ => (Nodes::NotNamed, Remains::NotListed),
    };
    Some(RemediationSnapshot {
        owner,
        cluster: cluster.and_then(|cluster| reader.get(&cluster)),
        machine,
        metal3_machine,
        host,
        powered_off: reader.by_index(&HOSTS_BY_POWER_OFF, &power_off),
        node_name,
        nodes,
        remains,
        answers: inputs.answers.clone(),
        remediation,
    })
}

fn of_node(inputs: &Inputs<'_>, cluster: &ObjectKey, node: &str) -> Nodes {
    if inputs.is_forbidden {
        return Nodes::Forbidden;
    }
    match (inputs.workload)(cluster) {
        Workload::Unknown => Nodes::NotConnected,
        Workload::Connecting => Nodes::Connecting,
        Workload::Unreachable { is_forbidden: true, .. } => Nodes::Forbidden,
        Workload::Unreachable { cause, .. } => Nodes::Unreachable(cause),
        Workload::Synced(store, _) | Workload::InMemory(store) => {
            Nodes::Known(store.get(&ObjectKey::new("", node)))
        }
    }
}

impl RemediationSnapshot {
    /// The key of the Cluster, which may not be there.
    pub(super) fn cluster_key(&self) -> Option<ObjectKey> {
        let machine = self.machine.as_ref()?;
        Some(ObjectKey::new(machine.metadata.namespace_str(), &machine.spec.cluster_name))
    }

    /// The Node to ask for.
    pub(super) fn node_to_read(&self) -> Option<ReadNode> {
        let node = ObjectKey::new("", self.node_name.as_ref()?);
        Some(ReadNode { cluster: self.cluster_key()?, node })
    }

    /// Key of the Machine that owns the object.
    pub(super) fn machine_key(&self) -> Option<ObjectKey> {
        let namespace = self.remediation.key().namespace;
        self.owner.as_ref().map(|owner| ObjectKey::new(namespace, owner))
    }
}
