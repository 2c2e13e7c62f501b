//! Which Node is the machine's, and what has to be written where.
//!
//! A Node is known by its provider ID, by the uid of the host in a label, or by its host name, in this order. Only IDs
//! of the machine's own host are judged: what other Nodes of the cluster carry is no concern of this machine.

use std::fmt;

use capm3_api::{
    metadata::MetadataExt,
    neighbours::Node,
    vocabulary::label::{NODE_HOSTNAME, NODE_UUID},
};

use super::{ProviderId, SomeProviderId};

/// What is asked about the Node of a machine whose host is provisioned.
#[derive(Debug, Clone, Copy)]
pub struct NodeQuestion<'a> {
    /// `spec.providerID` of the Metal3Machine.
    pub machine_id: Option<&'a str>,
    /// The ID that machine and Node must have.
    pub expected: &'a ProviderId,
    /// Uid of the host.
    pub host_uid: &'a str,
    /// The uid in the machine's legacy ID, where no host has it any more: moved hosts have new ones, and Nodes run on.
    pub former_uid: Option<&'a str>,
    /// Host names of the machine, from its addresses.
    pub hostnames: &'a [String],
    /// Whether a cloud provider gives Nodes their IDs; then the Node is never written.
    pub cloud_provider: bool,
    /// Whether the Machine has a bootstrap object; then the Node is expected to carry the label.
    pub has_config_ref: bool,
}

/// The Nodes that matter to one question. An informer with indexes fills it directly; [`Nodes::among`] picks them
/// from a list.
#[derive(Debug, Clone, Default)]
pub struct Nodes<'a> {
    /// Nodes whose provider ID is of the machine's host.
    pub with_id_of_host: Vec<&'a Node>,
    /// Nodes labelled with the uid of the host.
    pub with_uuid: Vec<&'a Node>,
    /// Nodes labelled with a host name of the machine.
    pub with_hostname: Vec<&'a Node>,
}

impl<'a> Nodes<'a> {
    /// Picks the Nodes that matter from all Nodes of the cluster.
    pub fn among(question: &NodeQuestion<'_>, nodes: impl IntoIterator<Item = &'a Node>) -> Self {
        let mut found = Self::default();
        for node in nodes {
            if read(node).is_some_and(|id| is_of_host(question, &id)) {
                found.with_id_of_host.push(node);
            }
            if !question.host_uid.is_empty() && node.metadata.label(NODE_UUID) == Some(question.host_uid) {
                found.with_uuid.push(node);
            }
            let name = node.metadata.label(NODE_HOSTNAME);
            if name.is_some_and(|name| question.hostnames.iter().any(|own| own == name)) {
                found.with_hostname.push(node);
            }
        }
        found
    }
}

/// What to do about the Node of a machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NodeDecision {
    /// The Node is there and carries its ID: write `provider_id` to the machine if it differs; the machine is
    /// provisioned.
    Matched {
        /// Name of the Node.
        node: String,
        /// ID for the machine.
        provider_id: String,
    },
    /// The Node is there without an ID: write `provider_id` to machine and Node; the machine is provisioned.
    Adopt {
        /// Name of the Node.
        node: String,
        /// ID for machine and Node.
        provider_id: String,
    },
    /// Write `provider_id` to the machine, which is provisioned, and wait for a Node with its host name.
    ProvisionedWithoutNode {
        /// ID for the machine.
        provider_id: String,
        /// What the Node is awaited for.
        wait: NodeWait,
    },
    /// Nothing to write yet.
    Wait(NodeWait),
    /// Somebody has to put this right.
    Conflict(NodeConflict),
}

/// What is awaited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NodeWait {
    /// A Node with the expected ID, given by a cloud provider.
    CloudProvider(String),
    /// A Node labelled with the uid of the host.
    Label(String),
    /// A Node with one of these host names.
    Hostname(Vec<String>),
    /// Several Nodes have the host name; their names.
    OneOfSeveral(Vec<String>),
    /// Several Nodes carry IDs of this host; their names.
    OneIdOfHost(Vec<String>),
    /// The host reports no host name.
    NoHostname,
}

impl fmt::Display for NodeWait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CloudProvider(id) => {
                write!(f, "waiting for the cloud provider to give a Node the provider ID {id}")
            }
            Self::Label(uid) => write!(f, "waiting for a Node with the label {NODE_UUID}={uid}"),
            Self::Hostname(names) => {
                write!(f, "waiting for a Node with the host name {}", names.join(" or "))
            }
            Self::OneOfSeveral(nodes) => {
                write!(f, "several Nodes have the host name of this machine: {}", nodes.join(", "))
            }
            Self::OneIdOfHost(nodes) => {
                write!(f, "several Nodes carry a provider ID of this host: {}", nodes.join(", "))
            }
            Self::NoHostname => f.write_str("the host reports no host name by which its Node could be found"),
        }
    }
}

/// What somebody has to put right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NodeConflict {
    /// The Node of this host carries another ID, which cannot be changed any more.
    OtherId {
        /// Name of the Node.
        node: String,
        /// The ID on it.
        found: String,
        /// The ID that it must have.
        expected: String,
    },
    /// Several Nodes are labelled with the uid of the host; their names.
    SeveralWithLabel(Vec<String>),
}

impl fmt::Display for NodeConflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OtherId { node, found, expected } => {
                write!(f, "Node {node} has the provider ID {found}, expected {expected}")
            }
            Self::SeveralWithLabel(nodes) => {
                write!(f, "several Nodes are labelled with the uid of this host: {}", nodes.join(", "))
            }
        }
    }
}

/// Decides about the Node of a machine whose host is provisioned.
///
/// | Node with the expected ID | cloud provider | Nodes with the label | bootstrap object | decision |
/// |---|---|---|---|---|
/// | one | any | any | any | matched |
/// | none | yes | any | any | wait |
/// | none | no | one, no ID | any | adopt |
/// | none | no | one, other ID | any | conflict |
/// | none | no | several | any | conflict |
/// | none | no | none | yes | wait |
/// | none | no | none | no | provisioned; by host name adopt, or wait |
///
/// ```
/// use capm3_domain::provider_id::{NodeDecision, NodeQuestion, Nodes, ProviderId, decide_node};
///
/// let expected = ProviderId::new("ns", "h", "m");
/// let question = NodeQuestion {
///     machine_id: None, expected: &expected, host_uid: "uid-h", hostnames: &[], cloud_provider: false, has_config_ref: true,
///     former_uid: None,
/// };
/// let node = serde_json::from_str(r#"{"metadata": {"name": "n", "labels": {"metal3.io/uuid": "uid-h"}}}"#).unwrap();
/// let decision = decide_node(&question, &Nodes::among(&question, [&node]));
/// assert_eq!(decision, NodeDecision::Adopt { node: "n".into(), provider_id: "metal3://ns/h/m".into() });
/// ```
pub fn decide_node(question: &NodeQuestion<'_>, nodes: &Nodes<'_>) -> NodeDecision {
    let by_id = by_id(question, nodes);
    if let ById::One(decision) = by_id {
        return decision;
    }
    if question.cloud_provider {
        return NodeDecision::Wait(match by_id {
            ById::Several(names) => NodeWait::OneIdOfHost(names),
            _ => NodeWait::CloudProvider(question.expected.to_string()),
        });
    }
    match nodes.with_uuid.as_slice() {
        [node] => by_label(question, node),
        [] if question.has_config_ref => NodeDecision::Wait(match by_id {
            ById::Several(names) => NodeWait::OneIdOfHost(names),
            _ => NodeWait::Label(question.host_uid.to_owned()),
        }),
        [] => by_hostname(question, &nodes.with_hostname),
        several => NodeDecision::Conflict(NodeConflict::SeveralWithLabel(names(several))),
    }
}

/// What the IDs of the host say.
enum ById {
    One(NodeDecision),
    Several(Vec<String>),
    None,
}

/// One Node with the machine's ID, and no other Node that claims the same host.
fn by_id(question: &NodeQuestion<'_>, nodes: &Nodes<'_>) -> ById {
    match nodes.with_id_of_host.as_slice() {
        [node] if is_accepted(question, node) => ById::One(matched(node)),
        [] | [_] => ById::None,
        several => ById::Several(names(several)),
    }
}

fn by_label(question: &NodeQuestion<'_>, node: &Node) -> NodeDecision {
    match read(node) {
        None => adopt(question, node),
        Some(_) if is_accepted(question, node) => matched(node),
        Some(found) => other_id(question, node, &found),
    }
}

/// The last resort: the machine counts as provisioned without a Node, which may join much later.
fn by_hostname(question: &NodeQuestion<'_>, nodes: &[&Node]) -> NodeDecision {
    let wait = match nodes {
        [node] => return by_label(question, node),
        _ if question.hostnames.is_empty() => NodeWait::NoHostname,
        [] => NodeWait::Hostname(question.hostnames.to_vec()),
        several => NodeWait::OneOfSeveral(names(several)),
    };
    NodeDecision::ProvisionedWithoutNode { provider_id: machine_id(question), wait }
}

/// Whether the Node carries what the machine expects. The legacy form counts only for a machine that has it too:
/// written to a machine it never is.
fn is_accepted(question: &NodeQuestion<'_>, node: &Node) -> bool {
    match read(node) {
        Some(SomeProviderId::Current(id)) => id == *question.expected,
        Some(legacy @ SomeProviderId::Legacy { .. }) => {
            is_of_host(question, &legacy) && question.machine_id == node.spec.provider_id.as_deref()
        }
        _ => false,
    }
}

/// Whether an ID is of the host, as it is or as it was before it was moved.
fn is_of_host(question: &NodeQuestion<'_>, id: &SomeProviderId) -> bool {
    let is_former = |former| matches!(id, SomeProviderId::Legacy { host_uid } if host_uid == former);
    id.is_of_host(question.expected, question.host_uid) || question.former_uid.is_some_and(is_former)
}

fn matched(node: &Node) -> NodeDecision {
    NodeDecision::Matched {
        node: node.metadata.name_str().to_owned(),
        provider_id: node.spec.provider_id.clone().unwrap_or_default(),
    }
}

fn adopt(question: &NodeQuestion<'_>, node: &Node) -> NodeDecision {
    NodeDecision::Adopt {
        node: node.metadata.name_str().to_owned(),
        provider_id: question.expected.to_string(),
    }
}

fn other_id(question: &NodeQuestion<'_>, node: &Node, found: &SomeProviderId) -> NodeDecision {
    NodeDecision::Conflict(NodeConflict::OtherId {
        node: node.metadata.name_str().to_owned(),
        found: found.to_string(),
        expected: question.expected.to_string(),
    })
}

/// The ID for a machine without a Node: one that it has stays, since others may have copied it.
fn machine_id(question: &NodeQuestion<'_>) -> String {
    let held = question.machine_id.filter(|id| !id.is_empty());
    held.map_or_else(|| question.expected.to_string(), str::to_owned)
}

fn read(node: &Node) -> Option<SomeProviderId> {
    let text = node.spec.provider_id.as_deref().filter(|text| !text.is_empty())?;
    text.parse().ok()
}

fn names(nodes: &[&Node]) -> Vec<String> {
    let mut names: Vec<String> = nodes.iter().map(|node| node.metadata.name_str().to_owned()).collect();
    names.sort();
    names
}

#[cfg(test)]
#[path = "node_tests.rs"]
mod tests;
