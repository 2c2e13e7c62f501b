//! The example with its health checks, and what is seen of a remediation from outside.

use std::{path::Path, sync::Arc, time::Duration};

use capm3_engine::{ApiClient, ObjectKey};
use capm3_lab::{
    Lab, Options,
    manifests::{self, Manifest},
};
use serde_json::{Value, json};

use crate::common::{hosts::*, *};

pub const CLUSTER: &str = "metal3/my-cluster";
pub const POWER_OFF: &str = "reboot.metal3.io/metal3-remediation-";
const GROUP: &str = "infrastructure.cluster.x-k8s.io";

/// The manifests of `examples/remediation`.
pub fn example() -> Vec<Manifest> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/remediation");
    manifests::read(&folder).unwrap()
}

/// The same with another strategy.
pub fn with_strategy(strategy: &Value) -> Vec<Manifest> {
    let mut all = example();
    let change_ = json!({"spec": {"template": {"spec": {"strategy": strategy}}}});
    change(&mut all, "Metal3RemediationTemplate", "reboot", &change_);
    all
}

/// A lab in which everything is up.
pub async fn up() -> Lab {
    settled(&example()).await
}

/// The same with options.
pub async fn up_with(options: &Options, manifests: &[Manifest]) -> Lab {
    let lab = Lab::start(options).await.unwrap();
    lab.apply(manifests).await.unwrap();
    rest(&lab).await;
    lab
}

pub fn workload(lab: &Lab) -> ApiClient {
    lab.client().below(format!("/clusters/{CLUSTER}"))
}

/// An object of the workload cluster.
pub fn of_workload(lab: &Lab, kind: &str, name_: &str) -> Option<Arc<Value>> {
    let mut all = lab.server().objects(Some(CLUSTER)).into_iter();
    all.find(|object| object["kind"] == kind && name(object) == name_)
}

pub fn ready(lab: &Lab, node: &str) -> String {
    of_workload(lab, "Node", node).map(|node| condition(&node, "Ready").0).unwrap_or_default()
}

/// A worker: its Machine, its Node and its Metal3Machine have one name. And its host.
pub fn worker(lab: &Lab) -> (String, String) {
    let machine = machines(lab, "my-cluster-workers").remove(0);
    (name(&machine), host_of(&machine))
}

pub async fn patch_node(lab: &Lab, node: &str, patch: Value) {
    let key = ObjectKey::new("", node);
    workload(lab).merge_patch(&resource("v1", "Node"), &key, None, &patch).await.unwrap();
}

/// Lets the kubelet of a Node fail.
pub async fn fail(lab: &Lab, node: &str, how: &str) {
    patch_node(lab, node, json!({"metadata": {"annotations": {"capm3.example/fail": how}}})).await;
}

/// A Pod and a volume on a Node.
pub async fn run_something(lab: &Lab, node: &str) {
    run(lab, node, &json!([])).await;
    let attachment = json!({"metadata": {"name": "va"}, "spec": {"attacher": "csi.example.com", "nodeName": node,
        "source": {"persistentVolumeName": "pv"}}});
    workload(lab).create(&resource("storage.k8s.io/v1", "VolumeAttachment"), "", attachment).await.unwrap();
}

/// A Pod on a Node that never ends.
pub async fn run_for_ever(lab: &Lab, node: &str) {
    run(lab, node, &json!(["example.com/stuck"])).await;
}

async fn run(lab: &Lab, node: &str, finalizers: &Value) {
    let metadata = json!({"name": "app", "namespace": "default", "finalizers": finalizers});
    let pod = json!({"metadata": metadata, "spec": {"nodeName": node,
        "containers": [{"name": "app", "image": "app"}]}});
    workload(lab).create(&resource("v1", "Pod"), "default", pod).await.unwrap();
}

/// What a member of every revision of a remediation was, without repetitions.
pub fn past(lab: &Lab, pointer: &str) -> Vec<String> {
    let history = lab.server().history(None, GROUP, "metal3remediations").unwrap();
    let mut seen: Vec<String> = history
        .iter()
        .filter_map(|it| it.object.pointer(pointer))
        .map(|it| it.as_str().map_or_else(|| it.to_string(), str::to_owned))
        .collect();
    seen.dedup();
    seen
}

/// Reasons of condition `Remediated` in the order in which they were reported.
pub fn reasons(lab: &Lab) -> Vec<String> {
    let history = lab.server().history(None, GROUP, "metal3remediations").unwrap();
    let mut seen: Vec<String> =
        history.iter().map(|it| condition(&it.object, "Remediated").1).filter(|it| !it.is_empty()).collect();
    seen.dedup();
    seen
}

/// How often a host was powered off since it was provisioned.
pub fn power_cycles(lab: &Lab, host: &str) -> usize {
    let history = lab.server().history(None, "metal3.io", "baremetalhosts").unwrap();
    let of_host = history.iter().filter(|it| name(&it.object) == host);
    let mut states: Vec<bool> = of_host
        .skip_while(|it| text(&it.object, "/status/provisioning/state") != "provisioned")
        .take_while(|it| text(&it.object, "/status/provisioning/state") == "provisioned")
        .map(|it| it.object["status"]["poweredOn"] == json!(true))
        .collect();
    states.dedup();
    states.iter().filter(|is_on| !**is_on).count()
}

/// What a remediation must not leave behind.
pub fn leftovers(lab: &Lab) -> Vec<String> {
    leftovers_of(lab, CLUSTER)
}

/// The same for another workload cluster.
pub fn leftovers_of(lab: &Lab, cluster: &str) -> Vec<String> {
    let mut left = Vec::new();
    let hosts = lab.objects("BareMetalHost");
    assert!(!hosts.is_empty());
    for host in hosts {
        let annotations = host["metadata"]["annotations"].as_object().cloned().unwrap_or_default();
        left.extend(
            annotations
                .keys()
                .filter(|key| key.starts_with(POWER_OFF))
                .map(|key| format!("{}: {key}", name(&host))),
        );
        if !host["spec"]["consumerRef"].is_null()
            && host["spec"]["online"] == true
            && host["status"]["poweredOn"] == false
        {
            left.push(format!("{} is off", name(&host)));
        }
    }
    for node in lab.server().objects(Some(cluster)).iter().filter(|it| it["kind"] == "Node") {
        let taints = node["spec"]["taints"].as_array().cloned().unwrap_or_default();
        if taints.iter().any(|taint| taint["key"] == "node.kubernetes.io/out-of-service") {
            left.push(format!("{} is tainted", name(node)));
        }
    }
    for remediation in lab.objects("Metal3Remediation") {
        let finalizers = remediation["metadata"]["finalizers"].as_array().map_or(0, Vec::len);
        let annotations = remediation["metadata"]["annotations"].as_object().cloned().unwrap_or_default();
        if finalizers > 0 || annotations.keys().any(|key| key.contains("backup")) {
            left.push(format!("{} has {annotations:?} and {finalizers} finalizers", name(&remediation)));
        }
    }
    left
}

/// Waits, for a bounded time, until something is so.
pub async fn until(lab: &Lab, what: &str, is_so: impl Fn(&Lab) -> bool) {
    for _ in 0..20_000 {
        if is_so(lab) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("never: {what}; reported: {:?}; phases: {:?}", reasons(lab), past(lab, "/status/phase"));
}

/// Waits until what ran on a Node is waited for.
pub async fn until_drained(lab: &Lab, node: &str) {
    until(lab, "the Node is drained", |lab| {
        let there = lab.object("Metal3Remediation", node);
        there.is_some_and(|it| condition(&it, "Remediated").1 == "WaitingForDrain")
    })
    .await;
}
