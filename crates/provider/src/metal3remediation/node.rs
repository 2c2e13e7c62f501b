//! What a remediation does to the Node: the taint or the deletion, and back.

use std::sync::Arc;

use capm3_api::{
    metadata::MetadataExt,
    neighbours::{Node, WholeNode},
    vocabulary::event,
};
use capm3_domain::remediation::{NodeBackup, RemediationWait, has_taint, with_taint, without_taint};
use capm3_engine::{ObjectKey, ResourceKind, Write};
use jiff::SignedDuration;
use serde_json::{Map, Value, json};

use super::{Decision, Nodes, ReadNode, RemediationSnapshot, pass::Pass};
use crate::{node_of_host::is_on_another_host, plan::End};

/// What is known of the Node of a host.
pub(super) enum NodePart {
    /// The Machine has none.
    None,
    /// It may not be read or changed.
    Forbidden,
    /// The workload cluster cannot be reached.
    Unreachable(String),
    /// Its cluster is not connected yet.
    NotKnown(ObjectKey),
    /// There is none of that name on the host.
    Absent(String),
    /// It is there.
    There(Arc<Node>),
}

/// Looks for the Node. One of that name on another host is not touched.
pub(super) fn part(snapshot: &RemediationSnapshot) -> NodePart {
    let name = || snapshot.node_name.clone().unwrap_or_default();
    match (&snapshot.nodes, snapshot.cluster_key()) {
        (Nodes::NotNamed, _) | (_, None) => NodePart::None,
        (Nodes::Forbidden, _) => NodePart::Forbidden,
        (Nodes::Unreachable(cause), _) => NodePart::Unreachable(cause.clone()),
        (Nodes::NotConnected | Nodes::Connecting, Some(cluster)) => NodePart::NotKnown(cluster),
        (Nodes::Known(Some(node)), _)
            if !is_elsewhere(snapshot, node.spec.provider_id.as_deref()) && !is_read_as_gone(snapshot) =>
        {
            NodePart::There(Arc::clone(node))
        }
        (Nodes::Known(_), _) => NodePart::Absent(name()),
    }
}

/// Whether a Node runs on another host than that of the machine.
fn is_elsewhere(snapshot: &RemediationSnapshot, provider_id: Option<&str>) -> bool {
    match (&snapshot.host, &snapshot.metal3_machine) {
        (Some(host), Some(machine)) => is_on_another_host(provider_id, host, machine),
        _ => false,
    }
}

/// Whether the Node was read in this reconciliation.
pub(super) fn is_answered(snapshot: &RemediationSnapshot, question: &ReadNode) -> bool {
    snapshot.answers.node.as_ref().is_some_and(|(of, _)| of == question)
}

/// Whether it was read, and was not there or is one of another host.
fn is_read_as_gone(snapshot: &RemediationSnapshot) -> bool {
    match (&snapshot.answers.node, snapshot.node_to_read()) {
        (Some((of, read)), Some(question)) if *of == question => match read {
            Some(node) => is_elsewhere(snapshot, node.spec.provider_id.as_deref()),
            None => true,
        },
        _ => false,
    }
}

/// The Node as it was read, if it was.
pub(super) fn answer<'s>(snapshot: &'s RemediationSnapshot, question: &ReadNode) -> Option<&'s WholeNode> {
    let (of, node) = snapshot.answers.node.as_ref()?;
    node.as_ref().filter(|_| of == question)
}

/// Puts the taint on the Node, after it is recorded: a crash in between leaves a record that is taken back without harm.
pub(super) fn taint(mut pass: Pass<'_>, place: ReadNode, node: &WholeNode) -> Decision {
    pass.progress.tainted_node = Some(node.metadata.uid_str().to_owned());
    pass.progress.node = Some(node.metadata.name_str().to_owned());
    let taints = node.spec.taints.as_deref().unwrap_or_default();
    if !has_taint(taints) {
        let taints = with_taint(taints, &pass.now_text());
        pass.then.writes.push(guarded(place, node, json!({"spec": {"taints": taints}})));
        let message = format!("Node {} has the out-of-service taint", node.metadata.name_str());
        pass.event(false, event::NODE_TAINTED, message);
    }
    pass.finish(End::Again)
}

/// Whether the Node has the taint and that is recorded.
pub(super) fn is_tainted(pass: &Pass<'_>, node: &WholeNode) -> bool {
    has_taint(node.spec.taints.as_deref().unwrap_or_default())
        && pass.progress.tainted_node.as_deref() == Some(node.metadata.uid_str())
}

/// Deletes the Node, after its labels and annotations are kept.
pub(super) fn delete(
    mut pass: Pass<'_>,
    place: ReadNode,
    node: &WholeNode,
    rest: SignedDuration,
) -> Decision {
    NodeBackup::of_node(node).write_to(&mut pass.new);
    let (name, uid) = (node.metadata.name_str().to_owned(), node.metadata.uid_str().to_owned());
    pass.progress.node = Some(name.clone());
    let ReadNode { cluster, node: key } = place;
    pass.then.writes.push(Write::WorkloadDelete { cluster, kind: ResourceKind::of::<Node>(), key, uid });
    pass.event(false, event::NODE_DELETED, format!("Node {name} is deleted, so that its Pods run elsewhere"));
    pass.wait_at_most(RemediationWait::NodeDeletion(name), rest)
}

/// Takes the taint off the Node and gives it what it has lost. Only once that is written, the next pass forgets what was
/// kept. `Err` if the Node lacks nothing.
pub(super) fn restore(mut pass: Pass<'_>) -> Result<Decision, Box<Pass<'_>>> {
    let snapshot = pass.snapshot;
    let Some(place) = snapshot.node_to_read() else { return Err(Box::new(pass)) };
    let Some(node) = answer(snapshot, &place) else { return Err(Box::new(pass)) };
    let mut patch = Map::new();
    let taints = node.spec.taints.as_deref().unwrap_or_default();
    if has_taint(taints) {
        patch.insert("spec".to_owned(), json!({"taints": without_taint(taints)}));
    }
    let backup = NodeBackup::of_remediation(&pass.snapshot.remediation);
    let lost = backup.map(|backup| backup.lost_by(node)).unwrap_or_default();
    let mut metadata = Map::new();
    for (part, values) in [("labels", lost.labels), ("annotations", lost.annotations)] {
        if !values.is_empty() {
            metadata.insert(part.to_owned(), json!(values));
        }
    }
    if !metadata.is_empty() {
        patch.insert("metadata".to_owned(), Value::Object(metadata));
    }
    if patch.is_empty() {
        return Err(Box::new(pass));
    }
    pass.first.writes.push(guarded(place, node, Value::Object(patch)));
    // The object is written after the Node, in the same pass: the Node has everything then.
    Ok(pass.restored())
}

impl Pass<'_> {
    fn restored(mut self) -> Decision {
        self.event_node_restored();
        self.release();
        self.finish(End::Again)
    }

    /// An event that says what the Node has again. Whether its kubelet is back is another question.
    pub(super) fn event_node_restored(&mut self) {
        let node = self.snapshot.node_name.clone().unwrap_or_default();
        let message = match NodeBackup::of_remediation(&self.snapshot.remediation) {
            Some(_) => format!("Node {node} has its labels and annotations again"),
            None => format!("the out-of-service taint of Node {node} is removed"),
        };
        self.event(false, event::NODE_RESTORED, message);
    }
}

/// Writes only to the Node that was read: its version stands in the patch.
fn guarded(place: ReadNode, node: &WholeNode, mut patch: Value) -> Write {
    let version = json!({"metadata": {"resourceVersion": node.metadata.resource_version}});
    json_patch::merge(&mut patch, &version);
    let ReadNode { cluster, node: key } = place;
    Write::Workload { cluster, kind: ResourceKind::of::<Node>(), key, patch }
}
