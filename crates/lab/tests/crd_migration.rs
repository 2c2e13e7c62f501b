//! Objects that were stored in an older version are stored anew, and the CRD says so.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may panic")]

mod common;

use std::time::Duration;

use capm3_engine::{ObjectKey, ResourceKind};
use capm3_lab::{Lab, Options};
use capm3_provider::{crd_migration::Phases, host_crd::definitions};
use common::*;
use serde_json::{Value, json};

const CRD: &str = "metal3machines.infrastructure.cluster.x-k8s.io";
const OBSERVED: &str = "/metadata/annotations/crd-migration.cluster.x-k8s.io~1observed-generation";

/// Longer than the provider waits until it reads the CRDs again.
const LATER: Duration = Duration::from_secs(700);

fn crd(lab: &Lab) -> Value {
    get(lab, "CustomResourceDefinition", CRD).as_ref().clone()
}

fn patches_of_machines(lab: &Lab) -> u64 {
    patches_of(lab, "metal3machines")
}

/// How often objects of a kind were patched, their status aside.
fn patches_of(lab: &Lab, plural: &str) -> u64 {
    let requests = lab.server().requests();
    let is_it = |resource: &str| resource.rsplit('/').next() == Some(plural);
    let patches =
        requests.iter().filter(|r| r.verb == "patch" && is_it(&r.resource) && r.subresource.is_empty());
    patches.map(|r| r.count).sum()
}

/// As if version v1beta1 of machines had been stored before.
async fn store_in_older_version(lab: &Lab) {
    store_kind_in_older_version(lab, CRD).await;
}

/// As if version v1beta1 of the kind of a CRD had been stored before.
async fn store_kind_in_older_version(lab: &Lab, crd: &str) {
    let key = ObjectKey::new("", crd);
    let kind: ResourceKind = definitions();
    let stored = json!({"status": {"storedVersions": ["v1beta1", "v1beta2"]}});
    lab.patch_status(&kind, &key, &stored).await.unwrap();
    let annotations = json!({"crd-migration.cluster.x-k8s.io/observed-generation": null});
    lab.patch(&kind, &key, &json!({"metadata": {"annotations": annotations}})).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn every_object_of_a_kind_is_stored_anew_once_per_generation_of_its_crd() {
    let options = Options { crd_migration: Some(Phases::default()), ..Options::default() };
    let lab = Lab::start(&options).await.unwrap();
    lab.apply(&three_racks()).await.unwrap();
    rest(&lab).await;
    tokio::time::sleep(LATER).await;
    let machines = lab.objects("Metal3Machine").len() as u64;
    assert!(machines > 0, "there are machines");
    let generation = crd(&lab)["metadata"]["generation"].as_i64().unwrap().to_string();
    assert_eq!(crd(&lab).pointer(OBSERVED), Some(&json!(generation)));

    store_in_older_version(&lab).await;
    let before = patches_of_machines(&lab);
    tokio::time::sleep(LATER).await;
    assert_eq!(patches_of_machines(&lab) - before, machines, "one write per object");
    assert_eq!(crd(&lab)["status"]["storedVersions"], json!(["v1beta2"]));
    assert_eq!(crd(&lab).pointer(OBSERVED), Some(&json!(generation)));

    tokio::time::sleep(LATER).await;
    assert_eq!(patches_of_machines(&lab) - before, machines, "and no more");
}

/// The kinds that the Go provider migrates.
const SIX: [&str; 6] = [
    "Metal3Cluster",
    "Metal3ClusterTemplate",
    "Metal3Machine",
    "Metal3MachineTemplate",
    "Metal3Data",
    "Metal3DataTemplate",
];

/// After an upgrade every stored object of the six kinds is written once, and the CRD names only the storage version. The three
/// kinds that the Go provider leaves out are migrated too; field managers are covered by the rules in `decide.rs`.
#[tokio::test(start_paused = true)]
async fn api139_stored_objects_of_six_kinds_are_rewritten_to_the_storage_version() {
    let options = Options { crd_migration: Some(Phases::default()), ..Options::default() };
    let lab = Lab::start(&options).await.unwrap();
    lab.apply(&three_racks()).await.unwrap();
    let template = "apiVersion: infrastructure.cluster.x-k8s.io/v1beta2\nkind: Metal3ClusterTemplate\n\
        metadata: {name: one, namespace: metal3}\n\
        spec: {template: {spec: {controlPlaneEndpoint: {host: h, port: 6443}}}}\n";
    lab.apply(&yaml(template)).await.unwrap();
    rest(&lab).await;
    tokio::time::sleep(LATER).await;
    let plurals = SIX.map(|kind| format!("{}s", kind.to_lowercase()));
    let crd_of = |plural: &str| format!("{plural}.infrastructure.cluster.x-k8s.io");
    let before: Vec<u64> = plurals.iter().map(|plural| patches_of(&lab, plural)).collect();
    for plural in &plurals {
        store_kind_in_older_version(&lab, &crd_of(plural)).await;
    }
    tokio::time::sleep(LATER).await;
    for ((kind, plural), before) in SIX.iter().zip(&plurals).zip(before) {
        let objects = lab.objects(kind).len() as u64;
        assert!(objects > 0, "there are {plural}");
        assert_eq!(patches_of(&lab, plural) - before, objects, "one write for each of {plural}");
        let crd = get(&lab, "CustomResourceDefinition", &crd_of(plural));
        assert_eq!(crd["status"]["storedVersions"], json!(["v1beta2"]), "{plural}");
        assert!(crd.pointer(OBSERVED).is_some(), "{plural}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_phase_that_is_skipped_leaves_stored_versions_alone() {
    let phases = Phases { storage_version: false, managed_fields: true };
    let options = Options { crd_migration: Some(phases), ..Options::default() };
    let lab = Lab::start(&options).await.unwrap();
    lab.apply(&three_racks()).await.unwrap();
    rest(&lab).await;
    store_in_older_version(&lab).await;
    let before = patches_of_machines(&lab);
    tokio::time::sleep(LATER).await;
    assert_eq!(patches_of_machines(&lab), before);
    assert_eq!(crd(&lab)["status"]["storedVersions"], json!(["v1beta1", "v1beta2"]));
}
