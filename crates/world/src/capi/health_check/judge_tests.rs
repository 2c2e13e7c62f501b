//! Verdicts as a table.

use std::sync::Arc;

use serde_json::{Value, json};

use super::*;

fn target(machine: Value, node: Seen) -> Target {
    let mut whole = json!({"metadata": {"name": "m", "namespace": "metal3", "creationTimestamp": "2026-08-01T00:00:00Z"},
        "spec": {"clusterName": "c"}, "status": {"nodeRef": {"name": "n"}}});
    json_patch::merge(&mut whole, &machine);
    Target { machine: Arc::new(serde_json::from_value(whole).unwrap()), node, remediation: None }
}

fn node(ready: &str, since: &str) -> Seen {
    let conditions = json!([{"type": "Ready", "status": ready, "lastTransitionTime": since}]);
    let node = json!({"metadata": {"name": "n"}, "status": {"conditions": conditions}});
    Seen::There(Arc::new(serde_json::from_value(node).unwrap()))
}

fn cluster(provisioned: bool, initialized: bool, since: &str) -> Cluster {
    let condition = |type_: &str, holds: bool| json!({"type": type_, "status": if holds { "True" } else { "False" }, "lastTransitionTime": since});
    serde_json::from_value(json!({"status": {
        "initialization": {"infrastructureProvisioned": provisioned, "controlPlaneInitialized": initialized},
        "conditions": [condition("InfrastructureReady", provisioned), condition("ControlPlaneInitialized", initialized)]}}))
    .unwrap()
}

fn checks() -> Checks {
    serde_json::from_value(json!({"nodeStartupTimeoutSeconds": 600, "unhealthyNodeConditions": [
        {"type": "Ready", "status": "Unknown", "timeoutSeconds": 300},
        {"type": "Ready", "status": "False", "timeoutSeconds": 60}]}))
    .unwrap()
}

/// The verdict in short: a reason, or how many seconds are left.
fn at(now: &str, target: &Target, checks: &Checks, cluster: &Cluster) -> String {
    match judge(target, checks, cluster, now.parse().unwrap()) {
        Verdict::Unhealthy { reason, .. } => reason.to_owned(),
        Verdict::Suspect(left) => left.as_secs_f64().to_string(),
        other => format!("{other:?}"),
    }
}

const UP: &str = "2026-08-01T00:00:30Z";

#[test]
fn a_node_is_unhealthy_when_a_condition_lasted_for_its_time_and_not_a_moment_earlier() {
    let since = "2026-08-01T01:00:00Z";
    let rows = [
        ("True", "2026-08-02T00:00:00Z", "Healthy"),
        ("Unknown", "2026-08-01T01:00:00Z", "300"),
        ("Unknown", "2026-08-01T01:04:59.5Z", "0.5"),
        ("Unknown", "2026-08-01T01:05:00Z", "UnhealthyNode"),
        ("False", "2026-08-01T01:00:59Z", "1"),
        ("False", "2026-08-01T01:01:00Z", "UnhealthyNode"),
    ];
    for (ready, now, expected) in rows {
        let target = target(json!({}), node(ready, since));
        assert_eq!(at(now, &target, &checks(), &cluster(true, true, UP)), expected, "{ready} {now}");
    }
}

#[test]
fn a_node_that_has_not_reported_yet_is_neither_healthy_nor_unhealthy() {
    let fresh = Seen::There(Arc::new(serde_json::from_value(json!({"metadata": {"name": "n"}})).unwrap()));
    let target = target(json!({}), fresh);
    assert_eq!(at("2026-08-02T00:00:00Z", &target, &checks(), &cluster(true, true, UP)), "Open");
}

#[test]
fn a_machine_without_a_node_has_its_time_from_when_everything_else_was_there() {
    let without = || target(json!({"status": {"nodeRef": null}}), Seen::Never);
    let up = cluster(true, true, UP);
    assert_eq!(at("2026-08-01T00:10:29Z", &without(), &checks(), &up), "1");
    assert_eq!(at("2026-08-01T00:10:30Z", &without(), &checks(), &up), "NodeStartupTimeout");
    let provisioned = json!({"status": {"nodeRef": null, "conditions": [
        {"type": "InfrastructureReady", "status": "True", "lastTransitionTime": "2026-08-01T00:05:00Z"}]}});
    let later = target(provisioned, Seen::Never);
    assert_eq!(at("2026-08-01T00:10:30Z", &later, &checks(), &up), "270");
    let never = Checks { node_startup_timeout_seconds: Some(0), ..checks() };
    assert_eq!(at("2026-08-02T00:00:00Z", &without(), &never, &up), "Open");
    let usual = Checks { node_startup_timeout_seconds: None, ..checks() };
    assert_eq!(at("2026-08-01T00:10:29Z", &without(), &usual, &up), "1");
}

#[test]
fn no_actor_is_named_for_a_cluster_that_is_not_up() {
    let late = "2026-08-02T00:00:00Z";
    let worker = || target(json!({}), node("Unknown", UP));
    let leader = || {
        target(json!({"metadata": {"labels": {"cluster.x-k8s.io/control-plane": ""}}}), node("Unknown", UP))
    };
    assert_eq!(at(late, &worker(), &checks(), &cluster(true, false, UP)), "Open");
    assert_eq!(at(late, &leader(), &checks(), &cluster(true, false, UP)), "UnhealthyNode");
    assert_eq!(at(late, &leader(), &checks(), &cluster(false, true, UP)), "Open");
}

#[test]
fn a_node_that_is_gone_and_a_mark_of_the_user_count_at_once() {
    let up = cluster(true, true, UP);
    assert_eq!(at(UP, &target(json!({}), Seen::Gone), &checks(), &up), "NodeDeleted");
    let marked = target(
        json!({"metadata": {"annotations": {"cluster.x-k8s.io/remediate-machine": ""}}}),
        node("True", UP),
    );
    assert_eq!(at(UP, &marked, &checks(), &up), "HasRemediateAnnotation");
}

#[test]
fn conditions_of_the_machine_are_looked_at_as_well() {
    let checks = Checks {
        unhealthy_machine_conditions: serde_json::from_value(json!([
            {"type": "EtcdPodHealthy", "status": "False", "timeoutSeconds": 30}]))
        .unwrap(),
        ..checks()
    };
    let ill = json!({"status": {"conditions": [
        {"type": "EtcdPodHealthy", "status": "False", "lastTransitionTime": "2026-08-01T01:00:00Z"}]}});
    let ill = target(ill, node("True", UP));
    let up = cluster(true, true, UP);
    assert_eq!(at("2026-08-01T01:00:10Z", &ill, &checks, &up), "20");
    assert_eq!(at("2026-08-01T01:00:30Z", &ill, &checks, &up), "UnhealthyMachine");
}
