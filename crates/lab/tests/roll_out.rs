//! While a new version is rolled out, the old machines say that they are not up to date, and the new ones that they are.
//! There is no host to spare, so the roll-out stands still in the middle.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may panic")]

mod common;

use capm3_engine::ResourceKind;
use capm3_lab::{Lab, manifests::Manifest};
use common::*;
use serde_json::{Value, json};

const OLD: &str = "v1.30.0";
const NEW: &str = "v1.31.0";

/// The three racks with one worker host a rack, all of which are in use then.
fn without_spare_hosts() -> Vec<Manifest> {
    let mut manifests = three_racks();
    manifests.retain(|m| !["host-3", "host-4"].iter().any(|name| m.key().name.ends_with(name)));
    manifests
}

/// Version, status, reason and message of UpToDate of every Machine of an owner, by version.
fn machines_of(lab: &Lab, prefix: &str) -> Vec<[String; 4]> {
    let machines = lab.objects("Machine");
    let mut found: Vec<[String; 4]> = machines
        .iter()
        .filter(|machine| name(machine).starts_with(prefix))
        .map(|machine| {
            let conditions = machine.pointer("/status/conditions").and_then(Value::as_array).unwrap();
            let found = conditions.iter().find(|c| c["type"] == "UpToDate").unwrap();
            let of = |member: &str| text(found, member);
            [text(machine, "/spec/version"), of("/status"), of("/reason"), of("/message")]
        })
        .collect();
    found.sort();
    found
}

fn row(version: &str, status: &str, reason: &str, message: &str) -> [String; 4] {
    [version, status, reason, message].map(str::to_owned)
}

async fn roll_out(kind: &ResourceKind, owner: &str, patch: Value) {
    let lab = settled(&without_spare_hosts()).await;
    let current = row(OLD, "True", "UpToDate", "");
    assert_eq!(machines_of(&lab, owner), vec![current; 3], "before");
    lab.patch(kind, &key(owner), &patch).await.unwrap();
    rest(&lab).await;
    let old = row(OLD, "False", "NotUpToDate", "* Version v1.30.0, v1.31.0 required");
    let expected = [vec![old; 3], vec![row(NEW, "True", "UpToDate", "")]].concat();
    assert_eq!(machines_of(&lab, owner), expected, "the first new machine waits for a host");
    let status = get(&lab, &kind.kind, owner)["status"].clone();
    assert_eq!((&status["replicas"], &status["upToDateReplicas"]), (&json!(4), &json!(1)));
    lab.patch(kind, &key(owner), &back(&patch)).await.unwrap();
    rest(&lab).await;
    let current = row(OLD, "True", "UpToDate", "");
    assert_eq!(machines_of(&lab, owner), vec![current; 3], "taken back");
}

fn back(patch: &Value) -> Value {
    serde_json::from_str(&patch.to_string().replace(NEW, OLD)).unwrap()
}

#[tokio::test(start_paused = true)]
async fn workers_of_an_old_version_are_not_up_to_date() {
    let patch = json!({"spec": {"template": {"spec": {"version": NEW}}}});
    roll_out(&capi("MachineDeployment"), "my-cluster-workers", patch).await;
}

#[tokio::test(start_paused = true)]
async fn control_plane_machines_of_an_old_version_are_not_up_to_date() {
    let object =
        json!({"apiVersion": "controlplane.cluster.x-k8s.io/v1beta2", "kind": "KubeadmControlPlane"});
    let kind = Manifest { file: String::new(), object }.resource();
    roll_out(&kind, "my-cluster-cp", json!({"spec": {"version": NEW}})).await;
}

#[tokio::test(start_paused = true)]
async fn machines_of_an_old_template_are_not_up_to_date() {
    let lab = settled(&without_spare_hosts()).await;
    let reference = json!({"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "Metal3MachineTemplate", "name": "next"});
    let patch = json!({"spec": {"template": {"spec": {"infrastructureRef": reference}}}});
    lab.patch(&capi("MachineDeployment"), &key("my-cluster-workers"), &patch).await.unwrap();
    rest(&lab).await;
    let old = row(OLD, "False", "NotUpToDate", "* Metal3Machine is not up-to-date");
    assert_eq!(machines_of(&lab, "my-cluster-workers"), vec![old; 3]);
    let sets = lab.objects("MachineSet");
    let mut counts: Vec<(String, Value)> = sets
        .iter()
        .map(|set| (condition(set, "MachinesReady").1, set["status"]["upToDateReplicas"].clone()))
        .collect();
    counts.sort_by_key(|(reason, _)| reason.clone());
    // The new set cannot make machines, for its template is not there.
    assert_eq!(counts, [("NotReady".to_owned(), json!(0)), ("Ready".to_owned(), json!(0))]);
}
