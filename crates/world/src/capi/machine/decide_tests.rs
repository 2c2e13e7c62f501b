//! Machines as tables.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{super::node, *};
use crate::{
    capi::{PRE_TERMINATE_CONTROL_PLANE, freshness::Freshness},
    kinds::Cluster,
};

fn snapshot() -> Snapshot {
    let machine = json!({"metadata": {"name": "m", "namespace": "metal3", "uid": "um", "finalizers": [FINALIZER],
            "labels": {"cluster.x-k8s.io/cluster-name": "c"},
            "ownerReferences": [{"apiVersion": "x/v1", "kind": "MachineSet", "name": "ms", "uid": "ums", "controller": true}]},
        "spec": {"clusterName": "c", "bootstrap": {"configRef": {"name": "m"}}, "infrastructureRef": {"name": "m"}}});
    let part = json!({"metadata": {"name": "m", "namespace": "metal3", "resourceVersion": "1",
        "ownerReferences": [{"apiVersion": "x/v1", "kind": "MachineSet", "name": "ms", "uid": "ums"}]}});
    Snapshot {
        machine: Arc::new(serde_json::from_value(machine).unwrap()),
        cluster: Some(Arc::new(Cluster::default())),
        infrastructure: serde_json::from_value(part.clone()).map(Arc::new).ok(),
        config: serde_json::from_value(part).map(Arc::new).ok(),
        node: None,
        freshness: Some(Freshness { is_current: true, message: String::new() }),
        is_last_of_control_plane: false,
        now: "2026-08-01T00:00:00Z".to_owned(),
    }
}

fn patched(plan: &Plan, kind: &str, status: bool) -> Value {
    let found = plan.writes.iter().find_map(|write| match write {
        capm3_engine::Write::Patch { kind: k, subresource, patch, .. }
            if k.kind == kind && subresource.is_some() == status =>
        {
            Some(patch.clone())
        }
        _ => None,
    });
    found.unwrap_or_default()
}

fn config_is_ready(s: &mut Snapshot) {
    let mut config = KubeadmConfig::clone(s.config.as_ref().unwrap());
    config.status =
        serde_json::from_value(json!({"dataSecretName": "m", "initialization": {"dataSecretCreated": true}}))
            .unwrap();
    s.config = Some(Arc::new(config));
}

fn infrastructure_is_ready(s: &mut Snapshot, id: Option<&str>) {
    let mut infrastructure = Metal3Machine::clone(s.infrastructure.as_ref().unwrap());
    infrastructure.spec.provider_id = id.map(str::to_owned);
    infrastructure.spec.failure_domain = Some("rack1".into());
    infrastructure.status.initialization = Some(Initialization { provisioned: Some(true) });
    infrastructure.status.addresses =
        vec![capm3_api::v1beta2::MachineAddress { type_: "InternalIP".into(), address: "10.0.0.9".into() }];
    s.infrastructure = Some(Arc::new(infrastructure));
}

fn node() -> Option<Arc<Node>> {
    serde_json::from_value(json!({"metadata": {"name": "n"}, "spec": {"providerID": "metal3://x"},
        "status": {"conditions": [{"type": "Ready", "status": "True"}]}}))
    .map(Arc::new)
    .ok()
}

#[test]
fn the_machine_takes_its_parts_over_from_their_maker() {
    let plan = decide(&snapshot());
    for kind in ["Metal3Machine", "KubeadmConfig"] {
        let owners = &patched(&plan, kind, false)["metadata"]["ownerReferences"];
        assert_eq!(owners.as_array().unwrap().len(), 1, "{kind}");
        assert_eq!((&owners[0]["kind"], &owners[0]["controller"]), (&json!("Machine"), &json!(true)));
    }
}

#[test]
fn a_machine_goes_through_its_phases() {
    let mut s = snapshot();
    let phase = |s: &Snapshot| patched(&decide(s), "Machine", true)["status"]["phase"].clone();
    assert_eq!(phase(&s), "Pending");
    config_is_ready(&mut s);
    assert_eq!(phase(&s), "Provisioning");
    infrastructure_is_ready(&mut s, None);
    assert_eq!(phase(&s), "Provisioning", "without a provider ID it does not count");
    infrastructure_is_ready(&mut s, Some("metal3://x"));
    assert_eq!(phase(&s), "Provisioned");
    s.node = node();
    assert_eq!(phase(&s), "Running");
}

#[test]
fn bootstrap_data_is_reported_in_both_generations() {
    let mut s = snapshot();
    config_is_ready(&mut s);
    let plan = decide(&s);
    assert_eq!(patched(&plan, "Machine", false)["spec"]["bootstrap"], json!({"dataSecretName": "m"}));
    let status = patched(&plan, "Machine", true);
    assert_eq!(status["status"]["initialization"], json!({"bootstrapDataSecretCreated": true}));
    let old = status["status"]["deprecated"]["v1beta1"]["conditions"].as_array().unwrap();
    assert!(old.iter().any(|c| c["type"] == "BootstrapReady" && c["status"] == "True"));
}

#[test]
fn what_the_infrastructure_reports_is_copied() {
    let mut s = snapshot();
    infrastructure_is_ready(&mut s, Some("metal3://x"));
    s.node = node();
    let plan = decide(&s);
    let spec = patched(&plan, "Machine", false)["spec"].clone();
    assert_eq!(spec, json!({"providerID": "metal3://x", "failureDomain": "rack1"}));
    let status = patched(&plan, "Machine", true)["status"].clone();
    assert_eq!(status["addresses"], json!([{"type": "InternalIP", "address": "10.0.0.9"}]));
    assert_eq!(status["nodeRef"], json!({"name": "n"}));
    assert_eq!(status["failureDomain"], "rack1");
}

#[test]
fn a_machine_says_whether_it_is_what_its_owner_asks_for() {
    let up_to_date = |freshness: Option<Freshness>| {
        let plan = decide(&Snapshot { freshness, ..snapshot() });
        let conditions = patched(&plan, "Machine", true)["status"]["conditions"].clone();
        let conditions = conditions.as_array().unwrap();
        let found = conditions.iter().find(|c| c["type"] == "UpToDate").cloned();
        found.map(|c| (c["status"].clone(), c["reason"].clone(), c["message"].clone()))
    };
    let fresh = |is_current: bool, message: &str| Some(Freshness { is_current, message: message.to_owned() });
    assert_eq!(up_to_date(fresh(true, "")), Some((json!("True"), json!("UpToDate"), json!(""))));
    let why = "* Version v1, v2 required";
    assert_eq!(up_to_date(fresh(false, why)), Some((json!("False"), json!("NotUpToDate"), json!(why))));
    assert_eq!(up_to_date(None), None, "without an owner nobody reports it");
}

#[test]
fn a_machine_goes_step_by_step() {
    let mut s = snapshot();
    let mut machine = Machine::clone(&s.machine);
    machine.metadata.deletion_timestamp = serde_json::from_value(json!("2026-08-01T00:00:00Z")).unwrap();
    machine.metadata.annotations = Some([(PRE_TERMINATE_CONTROL_PLANE.to_owned(), String::new())].into());
    machine.status = serde_json::from_value(json!({"nodeRef": {"name": "n"}})).unwrap();
    s.machine = Arc::new(machine.clone());
    s.node = node();
    let ends = |s: &Snapshot| {
        (decide(s).to_string().lines().last().unwrap().to_owned(), node::decide(s).to_string())
    };
    assert_eq!(ends(&s).0, "waits: WaitingForPreTerminateHook");
    machine.metadata.annotations = None;
    s.machine = Arc::new(machine);
    assert!(decide(&s).to_string().contains("delete Metal3Machine metal3/m"));
    s.infrastructure = None;
    assert!(decide(&s).to_string().contains("delete KubeadmConfig metal3/m"));
    s.config = None;
    assert_eq!(ends(&s), ("waits: DeletingNode".to_owned(), "delete Node n\ndone".to_owned()));
    s.node = None;
    assert!(decide(&s).to_string().contains("\"finalizers\":[]"));
}

#[test]
fn the_node_of_a_cluster_that_goes_or_of_the_last_control_plane_stays() {
    let going = |last: bool, cluster_goes: bool| {
        let mut s = snapshot();
        let mut machine = Machine::clone(&s.machine);
        machine.metadata.deletion_timestamp = serde_json::from_value(json!("2026-08-01T00:00:00Z")).unwrap();
        machine.status = serde_json::from_value(json!({"nodeRef": {"name": "n"}})).unwrap();
        let mut cluster = Cluster::default();
        if cluster_goes {
            cluster.metadata.deletion_timestamp.clone_from(&machine.metadata.deletion_timestamp);
        }
        (s.infrastructure, s.config, s.node) = (None, None, node());
        (s.machine, s.cluster, s.is_last_of_control_plane) =
            (Arc::new(machine), Some(Arc::new(cluster)), last);
        node::decide(&s).is_quiet() && decide(&s).to_string().contains("\"finalizers\":[]")
    };
    assert!(going(true, false));
    assert!(going(false, true));
    assert!(!going(false, false));
}

#[test]
fn the_node_gets_the_annotations_of_its_machine() {
    let mut s = snapshot();
    s.node = node();
    assert!(node::decide(&s).is_quiet(), "not before the machine knows it");
    let mut machine = Machine::clone(&s.machine);
    machine.status = serde_json::from_value(json!({"nodeRef": {"name": "n"}})).unwrap();
    s.machine = Arc::new(machine);
    let text = node::decide(&s).to_string();
    for mark in ["\"cluster.x-k8s.io/machine\":\"m\"", "\"cluster.x-k8s.io/owner-kind\":\"MachineSet\""] {
        assert!(text.contains(mark), "{text}");
    }
}

#[test]
fn a_paused_cluster_stops_its_machines() {
    let mut s = snapshot();
    let mut cluster = Cluster::default();
    cluster.spec.paused = Some(true);
    s.cluster = Some(Arc::new(cluster));
    assert!(decide(&s).is_quiet());
}
