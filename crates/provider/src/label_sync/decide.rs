//! What to do about the labels of one host and its Node.

use std::collections::BTreeMap;

use capm3_api::{
    metadata::MetadataExt,
    neighbours::{BareMetalHost, Cluster, Machine, Node, WholeNode, digest_of_labels},
    v1beta2::{Metal3Cluster, Metal3Machine},
    vocabulary::{annotation, condition, event},
};
use capm3_domain::{
    host::domain_of,
    label_sync::{DesiredLabels, LabelPatch, NodeLabels, Settings},
    wait::{Pause, Text, Wait},
};
use capm3_engine::{EventNote, Next, Object, ObjectKey, ResourceKind, Write};
use serde_json::{Map, Value, json};

use super::{LabelSnapshot, Nodes};
use crate::{node_of_host::is_on_another_host, plan::Plan};

/// A Node as a decision left it: as long as neither it nor what is desired changes, it need not be read again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InSync {
    /// Uid of the Node.
    pub uid: String,
    /// Its digest of labels.
    pub digest: u64,
    /// What it gets from its host.
    pub desired: DesiredLabels,
}

/// The Node that must be read before anything is decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadNode {
    /// The Cluster.
    pub cluster: ObjectKey,
    /// The Node.
    pub node: ObjectKey,
}

/// A Node as it was read.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// What was asked.
    pub question: ReadNode,
    /// The Node with all of its labels; none if it is gone.
    pub node: Option<WholeNode>,
}

/// What a pass comes to.
#[derive(Debug, Clone, PartialEq)]
pub struct Decision {
    /// A question or a plan.
    pub next: Next<ReadNode, Wait>,
    /// The workload cluster to connect to.
    pub connect: Option<ObjectKey>,
    /// The Node as the plan leaves it, or as an earlier decision did.
    pub in_sync: Option<InSync>,
}

impl Decision {
    fn plan(plan: Plan) -> Self {
        Self { next: Next::Act(plan), connect: None, in_sync: None }
    }

    /// What was known of the Node stays known: it is compared with the Node when the wait is over.
    fn wait(snapshot: &LabelSnapshot, wait: Wait) -> Self {
        Self { in_sync: snapshot.in_sync.clone(), ..Self::plan(Plan::wait_for(wait)) }
    }
}

/// The objects that lead from a host to its Node.
struct Chain<'s> {
    host: &'s BareMetalHost,
    metal3_machine: &'s Metal3Machine,
    machine: &'s Machine,
    cluster: &'s Cluster,
    metal3_cluster: &'s Metal3Cluster,
}

impl<'s> Chain<'s> {
    /// None while nobody uses the host, or something of the chain is missing or being deleted: its change brings the host
    /// back.
    fn of(snapshot: &'s LabelSnapshot) -> Option<Self> {
        let chain = Self {
            host: &snapshot.host,
            metal3_machine: snapshot.metal3_machine.as_deref()?,
            machine: snapshot.machine.as_deref()?,
            cluster: snapshot.cluster.as_deref()?,
            metal3_cluster: snapshot.metal3_cluster.as_deref()?,
        };
        let all = [
            &chain.host.metadata,
            &chain.metal3_machine.metadata,
            &chain.machine.metadata,
            &chain.cluster.metadata,
        ];
        all.iter().all(|metadata| !metadata.is_deleting()).then_some(chain)
    }

    fn pause(&self) -> Option<Pause> {
        let is_paused = self.cluster.is_paused();
        let annotated = [
            ("Metal3Cluster", &self.metal3_cluster.metadata),
            ("Metal3Machine", &self.metal3_machine.metadata),
            ("BareMetalHost", &self.host.metadata),
        ];
        let annotated = annotated.iter().find(|(_, it)| it.annotation(annotation::PAUSED).is_some());
        Pause::of(annotated.map_or("", |(kind, _)| kind), annotated.is_some(), is_paused)
    }

    fn is_on_another_host(&self, node: &Node) -> bool {
        is_on_another_host(node.spec.provider_id.as_deref(), self.host, self.metal3_machine)
    }

    /// Where the host stands: by its own label, else where its Machine should be.
    fn zone(&self) -> Option<&str> {
        domain_of(self.host).or(self.machine.spec.failure_domain.as_deref())
    }
}

/// Decides about the labels of one Node.
pub fn decide(snapshot: &LabelSnapshot) -> Decision {
    let Some(chain) = Chain::of(snapshot) else { return Decision::plan(Plan::done()) };
    if !may_have_labels(chain.metal3_cluster, &snapshot.nodes) {
        return Decision::plan(Plan::done());
    }
    // Who pauses a host wants it left alone, and what runs on it.
    if chain.host.metadata.annotation(annotation::HOST_PAUSED).is_some() {
        return Decision { in_sync: snapshot.in_sync.clone(), ..Decision::plan(Plan::done()) };
    }
    if let Some(pause) = chain.pause() {
        return Decision::wait(snapshot, Wait::Paused(pause));
    }
    match Settings::of(chain.metal3_cluster) {
        Ok(settings) => sync(snapshot, &chain, settings),
        Err(error) => Decision::wait(snapshot, Wait::LabelSync(error)),
    }
}

fn sync(snapshot: &LabelSnapshot, chain: &Chain<'_>, settings: Settings) -> Decision {
    let machine = chain.machine.metadata.name_str().to_owned();
    let Some(name) = chain.machine.node_name() else {
        return Decision::wait(snapshot, Wait::NodeToLabel { machine, node: None });
    };
    let cluster = chain.cluster.key();
    let desired = DesiredLabels::new(settings, chain.host.metadata.labels.as_ref(), chain.zone());
    let no_node = || Decision::wait(snapshot, Wait::NodeToLabel { machine, node: Some(name.to_owned()) });
    match &snapshot.nodes {
        Nodes::NotConnected | Nodes::Connecting => {
            let wait = Decision::wait(snapshot, Wait::Nodes(cluster.name.clone()));
            Decision { connect: Some(cluster), ..wait }
        }
        Nodes::Unreachable(cause) => {
            let wait = Wait::WorkloadCluster { cluster: cluster.name, cause: Text::new(cause) };
            Decision::wait(snapshot, wait)
        }
        Nodes::Known(None) => no_node(),
        Nodes::Known(Some(node)) if chain.is_on_another_host(node) => no_node(),
        Nodes::Known(Some(node)) if is_settled(node, &desired, snapshot.in_sync.as_ref()) => {
            Decision { in_sync: snapshot.in_sync.clone(), ..Decision::plan(Plan::done()) }
        }
        Nodes::Known(Some(_)) => {
            let question = ReadNode { cluster, node: ObjectKey::new("", name) };
            // The Machine may have got another Node while the former one was read.
            match snapshot.answer.as_ref().filter(|answer| answer.question == question) {
                None => Decision { next: Next::Ask(question), connect: None, in_sync: None },
                Some(Answer { node: None, .. }) => no_node(),
                Some(Answer { node: Some(node), .. }) => correct(chain.host, question.cluster, node, desired),
            }
        }
    }
}

/// Whether Nodes of a cluster get labels, or may still have some: the record on the Node shows it, where it is known. The
/// condition remembers it while no Node is known.
fn may_have_labels(cluster: &Metal3Cluster, nodes: &Nodes) -> bool {
    let remembers = cluster.status.conditions.iter().any(|c| c.type_ == condition::LABEL_SYNC_ACTIVE);
    let is_recorded = matches!(nodes, Nodes::Known(Some(node)) if node.has_sync_record);
    Settings::is_requested(cluster) || remembers || is_recorded
}

/// Whether a Node is as an earlier decision left it, or being deleted.
fn is_settled(node: &Node, desired: &DesiredLabels, in_sync: Option<&InSync>) -> bool {
    let is_same = |known: &InSync| {
        known.digest == node.labels_digest
            && known.uid == node.metadata.uid_str()
            && known.desired == *desired
    };
    node.metadata.is_deleting() || in_sync.is_some_and(is_same)
}

/// Writes what differs, only to the Node that was read: its version stands in the patch.
fn correct(host: &BareMetalHost, cluster: ObjectKey, node: &WholeNode, desired: DesiredLabels) -> Decision {
    let none = BTreeMap::new();
    let labels = node.metadata.labels.as_ref().unwrap_or(&none);
    let annotation = |key: &str| node.metadata.annotation(key);
    let (record, from_machine) =
        (annotation(annotation::SYNCED_LABELS), annotation(annotation::LABELS_FROM_MACHINE));
    let changes = desired.correct(&NodeLabels { labels, record, from_machine });
    let digest = digest_of_labels(&changes.apply_to(labels), changes.record.as_deref());
    let in_sync = InSync { uid: node.metadata.uid_str().to_owned(), digest, desired };
    let mut plan = Plan::done();
    if !changes.is_empty() {
        let mut patch = json!({"metadata": {"resourceVersion": node.metadata.resource_version}});
        let mut put = |part: &str, value: Map<String, Value>| {
            if let (false, Some(metadata)) = (value.is_empty(), patch.pointer_mut("/metadata")) {
                metadata[part] = Value::Object(value);
            }
        };
        put("labels", changes.labels.iter().map(|(key, value)| (key.clone(), json!(value))).collect());
        let record =
            changes.is_new_record.then(|| (annotation::SYNCED_LABELS.to_owned(), json!(changes.record)));
        put("annotations", record.into_iter().collect());
        let (kind, key) = (ResourceKind::of::<Node>(), node.key());
        plan.writes.push(Write::Workload { cluster: cluster.clone(), kind, key, patch });
        let message = format!("Node {}: {}", node.metadata.name_str(), summary(&changes));
        let note = EventNote::normal(host, event::LABELS_SYNCED, message).only_logged();
        plan.event(note.about(cluster.to_string(), host.metadata.name_str()));
    }
    Decision { in_sync: Some(in_sync), ..Decision::plan(plan) }
}

/// What changes, for the log.
fn summary(changes: &LabelPatch) -> String {
    let (set, removed): (Vec<_>, Vec<_>) = changes.labels.iter().partition(|(_, value)| value.is_some());
    let keys = |labels: Vec<(&String, &Option<String>)>| {
        labels.into_iter().map(|(key, _)| key.as_str()).collect::<Vec<_>>().join(", ")
    };
    let parts = [("sets labels ", keys(set)), ("removes labels ", keys(removed))];
    let parts = parts.into_iter().filter(|(_, keys)| !keys.is_empty());
    let parts: Vec<String> = parts.map(|(what, keys)| format!("{what}{keys}")).collect();
    if parts.is_empty() { "records its labels".to_owned() } else { parts.join("; ") }
}
