//! Objects that were stored in an older version are stored again, and the CRD says so.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may panic")]

mod common;

use std::time::Duration;

use capm3_engine::{ObjectKey, ResourceKind};
use capm3_lab::{Lab, Options, manifests::Manifest};
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
async fn every_object_of_a_kind_is_stored_again_once_per_generation_of_its_crd() {
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

/// Every kind with two versions: the six that the Go provider migrates, and the three that it leaves out.
const NINE: [&str; 9] = [
    "Metal3Cluster",
    "Metal3ClusterTemplate",
    "Metal3Machine",
    "Metal3MachineTemplate",
    "Metal3Data",
    "Metal3DataTemplate",
    "Metal3DataClaim",
    "Metal3Remediation",
    "Metal3RemediationTemplate",
];

/// One object of each of the nine kinds in a namespace.
fn one_of_each(namespace: &str) -> Vec<Manifest> {
    let strategy = json!({"strategy": {"type": "Reboot", "timeoutSeconds": 300, "retryLimit": 2}});
    let endpoint = json!({"controlPlaneEndpoint": {"host": "h", "port": 6443}});
    let image = json!({"image": {"url": "http://192.0.2.1/i", "checksum": "c"}});
    let of_template = |spec: &Value| json!({"template": {"spec": spec}});
    let specs = [
        endpoint.clone(),
        of_template(&endpoint),
        image.clone(),
        of_template(&image),
        json!({"index": 3, "template": {"name": "one"}, "claim": {"name": "one"}}),
        json!({"metaData": {"strings": [{"key": "k", "value": "v"}]}}),
        json!({"template": {"name": "one"}}),
        strategy.clone(),
        of_template(&strategy),
    ];
    let one = |(kind, spec): (&str, Value)| {
        // Data is named after its template and index.
        let name = if kind == "Metal3Data" { "one-3" } else { "one" };
        let object = json!({"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": kind,
            "metadata": {"name": name, "namespace": namespace}, "spec": spec});
        Manifest { file: "test".to_owned(), object }
    };
    let home = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
    let home = Manifest { file: "test".to_owned(), object: home };
    std::iter::once(home).chain(NINE.into_iter().zip(specs).map(one)).collect()
}

/// All nine kinds are as if v1beta1 had been stored, and then every object of them is written and the CRD names only the storage
/// version. Kind, objects and writes.
async fn stored_again(lab: &Lab) -> Vec<(&'static str, u64, u64)> {
    let plurals = NINE.map(|kind| format!("{}s", kind.to_lowercase()));
    let crd_of = |plural: &str| format!("{plural}.infrastructure.cluster.x-k8s.io");
    let before: Vec<u64> = plurals.iter().map(|plural| patches_of(lab, plural)).collect();
    for plural in &plurals {
        store_kind_in_older_version(lab, &crd_of(plural)).await;
    }
    tokio::time::sleep(LATER).await;
    let mut rows = Vec::new();
    for ((kind, plural), before) in NINE.into_iter().zip(&plurals).zip(before) {
        let (objects, writes) = (lab.objects(kind).len() as u64, patches_of(lab, plural) - before);
        assert!(objects > 0, "there are {plural}");
        assert!(writes >= objects, "{writes} writes of {objects} {plural}");
        let crd = get(lab, "CustomResourceDefinition", &crd_of(plural));
        assert_eq!(crd["status"]["storedVersions"], json!(["v1beta2"]), "{plural}");
        assert!(crd.pointer(OBSERVED).is_some(), "{plural}");
        rows.push((kind, objects, writes));
    }
    rows
}

/// After an upgrade every stored object of the nine kinds is written once, and the CRD names only the storage version; field
/// managers are covered by the rules in `decide.rs`.
#[tokio::test(start_paused = true)]
async fn api139_stored_objects_of_nine_kinds_are_rewritten_to_the_storage_version() {
    let options = Options { crd_migration: Some(Phases::default()), ..Options::default() };
    let lab = Lab::start(&options).await.unwrap();
    lab.apply(&three_racks()).await.unwrap();
    let is_made =
        |kind: &str| ["Metal3ClusterTemplate", "Metal3Remediation"].iter().any(|it| kind.starts_with(it));
    let others = one_of_each("metal3");
    lab.apply(&others.into_iter().filter(|it| is_made(it.kind())).collect::<Vec<_>>()).await.unwrap();
    rest(&lab).await;
    tokio::time::sleep(LATER).await;
    for (kind, objects, writes) in stored_again(&lab).await {
        assert_eq!(writes, objects, "one write for each {kind}");
    }
}

/// A CRD counts as migrated only if nothing of it is left anywhere, so objects of namespaces that the provider does not watch
/// are written too.
#[tokio::test(start_paused = true)]
async fn a_provider_of_one_namespace_migrates_the_objects_of_all_namespaces() {
    let options = Options {
        crd_migration: Some(Phases::default()),
        namespace: "metal3".to_owned(),
        ..Options::default()
    };
    let lab = Lab::start(&options).await.unwrap();
    lab.apply(&one_of_each("elsewhere")).await.unwrap();
    rest(&lab).await;
    tokio::time::sleep(LATER).await;
    assert_eq!(stored_again(&lab).await.len(), NINE.len());
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
