//! What a Machine writes to the workload cluster: whose Node it is, and at the end that it goes.

use capm3_api::{metadata::MetadataExt, vocabulary::label};
use capm3_engine::Plan;
use k8s_openapi::api::core::v1::Node;

use super::{Snapshot, deletion};
use crate::{capi::is_paused, metadata::controller_of};

/// Domains of labels that a Machine passes on to its Node.
const PASSED_ON: [&str; 3] =
    ["node-role.kubernetes.io", "node-restriction.kubernetes.io", "node.cluster.x-k8s.io"];

pub(crate) fn decide(s: &Snapshot) -> Plan {
    let mut plan = Plan::done();
    let Some(node) = s.node.as_deref() else {
        return plan;
    };
    if is_paused(&s.machine.metadata, s.cluster.as_deref()) {
        return plan;
    }
    if s.machine.metadata.is_deleting() {
        if deletion::node_is_next(s) && !node.metadata.is_deleting() {
            plan.delete(node);
        }
        return plan;
    }
    if s.machine.node_name() == node.metadata.name.as_deref() {
        plan.update(node, &marked(s, node));
    }
    plan
}

fn marked(s: &Snapshot, node: &Node) -> Node {
    let machine = &s.machine.metadata;
    let mut new = node.clone();
    let annotations = new.metadata.annotations.get_or_insert_default();
    let mut mark = |key: &str, value: &str| {
        annotations.insert(format!("cluster.x-k8s.io/{key}"), value.to_owned());
    };
    mark("cluster-name", &s.machine.spec.cluster_name);
    mark("cluster-namespace", machine.namespace_str());
    mark("machine", machine.name_str());
    if let Some(owner) = controller_of(machine) {
        mark("owner-kind", &owner.kind);
        mark("owner-name", &owner.name);
    }
    let labels = new.metadata.labels.get_or_insert_default();
    let passed = |key: &str| {
        PASSED_ON
            .iter()
            .any(|d| key.split('/').next().is_some_and(|p| p == *d || p.ends_with(&format!(".{d}"))))
    };
    for (key, value) in machine.labels.iter().flatten().filter(|(key, _)| passed(key)) {
        labels.insert(key.clone(), value.clone());
    }
    if machine.label(label::CONTROL_PLANE).is_some() {
        labels.entry("node-role.kubernetes.io/control-plane".to_owned()).or_default();
    }
    new
}
