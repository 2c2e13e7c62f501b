use serde_json::json;

use super::*;

const EXPECTED: &str = "metal3://ns/h/m";

/// name, provider ID, uuid label, host name label; empty means absent
fn node((name, id, uuid, hostname): (&str, &str, &str, &str)) -> Node {
    let mut labels = serde_json::Map::new();
    for (key, value) in [(NODE_UUID, uuid), (NODE_HOSTNAME, hostname)] {
        if !value.is_empty() {
            labels.insert(key.into(), json!(value));
        }
    }
    serde_json::from_value(json!({"metadata": {"name": name, "labels": labels}, "spec": {"providerID": id}}))
        .unwrap()
}

#[derive(Clone, Copy)]
struct Setup {
    machine_id: Option<&'static str>,
    former_uid: Option<&'static str>,
    hostname: Option<&'static str>,
    cloud: bool,
    config_ref: bool,
}

const WITH_CONFIG_REF: Setup =
    Setup { machine_id: None, former_uid: None, hostname: Some("n1"), cloud: false, config_ref: true };
const PLAIN_SECRET: Setup = Setup { config_ref: false, ..WITH_CONFIG_REF };
const CLOUD: Setup = Setup { cloud: true, ..WITH_CONFIG_REF };

fn decide(setup: Setup, nodes: &[(&str, &str, &str, &str)]) -> String {
    let nodes: Vec<Node> = nodes.iter().copied().map(node).collect();
    let expected = ProviderId::new("ns", "h", "m");
    let hostnames: Vec<String> = setup.hostname.into_iter().map(str::to_owned).collect();
    let question = NodeQuestion {
        machine_id: setup.machine_id,
        expected: &expected,
        host_uid: "uid-h",
        former_uid: setup.former_uid,
        hostnames: &hostnames,
        cloud_provider: setup.cloud,
        has_config_ref: setup.config_ref,
    };
    match decide_node(&question, &Nodes::among(&question, &nodes)) {
        NodeDecision::Matched { node, provider_id } => format!("matched {node} {provider_id}"),
        NodeDecision::Adopt { node, provider_id } => format!("adopt {node} {provider_id}"),
        NodeDecision::ProvisionedWithoutNode { provider_id, wait } => {
            format!("provisioned {provider_id}, {wait}")
        }
        NodeDecision::Wait(wait) => format!("wait: {wait}"),
        NodeDecision::Conflict(conflict) => format!("conflict: {conflict}"),
    }
}

#[test]
fn a_node_with_the_expected_id_is_the_one_in_every_setup() {
    for setup in [WITH_CONFIG_REF, PLAIN_SECRET, CLOUD] {
        for machine_id in [None, Some(EXPECTED)] {
            let setup = Setup { machine_id, ..setup };
            assert_eq!(decide(setup, &[("n1", EXPECTED, "", "")]), format!("matched n1 {EXPECTED}"));
        }
    }
}

#[test]
fn with_a_cloud_provider_nodes_are_never_written() {
    let text = format!("wait: waiting for the cloud provider to give a Node the provider ID {EXPECTED}");
    assert_eq!(decide(CLOUD, &[]), text);
    assert_eq!(decide(CLOUD, &[("n1", "", "uid-h", "n1")]), text);
    assert_eq!(decide(CLOUD, &[("n1", "aws:///i-1", "uid-h", "n1")]), text);
}

#[test]
fn the_label_names_the_node() {
    for setup in [WITH_CONFIG_REF, PLAIN_SECRET] {
        let table = [
            (vec![("n1", "", "uid-h", "")], format!("adopt n1 {EXPECTED}")),
            (vec![("n1", EXPECTED, "uid-h", "")], format!("matched n1 {EXPECTED}")),
            (
                vec![("n1", "metal3://ns/h/old", "uid-h", "")],
                format!("conflict: Node n1 has the provider ID metal3://ns/h/old, expected {EXPECTED}"),
            ),
            (
                vec![("n2", "", "uid-h", ""), ("n1", "", "uid-h", "")],
                "conflict: several Nodes are labelled with the uid of this host: n1, n2".to_owned(),
            ),
        ];
        for (nodes, expected) in table {
            assert_eq!(decide(setup, &nodes), expected);
        }
    }
}

#[test]
fn without_a_label_a_bootstrap_object_means_waiting() {
    let text = "wait: waiting for a Node with the label metal3.io/uuid=uid-h";
    assert_eq!(decide(WITH_CONFIG_REF, &[]), text);
    assert_eq!(decide(WITH_CONFIG_REF, &[("n1", "", "", "n1")]), text);
    assert_eq!(decide(WITH_CONFIG_REF, &[("n1", "", "uid-other", "")]), text);
}

#[test]
fn without_label_and_bootstrap_object_the_host_name_helps() {
    let awaited = format!("provisioned {EXPECTED}, waiting for a Node with the host name n1");
    assert_eq!(decide(PLAIN_SECRET, &[]), awaited);
    assert_eq!(decide(PLAIN_SECRET, &[("x", "", "", "other")]), awaited);
    assert_eq!(decide(PLAIN_SECRET, &[("x", "", "", "n1")]), format!("adopt x {EXPECTED}"));
    assert_eq!(
        decide(PLAIN_SECRET, &[("x", "aws:///i-1", "", "n1")]),
        format!("conflict: Node x has the provider ID aws:///i-1, expected {EXPECTED}")
    );
    assert_eq!(
        decide(PLAIN_SECRET, &[("y", "", "", "n1"), ("x", "", "", "n1")]),
        format!("provisioned {EXPECTED}, several Nodes have the host name of this machine: x, y")
    );
    let nameless = Setup { hostname: None, ..PLAIN_SECRET };
    assert!(decide(nameless, &[("x", "", "", "n1")]).contains("reports no host name"));
}

#[test]
fn ids_of_other_hosts_are_no_concern_of_this_machine() {
    let twice = ("a", "metal3://ns/h2/x", "", "");
    let again = ("b", "metal3://ns/h2/x", "", "");
    let longer = ("c", "metal3://ns/h-10/x", "", "");
    let nodes = [twice, again, longer, ("n1", EXPECTED, "", "")];
    assert_eq!(decide(CLOUD, &nodes), format!("matched n1 {EXPECTED}"));
}

#[test]
fn two_ids_of_the_own_host_are_not_trusted_without_the_label() {
    let old = ("old", "metal3://ns/h/gone", "", "");
    let text = "wait: several Nodes carry a provider ID of this host: n1, old";
    assert_eq!(decide(CLOUD, &[old, ("n1", EXPECTED, "", "")]), text);
    assert_eq!(decide(WITH_CONFIG_REF, &[old, ("n1", EXPECTED, "", "")]), text);
    assert_eq!(
        decide(WITH_CONFIG_REF, &[old, ("n1", EXPECTED, "uid-h", "")]),
        format!("matched n1 {EXPECTED}")
    );
    let twin = ("n2", EXPECTED, "", "");
    assert!(decide(CLOUD, &[twin, ("n1", EXPECTED, "", "")]).starts_with("wait: several"));
}

#[test]
fn a_legacy_id_is_read_where_machine_and_node_have_it_and_never_written() {
    let legacy = "metal3://uid-h";
    let old_machine = Setup { machine_id: Some(legacy), ..WITH_CONFIG_REF };
    assert_eq!(decide(old_machine, &[("n1", legacy, "", "")]), format!("matched n1 {legacy}"));
    assert_eq!(decide(old_machine, &[("n1", legacy, "uid-h", "")]), format!("matched n1 {legacy}"));
    // After a move hosts have other uids; machines and Nodes keep what they have in common.
    let moved = Setup { machine_id: Some("metal3://former"), former_uid: Some("former"), ..WITH_CONFIG_REF };
    let (own, other) = (("n1", "metal3://former", "former", ""), ("n2", "metal3://another", "another", ""));
    assert_eq!(decide(moved, &[own, other]), "matched n1 metal3://former");
    assert!(
        decide(moved, &[own, ("n2", legacy, "uid-h", "")]).starts_with("conflict"),
        "two Nodes of one host"
    );
    assert_eq!(
        decide(WITH_CONFIG_REF, &[("n1", legacy, "uid-h", "")]),
        format!("conflict: Node n1 has the provider ID {legacy}, expected {EXPECTED}")
    );
    let stranger = Setup { machine_id: Some("metal3://uid-x"), ..WITH_CONFIG_REF };
    assert!(decide(stranger, &[("n1", "metal3://uid-x", "", "")]).starts_with("wait"));
}
