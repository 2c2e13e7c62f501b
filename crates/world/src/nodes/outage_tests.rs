//! Outages as tables.

use serde_json::{Value, json};

use super::*;

fn pod(more: &Value) -> Pod {
    let mut pod = json!({"metadata": {"name": "p", "namespace": "default", "uid": "u"}, "spec": {"nodeName": "n", "containers": []}});
    json_patch::merge(&mut pod, more);
    serde_json::from_value(pod).unwrap()
}

fn attachment() -> VolumeAttachment {
    serde_json::from_value(json!({"metadata": {"name": "va", "finalizers": ["attacher"]},
        "spec": {"attacher": "csi", "nodeName": "n", "source": {}}}))
    .unwrap()
}

fn evicted() -> Value {
    json!({"metadata": {"deletionTimestamp": "2026-08-01T00:00:00Z", "finalizers": [HELD]}})
}

/// What is done with a Pod and an attachment.
fn done(pod: Pod, is_out: bool, left: u64) -> String {
    let left = Duration::from_secs(left);
    decide(&Snapshot { is_out, is_gone: false, pods: vec![pod], attachments: vec![attachment()], left })
        .to_string()
}

#[test]
fn a_node_is_out_of_service_with_the_taint_and_without_readiness() {
    let node = |key: &str, effect: &str, ready: &str| -> Node {
        serde_json::from_value(json!({"metadata": {"name": "n"},
            "spec": {"taints": [{"key": key, "value": "nodeshutdown", "effect": effect}]},
            "status": {"conditions": [{"type": "Ready", "status": ready}]}}))
        .unwrap()
    };
    let rows = [
        (OUT_OF_SERVICE, NO_EXECUTE, "Unknown", true),
        (OUT_OF_SERVICE, NO_EXECUTE, "False", true),
        (OUT_OF_SERVICE, NO_EXECUTE, "True", false),
        (OUT_OF_SERVICE, "NoSchedule", "Unknown", false),
        ("node.kubernetes.io/unreachable", NO_EXECUTE, "Unknown", false),
    ];
    for (key, effect, ready, expected) in rows {
        assert_eq!(is_out_of_service(&node(key, effect, ready)), expected, "{key} {effect} {ready}");
    }
}

#[test]
fn a_pod_is_evicted_at_once_and_removed_by_force_after_a_while() {
    let evicts = done(pod(&json!({})), true, 3);
    assert!(evicts.contains(HELD) && evicts.contains("delete Pod default/p"), "{evicts}");
    assert!(!evicts.contains("VolumeAttachment") && evicts.ends_with("continues after 3s"), "{evicts}");
    let waits = done(pod(&evicted()), true, 3);
    assert_eq!(waits, "continues after 3s");
    let ends = done(pod(&evicted()), true, 0);
    assert!(
        ends.contains("patch Pod default/p {\"metadata\":{\"finalizers\":null}}")
            || ends.contains("\"finalizers\":[]"),
        "{ends}"
    );
    assert!(ends.contains("delete VolumeAttachment va") && ends.ends_with("done"), "{ends}");
}

#[test]
fn a_pod_that_tolerates_every_taint_stays_unless_its_node_is_gone() {
    let mirror = || pod(&json!({"spec": {"tolerations": [{"operator": "Exists", "effect": NO_EXECUTE}]}}));
    let other = || pod(&json!({"spec": {"tolerations": [{"key": "other", "operator": "Exists"}]}}));
    assert!(!done(mirror(), true, 0).contains("Pod"));
    assert!(done(other(), true, 0).contains("delete Pod"));
    let gone = Snapshot {
        is_out: true,
        is_gone: true,
        pods: vec![mirror()],
        attachments: Vec::new(),
        left: Duration::ZERO,
    };
    assert!(decide(&gone).to_string().contains("delete Pod"));
}

#[test]
fn a_node_that_is_back_ends_what_was_evicted_and_keeps_the_rest() {
    assert_eq!(done(pod(&json!({})), false, 0), "done");
    let ends = done(pod(&evicted()), false, 0);
    assert!(ends.starts_with("patch Pod default/p") && !ends.contains("VolumeAttachment"), "{ends}");
}
