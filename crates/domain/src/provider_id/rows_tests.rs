//! Statements of the design documents and capabilities of the reference about provider IDs, one test each.

use capm3_api::neighbours::Node;
use serde_json::{Value, json};

use super::*;

const ID: &str = "metal3://ns/h/m";

fn node(name: &str, id: Option<&str>, labels: Value) -> Node {
    let metadata = json!({"name": name, "labels": labels});
    serde_json::from_value(json!({"metadata": metadata, "spec": {"providerID": id}})).unwrap()
}

fn with_uuid(name: &str, id: Option<&str>) -> Node {
    node(name, id, json!({"metal3.io/uuid": "uid-h"}))
}

/// What is decided for a machine; `cloud` and `config` as in the cluster and the Machine.
fn decided(machine_id: Option<&str>, cloud: bool, config: bool, nodes: &[Node]) -> NodeDecision {
    let expected = ProviderId::new("ns", "h", "m");
    let names = ["node-7".to_owned()];
    let question = NodeQuestion {
        machine_id,
        expected: &expected,
        host_uid: "uid-h",
        former_uid: None,
        hostnames: &names,
        cloud_provider: cloud,
        has_config_ref: config,
    };
    decide_node(&question, &Nodes::among(&question, nodes))
}

/// A provider ID of the form `metal3://<uid>` is read on what has it already and never written; the new form is
/// `metal3://<namespace>/<host>/<Metal3Machine>`.
#[test]
fn s29_the_legacy_form_is_read_and_never_written() {
    let legacy = "metal3://uid-h";
    let old = decided(Some(legacy), false, true, &[with_uuid("n", Some(legacy))]);
    assert_eq!(old, NodeDecision::Matched { node: "n".into(), provider_id: legacy.into() });
    let new = decided(None, false, true, &[with_uuid("n", None)]);
    assert_eq!(new, NodeDecision::Adopt { node: "n".into(), provider_id: ID.into() });
    assert!(matches!(decided(None, false, true, &[with_uuid("n", Some(legacy))]), NodeDecision::Conflict(_)));
}

/// The provider ID has the form `metal3://<namespace>/<host>/<Metal3Machine>`.
#[test]
fn pi54_the_provider_id_names_namespace_host_and_machine() {
    assert_eq!(ProviderId::new("ns", "h", "m").to_string(), ID);
}

/// With a cloud provider the machine waits for a Node with the expected ID, and nothing is written to the Node.
#[test]
fn pi55_with_a_cloud_provider_the_node_is_only_read() {
    let waits = decided(None, true, true, &[with_uuid("n", None)]);
    assert!(matches!(waits, NodeDecision::Wait(NodeWait::CloudProvider(_))), "{waits:?}");
    let matched = decided(None, true, true, &[node("n", Some(ID), json!({}))]);
    assert_eq!(matched, NodeDecision::Matched { node: "n".into(), provider_id: ID.into() });
}

/// Without a cloud provider the Node labelled with the uid of the host gets the ID, and so does the machine.
#[test]
fn pi56_a_labelled_node_gets_its_id() {
    let adopts = decided(None, false, true, &[with_uuid("n", None)]);
    assert_eq!(adopts, NodeDecision::Adopt { node: "n".into(), provider_id: ID.into() });
}

/// Without a labelled Node and without a bootstrap object the default ID is set and the Node is found by its host name.
#[test]
fn pi57_without_bootstrap_object_the_host_name_decides() {
    let early = decided(None, false, false, &[]);
    assert!(
        matches!(early, NodeDecision::ProvisionedWithoutNode { ref provider_id, .. } if provider_id == ID)
    );
    let late =
        decided(Some(ID), false, false, &[node("n", None, json!({"kubernetes.io/hostname": "node-7"}))]);
    assert_eq!(late, NodeDecision::Adopt { node: "n".into(), provider_id: ID.into() });
}

/// Two Nodes with the same label, the same ID or the same host part are detected and named.
#[test]
fn pi58_two_nodes_of_one_host_are_detected() {
    let labels = decided(None, false, true, &[with_uuid("a", None), with_uuid("b", None)]);
    assert_eq!(labels, NodeDecision::Conflict(NodeConflict::SeveralWithLabel(vec!["a".into(), "b".into()])));
    for second in [ID, "metal3://ns/h/other"] {
        let ids = [node("a", Some(ID), json!({})), node("b", Some(second), json!({}))];
        let found = decided(Some(ID), true, true, &ids);
        assert_eq!(found, NodeDecision::Wait(NodeWait::OneIdOfHost(vec!["a".into(), "b".into()])));
    }
}

/// A labelled Node that already has another ID is an error that names both, and the Node is left unchanged.
#[test]
fn pi59_a_node_with_another_id_is_a_conflict() {
    let NodeDecision::Conflict(conflict) = decided(None, false, true, &[with_uuid("n", Some("aws:///i-1"))])
    else {
        panic!("a conflict")
    };
    assert_eq!(conflict.to_string(), format!("Node n has the provider ID aws:///i-1, expected {ID}"));
}

/// After a move the host has another uid, and the machine is ready because its Node carries the ID already.
#[test]
fn pi60_after_a_move_the_node_is_known_by_its_id() {
    let moved = [node("n", Some(ID), json!({"metal3.io/uuid": "uid of before"}))];
    for cloud in [true, false] {
        let found = decided(Some(ID), cloud, true, &moved);
        assert_eq!(found, NodeDecision::Matched { node: "n".into(), provider_id: ID.into() });
    }
}
