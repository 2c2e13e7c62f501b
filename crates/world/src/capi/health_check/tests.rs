//! What a health check does, as tables.

use capm3_engine::{End, Write};
use serde_json::{Value, json};

use super::{targets::Seen, *};
use crate::kinds::{Machine, Metal3Remediation};

fn machine(name: &str, more: &Value) -> Machine {
    let mut whole = json!({"metadata": {"name": name, "namespace": "metal3", "uid": format!("uid of {name}")},
        "spec": {"clusterName": "c"}, "status": {"nodeRef": {"name": name}}});
    json_patch::merge(&mut whole, more);
    serde_json::from_value(whole).unwrap()
}

fn target(name: &str, ready: &str, has_remediation: bool) -> Target {
    let node = json!({"metadata": {"name": name}, "status": {"conditions": [
        {"type": "Ready", "status": ready, "lastTransitionTime": "2026-08-01T00:00:00Z"}]}});
    let remediation: Metal3Remediation =
        serde_json::from_value(json!({"metadata": {"name": name, "namespace": "metal3"}})).unwrap();
    Target {
        machine: Arc::new(machine(name, &json!({}))),
        node: Seen::There(Arc::new(serde_json::from_value(node).unwrap())),
        remediation: has_remediation.then(|| Arc::new(remediation)),
    }
}

fn snapshot(remediation: Value, targets: Vec<Target>) -> Snapshot {
    let check = json!({"metadata": {"name": "hc", "namespace": "metal3"}, "spec": {"clusterName": "c", "selector": {},
        "checks": {"unhealthyNodeConditions": [{"type": "Ready", "status": "Unknown", "timeoutSeconds": 300}]},
        "remediation": remediation}});
    let cluster = json!({"metadata": {"name": "c", "namespace": "metal3", "uid": "uc"}, "status": {"initialization":
        {"infrastructureProvisioned": true, "controlPlaneInitialized": true}}});
    let template = json!({"metadata": {"name": "t", "namespace": "metal3"}, "spec": {"template": {"spec":
        {"strategy": {"type": "Reboot", "anything": {"else": 1}}}}}});
    Snapshot {
        check: Arc::new(serde_json::from_value(check).unwrap()),
        cluster: serde_json::from_value(cluster).map(Arc::new).ok(),
        targets,
        template: serde_json::from_value(template).map(Arc::new).ok(),
        now: "2026-08-01T00:10:00Z".parse().unwrap(),
    }
}

fn by_template() -> Value {
    json!({"templateRef": {"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "Metal3RemediationTemplate",
        "name": "t"}})
}

fn created(plan: &Plan) -> Option<Value> {
    plan.writes.iter().find_map(|write| match write {
        Write::Create { kind, object, .. } if kind.kind == "Metal3Remediation" => Some(object.clone()),
        _ => None,
    })
}

/// What the plan says of a Machine, as `type status reason`.
fn reported(plan: &Plan, name: &str) -> Vec<String> {
    let patch = plan.writes.iter().find_map(|write| match write {
        Write::Patch { kind, key, patch, subresource: Some(_), .. }
            if kind.kind == "Machine" && key.name == name =>
        {
            patch.pointer("/status/conditions").and_then(Value::as_array).cloned()
        }
        _ => None,
    });
    let text = |c: &Value, member: &str| c[member].as_str().unwrap().to_owned();
    let line = |c: &Value| ["type", "status", "reason"].map(|member| text(c, member)).join(" ");
    patch.iter().flatten().map(line).collect()
}

#[test]
fn the_remediation_of_an_unhealthy_machine_is_an_exact_copy_with_its_name() {
    let plan =
        decide(&snapshot(by_template(), vec![target("a", "True", false), target("b", "Unknown", false)]));
    let made = created(&plan).unwrap();
    assert_eq!(made["metadata"]["name"], "b");
    assert_eq!(made["metadata"]["namespace"], "metal3");
    assert_eq!(made["metadata"]["labels"], json!({"cluster.x-k8s.io/cluster-name": "c"}));
    let owner = &made["metadata"]["ownerReferences"][0];
    assert_eq!(
        (&owner["kind"], &owner["uid"], owner.get("controller")),
        (&json!("Machine"), &json!("uid of b"), None)
    );
    assert_eq!(made["spec"], json!({"strategy": {"type": "Reboot", "anything": {"else": 1}}}));
    assert_eq!(reported(&plan, "a"), ["HealthCheckSucceeded True HealthCheckSucceeded"]);
    assert_eq!(
        reported(&plan, "b"),
        ["HealthCheckSucceeded False UnhealthyNode", "ExternallyRemediated False WaitingForRemediation"]
    );
}

#[test]
fn there_is_one_remediation_of_a_machine_and_it_goes_when_the_machine_is_healthy() {
    let plan = decide(&snapshot(by_template(), vec![target("a", "Unknown", true)]));
    assert!(created(&plan).is_none() && !plan.to_string().contains("delete"), "{plan}");
    let plan = decide(&snapshot(by_template(), vec![target("a", "True", true)]));
    assert!(plan.to_string().contains("delete Metal3Remediation metal3/a"), "{plan}");
}

#[test]
fn without_a_template_the_owner_is_to_act() {
    let plan = decide(&snapshot(json!({}), vec![target("a", "Unknown", false)]));
    assert!(created(&plan).is_none());
    assert_eq!(
        reported(&plan, "a"),
        ["HealthCheckSucceeded False UnhealthyNode", "OwnerRemediated False WaitingForRemediation"]
    );
    let mut marked = target("a", "Unknown", false);
    let conditions = json!({"status": {"conditions": [
        {"type": "HealthCheckSucceeded", "status": "False", "reason": "UnhealthyNode", "message": ""},
        {"type": "OwnerRemediated", "status": "False", "reason": "RemediationInProgress", "message": "goes"}]}});
    marked.machine = Arc::new(machine("a", &conditions));
    assert!(marked.machine.is_given_up());
    let plan = decide(&snapshot(json!({}), vec![marked]));
    assert!(!plan.to_string().contains("\"reason\":\"WaitingForRemediation\""), "the owner is at it: {plan}");
}

#[test]
fn conditions_of_a_remediation_are_removed_from_a_healthy_machine() {
    let mut again = target("a", "True", false);
    let condition = json!({"type": "OwnerRemediated", "status": "False", "reason": "X", "message": ""});
    again.machine = Arc::new(machine("a", &json!({"status": {"conditions": [condition]}})));
    let plan = decide(&snapshot(json!({}), vec![again]));
    assert_eq!(reported(&plan, "a"), ["HealthCheckSucceeded True HealthCheckSucceeded"]);
}

#[test]
fn too_many_unhealthy_machines_are_marked_and_left_alone() {
    let remediation = |most: Value| {
        let mut remediation = by_template();
        remediation["triggerIf"] = json!({"unhealthyLessThanOrEqualTo": most});
        remediation
    };
    let two = || vec![target("a", "Unknown", false), target("b", "Unknown", false)];
    let plan = decide(&snapshot(remediation(json!(1)), two()));
    assert!(created(&plan).is_none());
    assert_eq!(reported(&plan, "a"), ["HealthCheckSucceeded False UnhealthyNode"]);
    let text = plan.to_string();
    for part in
        ["TooManyUnhealthy", "\"expectedMachines\":2", "\"currentHealthy\":0", "\"remediationsAllowed\":0"]
    {
        assert!(text.contains(part), "{part} is not in {text}");
    }
    assert!(created(&decide(&snapshot(remediation(json!("100%")), two()))).is_some());
}

#[test]
fn the_next_check_is_due_when_the_first_machine_may_be_unhealthy() {
    let mut s = snapshot(by_template(), vec![target("a", "Unknown", false)]);
    s.now = "2026-08-01T00:01:30Z".parse().unwrap();
    let plan = decide(&s);
    assert_eq!(plan.end, End::After(std::time::Duration::from_secs(210)));
    assert!(created(&plan).is_none() && reported(&plan, "a").is_empty(), "{plan}");
}

#[test]
fn a_machine_that_goes_gets_no_remediation() {
    let mut going = target("a", "Unknown", false);
    let deletion = json!({"metadata": {"deletionTimestamp": "2026-08-01T00:00:00Z"}});
    going.machine = Arc::new(machine("a", &deletion));
    assert!(created(&decide(&snapshot(by_template(), vec![going]))).is_none());
}

#[test]
fn it_waits_for_its_template_its_cluster_and_the_end_of_a_pause() {
    let ill = || vec![target("a", "Unknown", false)];
    let mut s = snapshot(by_template(), ill());
    s.template = None;
    let plan = decide(&s);
    assert!(plan.to_string().ends_with("waits: its remediation template"), "{plan}");
    assert_eq!(reported(&plan, "a"), ["HealthCheckSucceeded False UnhealthyNode"]);
    let mut s = snapshot(by_template(), ill());
    let mut cluster = Cluster::clone(s.cluster.as_ref().unwrap());
    cluster.spec.paused = Some(true);
    s.cluster = Some(Arc::new(cluster));
    assert!(decide(&s).is_quiet());
    s.cluster = None;
    assert!(decide(&s).is_quiet());
}
