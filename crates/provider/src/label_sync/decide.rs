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
    label_sync::{Correction, Goal, Settings},
    wait::{Pause, Text, Wait},
};
use capm3_engine::{EventNote, Next, Object, ObjectKey, ResourceKind, Write};
use serde_json::{Map, Value, json};

use super::{LabelSnapshot, Nodes};
use crate::plan::Plan;

/// A Node as a decision left it: as long as neither it nor the goal changes, it need not be read again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InSync {
    /// Uid of the Node.
    pub uid: String,
    /// Its digest of labels.
    pub digest: u64,
    /// What it gets from its host.
    pub goal: Goal,
}

/// The Node that must be read before anything is decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadNode {
    /// The Cluster.
    pub cluster: ObjectKey,
    /// The Node.
    pub node: ObjectKey,
}

/// What a pass comes to.
#[derive(Debug, Clone, PartialEq)]
pub struct Decision {
    /// A question or a plan.
    pub next: Next<ReadNode, Wait>,
    /// The workload cluster to connect to.
    pub connect: Option<ObjectKey>,
    /// The Node as the plan leaves it.
    pub in_sync: Option<InSync>,
}

impl Decision {
    fn plan(plan: Plan) -> Self {
        Self { next: Next::Act(plan), connect: None, in_sync: None }
    }

    fn wait(wait: Wait) -> Self {
        Self::plan(Plan::wait_for(wait))
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
    /// None while nobody uses the host, or something of the chain is missing or on its way out: its change brings the host
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

    /// Where the host stands: by its own label, else where its Machine should be.
    fn zone(&self) -> Option<&str> {
        domain_of(self.host).or(self.machine.spec.failure_domain.as_deref())
    }
}

/// Decides about the labels of one Node.
pub fn decide(snapshot: &LabelSnapshot) -> Decision {
    let Some(chain) = Chain::of(snapshot) else { return Decision::plan(Plan::done()) };
    if let Some(pause) = chain.pause() {
        return Decision::wait(Wait::Paused(pause));
    }
    // Who pauses a host wants it left alone, and what runs on it.
    let is_host_paused = chain.host.metadata.annotation(annotation::HOST_PAUSED).is_some();
    if is_host_paused || !may_have_labels(chain.metal3_cluster) {
        return Decision::plan(Plan::done());
    }
    let settings = match Settings::of(chain.metal3_cluster) {
        Ok(settings) => settings,
        Err(error) => return Decision::wait(Wait::LabelSync(error)),
    };
    let machine = chain.machine.metadata.name_str().to_owned();
    let Some(name) = chain.machine.node_name() else {
        return Decision::wait(Wait::NodeToLabel { machine, node: None });
    };
    let cluster = chain.cluster.key();
    let goal = Goal::new(settings, chain.host.metadata.labels.as_ref(), chain.zone());
    let no_node = || Decision::wait(Wait::NodeToLabel { machine, node: Some(name.to_owned()) });
    match &snapshot.nodes {
        Nodes::NotConnected | Nodes::Connecting => {
            let wait = Decision::wait(Wait::Nodes(cluster.name.clone()));
            Decision { connect: Some(cluster), ..wait }
        }
        Nodes::Unreachable(cause) => {
            Decision::wait(Wait::WorkloadCluster { cluster: cluster.name, cause: Text::new(cause) })
        }
        Nodes::Known(None) => no_node(),
        Nodes::Known(Some(node)) if is_settled(node, &goal, snapshot.in_sync.as_ref()) => {
            Decision { in_sync: snapshot.in_sync.clone(), ..Decision::plan(Plan::done()) }
        }
        Nodes::Known(Some(_)) => match &snapshot.whole_node {
            None => {
                let question = ReadNode { cluster, node: ObjectKey::new("", name) };
                Decision { next: Next::Ask(question), connect: None, in_sync: None }
            }
            Some(None) => no_node(),
            Some(Some(node)) => correct(chain.host, cluster, node, goal),
        },
    }
}

/// Whether Nodes of a cluster get labels, or may still have some: the condition remembers that they did.
fn may_have_labels(cluster: &Metal3Cluster) -> bool {
    let remembers = cluster.status.conditions.iter().any(|c| c.type_ == condition::LABEL_SYNC_ACTIVE);
    Settings::is_given(cluster) || remembers
}

/// Whether a Node is as an earlier decision left it, or on its way out.
fn is_settled(node: &Node, goal: &Goal, in_sync: Option<&InSync>) -> bool {
    let is_same = |known: &InSync| {
        known.digest == node.labels_digest && known.uid == node.metadata.uid_str() && known.goal == *goal
    };
    node.metadata.is_deleting() || in_sync.is_some_and(is_same)
}

/// Writes what differs, only to the Node that was read: its version stands in the patch.
fn correct(host: &BareMetalHost, cluster: ObjectKey, node: &WholeNode, goal: Goal) -> Decision {
    let none = BTreeMap::new();
    let labels = node.metadata.labels.as_ref().unwrap_or(&none);
    let record = node.metadata.annotation(annotation::SYNCED_LABELS);
    let correction = goal.correct(labels, record);
    let digest = digest_of_labels(&correction.apply_to(labels), correction.record.as_deref());
    let in_sync = InSync { uid: node.metadata.uid_str().to_owned(), digest, goal };
    let mut plan = Plan::done();
    if !correction.is_empty() {
        let mut patch = json!({"metadata": {"resourceVersion": node.metadata.resource_version}});
        let mut put = |part: &str, value: Map<String, Value>| {
            if let (false, Some(metadata)) = (value.is_empty(), patch.pointer_mut("/metadata")) {
                metadata[part] = Value::Object(value);
            }
        };
        put("labels", correction.labels.iter().map(|(key, value)| (key.clone(), json!(value))).collect());
        let record = correction
            .is_new_record
            .then(|| (annotation::SYNCED_LABELS.to_owned(), json!(correction.record)));
        put("annotations", record.into_iter().collect());
        let (kind, key) = (ResourceKind::of::<Node>(), node.key());
        plan.writes.push(Write::Workload { cluster: cluster.clone(), kind, key, patch });
        let message = format!("Node {}: {}", node.metadata.name_str(), told(&correction));
        let note = EventNote::normal(host, event::LABELS_SYNCED, message).only_logged();
        plan.event(note.about(cluster.to_string(), host.metadata.name_str()));
    }
    Decision { in_sync: Some(in_sync), ..Decision::plan(plan) }
}

/// What changes, for the log.
fn told(correction: &Correction) -> String {
    let (set, removed): (Vec<_>, Vec<_>) = correction.labels.iter().partition(|(_, value)| value.is_some());
    let keys = |labels: Vec<(&String, &Option<String>)>| {
        labels.into_iter().map(|(key, _)| key.as_str()).collect::<Vec<_>>().join(", ")
    };
    let parts = [("sets labels ", keys(set)), ("removes labels ", keys(removed))];
    let parts = parts.into_iter().filter(|(_, keys)| !keys.is_empty());
    let parts: Vec<String> = parts.map(|(what, keys)| format!("{what}{keys}")).collect();
    if parts.is_empty() { "records its labels".to_owned() } else { parts.join("; ") }
}
