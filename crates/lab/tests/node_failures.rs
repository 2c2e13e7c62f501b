//! Nodes that fail on request, what becomes of what runs on them, and the MachineHealthCheck that notices.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may panic")]

mod common;

use std::{path::Path, sync::Arc, time::Duration};

use capm3_engine::{ApiClient, ObjectKey};
use capm3_lab::{
    Lab,
    manifests::{self, Manifest},
};
use common::{hosts::*, *};
use serde_json::{Value, json};

const CLUSTER: &str = "metal3/my-cluster";
const FAIL: &str = "/metadata/annotations/capm3.example~1fail";
const UNIT: &str = "test";

/// The manifests of `examples/remediation`.
fn example() -> Vec<Manifest> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/remediation");
    manifests::read(&folder).unwrap()
}

/// The same without its health checks.
fn unchecked() -> Vec<Manifest> {
    let mut all = example();
    all.retain(|m| m.kind() != "MachineHealthCheck");
    all
}

fn health_check(remediation: &Value) -> Vec<Manifest> {
    let check = json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "MachineHealthCheck",
        "metadata": {"name": "workers", "namespace": "metal3"}, "spec": {"clusterName": "my-cluster",
            "selector": {"matchLabels": {"cluster.x-k8s.io/deployment-name": "my-cluster-workers"}},
            "checks": {"unhealthyNodeConditions": [{"type": "Ready", "status": "Unknown", "timeoutSeconds": 300}]},
            "remediation": remediation}});
    vec![Manifest { file: UNIT.to_owned(), object: check }]
}

fn workload(lab: &Lab) -> ApiClient {
    lab.client().below(format!("/clusters/{CLUSTER}"))
}

fn of_workload(lab: &Lab, kind: &str, name_: &str) -> Option<Arc<Value>> {
    let mut all = lab.server().objects(Some(CLUSTER)).into_iter();
    all.find(|object| object["kind"] == kind && name(object) == name_)
}

fn ready(lab: &Lab, node: &str) -> String {
    condition(&of_workload(lab, "Node", node).unwrap(), "Ready").0
}

/// A worker: its Machine, its Node and its Metal3Machine have one name.
fn worker(lab: &Lab) -> (String, String) {
    let machine = machines(lab, "my-cluster-workers").remove(0);
    (name(&machine), host_of(&machine))
}

async fn patch_node(lab: &Lab, node: &str, patch: Value) {
    let key = ObjectKey::new("", node);
    workload(lab).merge_patch(&resource("v1", "Node"), &key, None, &patch).await.unwrap();
}

async fn fail(lab: &Lab, node: &str, how: &str) {
    patch_node(lab, node, json!({"metadata": {"annotations": {"capm3.example/fail": how}}})).await;
    rest(lab).await;
}

/// Powers a host off and, after `meanwhile`, on again.
async fn power_cycle<F: Future<Output = ()>>(lab: &Lab, host: &str, meanwhile: F) {
    let asks = |value: Value| json!({"metadata": {"annotations": {"reboot.metal3.io/test": value}}});
    patch_host(lab, host, asks(json!("{\"mode\":\"hard\"}"))).await;
    rest(lab).await;
    assert_eq!(get(lab, "BareMetalHost", host)["status"]["poweredOn"], false);
    meanwhile.await;
    patch_host(lab, host, asks(Value::Null)).await;
    rest(lab).await;
    assert_eq!(get(lab, "BareMetalHost", host)["status"]["poweredOn"], true);
}

async fn delete_node(lab: &Lab, node: &str) {
    workload(lab).delete(&resource("v1", "Node"), &ObjectKey::new("", node), None).await.unwrap();
    rest(lab).await;
}

#[tokio::test(start_paused = true)]
async fn the_example_comes_up_and_its_health_checks_find_every_machine_healthy() {
    let lab = settled(&example()).await;
    for (check, expected) in [("workers", 2), ("control-plane", 3)] {
        let status = get(&lab, "MachineHealthCheck", check)["status"].clone();
        assert_eq!(
            (&status["expectedMachines"], &status["currentHealthy"]),
            (&json!(expected), &json!(expected))
        );
    }
    assert!(lab.objects("Metal3Remediation").is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_node_that_hangs_is_healed_by_a_power_cycle_and_the_annotation_goes() {
    let lab = settled(&unchecked()).await;
    let (node, host) = worker(&lab);
    fail(&lab, &node, "hang").await;
    assert_eq!(ready(&lab, &node), "Unknown");
    assert_eq!(text(&of_workload(&lab, "Node", &node).unwrap(), FAIL), "hanging");
    power_cycle(&lab, &host, async {}).await;
    assert_eq!(ready(&lab, &node), "True");
    assert_eq!(of_workload(&lab, "Node", &node).unwrap().pointer(FAIL), None);
}

#[tokio::test(start_paused = true)]
async fn a_node_that_is_dead_stays_so_after_a_power_cycle() {
    let lab = settled(&unchecked()).await;
    let (node, host) = worker(&lab);
    fail(&lab, &node, "dead").await;
    power_cycle(&lab, &host, async {}).await;
    assert_eq!(ready(&lab, &node), "Unknown");
    delete_node(&lab, &node).await;
    power_cycle(&lab, &host, async {}).await;
    assert!(of_workload(&lab, "Node", &node).is_none());
}

#[tokio::test(start_paused = true)]
async fn a_deleted_node_is_registered_again_after_a_power_cycle_and_not_while_it_hangs() {
    let lab = settled(&unchecked()).await;
    let (node, host) = worker(&lab);
    patch_node(&lab, &node, json!({"metadata": {"labels": {"example.com/mine": "x"}}})).await;
    fail(&lab, &node, "hang").await;
    let before = text(&of_workload(&lab, "Node", &node).unwrap(), "/metadata/uid");
    delete_node(&lab, &node).await;
    tokio::time::sleep(Duration::from_secs(600)).await;
    assert!(of_workload(&lab, "Node", &node).is_none(), "its kubelet hangs");
    power_cycle(&lab, &host, async {}).await;
    let again = of_workload(&lab, "Node", &node).unwrap();
    assert_ne!(text(&again, "/metadata/uid"), before);
    assert_eq!(condition(&again, "Ready").0, "True");
    assert_eq!(
        again.pointer("/metadata/labels/example.com~1mine"),
        None,
        "labels come from the kubelet alone"
    );
    assert_eq!(condition(&get(&lab, "Machine", &node), "NodeReady").0, "True");
    // A remediation that restores the annotations of the Node does not make it fail again.
    fail(&lab, &node, "hanging").await;
    assert_eq!(
        (ready(&lab, &node).as_str(), of_workload(&lab, "Node", &node).unwrap().pointer(FAIL)),
        ("True", None)
    );
}

#[tokio::test(start_paused = true)]
async fn a_machine_of_a_dead_node_is_replaced_on_another_host_if_its_owner_is_to_act() {
    let mut all = unchecked();
    all.extend(health_check(&json!({"triggerIf": {"unhealthyLessThanOrEqualTo": 1}})));
    let lab = settled(&all).await;
    let (node, _) = worker(&lab);
    let before = tokio::time::Instant::now();
    fail(&lab, &node, "dead").await;
    // Conditions have whole seconds, and the replacement takes some more.
    let seconds = before.elapsed().as_secs();
    assert!((299..=330).contains(&seconds), "neither before its time nor polled: {seconds} s");
    assert!(lab.object("Machine", &node).is_none() && of_workload(&lab, "Node", &node).is_none());
    let now = machines(&lab, "my-cluster-workers");
    assert_eq!(now.len(), 2);
    assert!(now.iter().all(|machine| ready(&lab, &name(machine)) == "True"));
    let check = get(&lab, "MachineHealthCheck", "workers");
    assert_eq!(check["status"]["expectedMachines"], 2);
    assert_eq!(check["status"]["currentHealthy"], 2);
}

#[tokio::test(start_paused = true)]
async fn a_machine_health_check_makes_a_remediation_of_the_name_of_the_machine() {
    let mut all = unchecked();
    let reference = json!({"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2",
        "kind": "Metal3RemediationTemplate", "name": "reboot"});
    all.extend(health_check(&json!({"templateRef": reference})));
    let lab = settled(&all).await;
    let (node, _) = worker(&lab);
    fail(&lab, &node, "hang").await;
    let group = "infrastructure.cluster.x-k8s.io";
    let history = lab.server().history(None, group, "metal3remediations").unwrap();
    let made = &history.first().unwrap().object;
    assert_eq!((name(made), text(made, "/metadata/namespace")), (node.clone(), "metal3".to_owned()));
    assert_eq!(text(made, "/metadata/labels/cluster.x-k8s.io~1cluster-name"), "my-cluster");
    let owner = &made["metadata"]["ownerReferences"][0];
    assert_eq!(
        (&owner["kind"], &owner["name"], owner.get("controller")),
        (&json!("Machine"), &json!(node), None)
    );
    let strategy = json!({"type": "Reboot", "retryLimit": 1, "timeoutSeconds": 100});
    assert_eq!(made["spec"]["strategy"], strategy);
}

#[tokio::test(start_paused = true)]
async fn pods_and_attachments_of_a_node_go_with_the_out_of_service_taint_and_stay_without_it() {
    let lab = settled(&unchecked()).await;
    let (node, _) = worker(&lab);
    let pod = json!({"metadata": {"name": "app", "namespace": "default"}, "spec": {"nodeName": node,
        "containers": [{"name": "app", "image": "app"}]}});
    workload(&lab).create(&resource("v1", "Pod"), "default", pod).await.unwrap();
    let attachment = json!({"metadata": {"name": "va"}, "spec": {"attacher": "csi.example.com", "nodeName": node,
        "source": {"persistentVolumeName": "pv"}}});
    let attachments = resource("storage.k8s.io/v1", "VolumeAttachment");
    workload(&lab).create(&attachments, "", attachment).await.unwrap();
    let there = |lab: &Lab| {
        [("Pod", "app"), ("VolumeAttachment", "va")].map(|(kind, it)| of_workload(lab, kind, it).is_some())
    };
    fail(&lab, &node, "hang").await;
    assert_eq!(there(&lab), [true, true], "nobody knows whether the node still runs them");
    let taint =
        json!([{"key": "node.kubernetes.io/out-of-service", "value": "nodeshutdown", "effect": "NoExecute"}]);
    patch_node(&lab, &node, json!({"spec": {"taints": taint}})).await;
    rest(&lab).await;
    assert_eq!(there(&lab), [false, false]);
}
