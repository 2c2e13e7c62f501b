//! Clusters as tables.

use serde_json::{Value, json};

use capm3_engine::Object;

use super::*;

fn object<K: Object>(name: &str, more: Value) -> Arc<K> {
    let mut value = json!({"metadata": {"name": name, "namespace": "metal3", "uid": format!("uid-{name}"), "resourceVersion": "1"}});
    for (part, content) in more.as_object().unwrap() {
        match part.as_str() {
            "metadata" => {
                value["metadata"].as_object_mut().unwrap().extend(content.as_object().unwrap().clone())
            }
            _ => value[part] = content.clone(),
        }
    }
    Arc::new(serde_json::from_value(value).unwrap())
}

fn snapshot() -> Snapshot {
    Snapshot {
        cluster: object(
            "c",
            json!({"metadata": {"finalizers": [FINALIZER]}, "spec": {
            "infrastructureRef": {"name": "c"}, "controlPlaneRef": {"name": "cp"}}}),
        ),
        infrastructure: Some(object(
            "c",
            json!({"spec": {"controlPlaneEndpoint": {"host": "10.0.0.5", "port": 6443}}}),
        )),
        control_plane: Some(object("cp", json!({}))),
        deployments: Vec::new(),
        sets: Vec::new(),
        machines: Vec::new(),
        now: "2026-08-01T00:00:00Z".to_owned(),
    }
}

fn patched(plan: &Plan, status: bool) -> Value {
    let found = plan.writes.iter().find_map(|write| match write {
        capm3_engine::Write::Patch { kind, subresource, patch, .. }
            if kind.kind == "Cluster" && subresource.is_some() == status =>
        {
            Some(patch.clone())
        }
        _ => None,
    });
    found.unwrap_or_default()
}

fn legacy(status: &Value) -> String {
    let conditions = status.pointer("/status/deprecated/v1beta1/conditions").unwrap();
    let ready = conditions.as_array().unwrap().iter().find(|c| c["type"] == "InfrastructureReady").unwrap();
    ready["status"].as_str().unwrap().to_owned()
}

#[test]
fn infrastructure_and_control_plane_get_the_cluster_as_owner_but_not_as_controller() {
    let text = decide(&snapshot()).to_string();
    for kind in ["Metal3Cluster metal3/c", "KubeadmControlPlane metal3/cp"] {
        let line = text.lines().find(|l| l.starts_with(&format!("patch {kind}"))).unwrap();
        assert!(line.contains("\"kind\":\"Cluster\"") && line.contains("uid-c"), "{line}");
        assert!(line.contains("\"cluster.x-k8s.io/cluster-name\":\"c\""), "{line}");
        assert!(!line.contains("controller\":true"), "{line}");
    }
}

#[test]
fn nothing_is_copied_before_the_infrastructure_is_provisioned() {
    let plan = decide(&snapshot());
    let status = patched(&plan, true);
    assert_eq!(status["status"]["phase"], "Provisioning");
    assert_eq!(status["status"]["initialization"]["infrastructureProvisioned"], false);
    assert_eq!(legacy(&status), "False");
    assert_eq!(patched(&plan, false), Value::Null);
}

#[test]
fn a_provisioned_infrastructure_is_mirrored_in_both_generations() {
    let mut s = snapshot();
    let ready = |status: &str| {
        Some(object(
            "c",
            json!({"spec": {"controlPlaneEndpoint": {"host": "10.0.0.5", "port": 6443}},
            "status": {"initialization": {"provisioned": true}, "failureDomains": [{"name": "rack1", "controlPlane": true}],
                "conditions": [{"type": "Ready", "status": status, "reason": "Ready"}]}}),
        ))
    };
    s.infrastructure = ready("True");
    let plan = decide(&s);
    let status = patched(&plan, true);
    assert_eq!(patched(&plan, false)["spec"]["controlPlaneEndpoint"]["port"], 6443);
    assert_eq!(status["status"]["phase"], "Provisioned");
    assert_eq!(status["status"]["failureDomains"], json!([{"name": "rack1", "controlPlane": true}]));
    assert_eq!(legacy(&status), "True");
    s.infrastructure = ready("False");
    let status = patched(&decide(&s), true);
    assert_eq!(status["status"]["initialization"]["infrastructureProvisioned"], true, "for good");
    assert_eq!(legacy(&status), "False", "follows what the infrastructure says of itself");
}

#[test]
fn a_cluster_without_infrastructure_counts_as_provisioned() {
    let mut s = snapshot();
    s.cluster = object("c", json!({"spec": {"paused": false}}));
    s.infrastructure = None;
    let status = patched(&decide(&s), true);
    assert_eq!(status["status"]["initialization"]["infrastructureProvisioned"], true);
}

#[test]
fn a_cluster_goes_workers_first_then_control_plane_then_infrastructure() {
    let going = json!({"deletionTimestamp": "2026-08-01T00:00:00Z", "finalizers": [FINALIZER]});
    let mut s = snapshot();
    s.cluster = object("c", json!({"metadata": going, "spec": {"infrastructureRef": {"name": "c"}}}));
    s.deployments = vec![object("md", json!({}))];
    s.machines = vec![
        object("w", json!({})),
        object("l", json!({"metadata": {"labels": {"cluster.x-k8s.io/control-plane": ""}}})),
    ];
    let deletes = |s: &Snapshot| {
        let plan = decide(s).to_string();
        plan.lines().filter(|l| l.starts_with("delete")).collect::<Vec<_>>().join(", ")
    };
    assert_eq!(deletes(&s), "delete MachineDeployment metal3/md, delete Machine metal3/w");
    s.deployments.clear();
    s.machines.remove(0);
    assert_eq!(deletes(&s), "delete KubeadmControlPlane metal3/cp, delete Machine metal3/l");
    s.control_plane = None;
    s.machines.clear();
    assert_eq!(deletes(&s), "delete Metal3Cluster metal3/c");
    s.infrastructure = None;
    assert!(patched(&decide(&s), false).to_string().contains("\"finalizers\":[]"));
}

#[test]
fn a_paused_cluster_only_says_so() {
    let mut s = snapshot();
    s.cluster = object("c", json!({"spec": {"paused": true}}));
    let plan = decide(&s);
    assert_eq!(plan.writes.len(), 1);
    assert!(patched(&plan, true).to_string().contains("\"Paused\""));
}
