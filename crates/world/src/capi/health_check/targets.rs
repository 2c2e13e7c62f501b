//! The Machines that a health check looks at: those of its cluster that its selector names and that nobody exempts.

use std::{collections::BTreeMap, sync::Arc};

use capm3_api::{metadata::MetadataExt, vocabulary::annotation};
use capm3_engine::{Object, Reader};
use k8s_openapi::{
    api::core::v1::Node,
    apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement},
};

use crate::{
    indexes::MACHINES_BY_CLUSTER,
    kinds::{Machine, MachineHealthCheck, Metal3Remediation},
    metadata::path,
};

/// Annotation of a Machine that no health check looks at.
const SKIP_REMEDIATION: &str = "cluster.x-k8s.io/skip-remediation";

/// A Machine and what is known of its Node.
pub(super) struct Target {
    pub(super) machine: Arc<Machine>,
    pub(super) node: Seen,
    pub(super) remediation: Option<Arc<Metal3Remediation>>,
}

/// What is known of the Node of a Machine.
pub(super) enum Seen {
    /// The Machine never had one, or its cluster cannot be reached yet.
    Never,
    /// The Machine had one that is not there any more.
    Gone,
    There(Arc<Node>),
}

/// The Machines by name. `node` finds a Node by its name; it gives nothing at all where Nodes cannot be looked at.
pub(super) fn targets(
    reader: &impl Reader,
    check: &MachineHealthCheck,
    node: impl Fn(&str) -> Option<Option<Arc<Node>>>,
) -> Vec<Target> {
    let value = path(check.metadata.namespace_str(), &check.spec.cluster_name);
    let machines = reader.by_index(&MACHINES_BY_CLUSTER, &value).into_iter();
    let looked_at = machines.filter(|machine| selects(&check.spec.selector, machine) && !is_exempt(machine));
    let target = |machine: Arc<Machine>| Target {
        node: match machine.node_name().and_then(&node) {
            None => Seen::Never,
            Some(None) => Seen::Gone,
            Some(Some(node)) => Seen::There(node),
        },
        remediation: reader.get(&machine.key()),
        machine,
    };
    looked_at.map(target).collect()
}

fn is_exempt(machine: &Machine) -> bool {
    [annotation::PAUSED, SKIP_REMEDIATION].iter().any(|key| machine.metadata.annotation(key).is_some())
}

/// Whether every requirement of a selector holds; an empty selector names every Machine.
fn selects(selector: &LabelSelector, machine: &Machine) -> bool {
    let none = BTreeMap::new();
    let labels = machine.metadata.labels.as_ref().unwrap_or(&none);
    selector.match_labels.iter().flatten().all(|(key, value)| labels.get(key) == Some(value))
        && selector.match_expressions.iter().flatten().all(|requirement| holds(requirement, labels))
}

fn holds(requirement: &LabelSelectorRequirement, labels: &BTreeMap<String, String>) -> bool {
    let value = labels.get(&requirement.key);
    let is_listed = || requirement.values.iter().flatten().any(|listed| Some(listed) == value);
    match requirement.operator.as_str() {
        "In" => is_listed(),
        "NotIn" => !is_listed(),
        "Exists" => value.is_some(),
        "DoesNotExist" => value.is_none(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn machine(labels: &Value) -> Machine {
        serde_json::from_value(json!({"metadata": {"name": "m", "labels": labels}})).unwrap()
    }

    #[test]
    fn a_selector_names_machines_by_labels_and_expressions() {
        let expression = |operator: &str, values: Value| json!({"matchExpressions": [{"key": "pool", "operator": operator, "values": values}]});
        let rows = [
            (json!({}), json!({}), true),
            (json!({"matchLabels": {"pool": "a"}}), json!({"pool": "a"}), true),
            (json!({"matchLabels": {"pool": "a"}}), json!({"pool": "b"}), false),
            (json!({"matchLabels": {"pool": "a", "x": "y"}}), json!({"pool": "a"}), false),
            (expression("In", json!(["a", "b"])), json!({"pool": "b"}), true),
            (expression("In", json!(["a"])), json!({}), false),
            (expression("NotIn", json!(["a"])), json!({}), true),
            (expression("NotIn", json!(["a"])), json!({"pool": "a"}), false),
            (expression("Exists", json!(null)), json!({"pool": ""}), true),
            (expression("DoesNotExist", json!(null)), json!({"pool": ""}), false),
            (expression("Unheard", json!(null)), json!({"pool": ""}), false),
        ];
        for (selector, labels, expected) in rows {
            let parsed: LabelSelector = serde_json::from_value(selector.clone()).unwrap();
            assert_eq!(selects(&parsed, &machine(&labels)), expected, "{selector} on {labels}");
        }
    }

    #[test]
    fn a_paused_machine_and_one_that_is_to_be_skipped_are_exempt() {
        let marked = |key: &str| -> Machine {
            serde_json::from_value(json!({"metadata": {"name": "m", "annotations": {key: ""}}})).unwrap()
        };
        assert!(is_exempt(&marked("cluster.x-k8s.io/paused")));
        assert!(is_exempt(&marked("cluster.x-k8s.io/skip-remediation")));
        assert!(!is_exempt(&marked("cluster.x-k8s.io/delete-machine")));
    }
}
