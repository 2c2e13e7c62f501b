//! From Metal3Machine to claim, data, Secret and host.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may panic")]

mod common;

use common::*;
use serde_json::{Value, json};

/// The example with metadata in the templates, and only its control plane.
fn control_plane_with_meta_data() -> Vec<capm3_lab::manifests::Manifest> {
    let mut manifests = three_racks();
    manifests.retain(|m| m.kind() != "MachineDeployment");
    for rack in 1..=3 {
        let patch = json!({"spec": {"metaData": {
            "objectNames": [{"key": "machine-name", "object": "metal3machine"}],
            "indexes": [{"key": "index"}]}}});
        change(&mut manifests, "Metal3DataTemplate", &format!("m3dt-rack{rack}"), &patch);
    }
    manifests
}

/// A Metal3Machine without an owner Machine takes nothing and says so in a condition.
#[tokio::test(start_paused = true)]
async fn s35_a_machine_without_owner_takes_nothing_and_says_so() {
    let mut manifests = racks_without_machines();
    manifests.extend(yaml(
        "apiVersion: infrastructure.cluster.x-k8s.io/v1beta2\nkind: Metal3Machine\nmetadata: {name: lonely, namespace: metal3}\nspec: {customDeploy: {method: install}}\n",
    ));
    let lab = settled(&manifests).await;
    let machine = get(&lab, "Metal3Machine", "lonely");
    assert_eq!(
        condition(&machine, "AssociateBareMetalHost"),
        ("False".into(), "WaitingForMetal3MachineOwnerRef".into())
    );
    assert_eq!(condition(&machine, "Ready").0, "False");
    for host in lab.objects("BareMetalHost") {
        assert!(host.pointer("/spec/consumerRef").is_none());
    }
}

/// Without `spec.userData`, the bootstrap Secret is named in the status and on the host.
#[tokio::test(start_paused = true)]
async fn s39_the_bootstrap_secret_is_the_user_data() {
    let lab = settled(&control_plane_with_meta_data()).await;
    assert_eq!(lab.objects("Metal3Machine").len(), 3);
    for machine in lab.objects("Metal3Machine") {
        assert_eq!(machine.pointer("/spec/userData"), None);
        let name = name(&machine);
        let secret = text(&get(&lab, "Machine", &name), "/spec/bootstrap/dataSecretName");
        assert!(!secret.is_empty());
        assert_eq!(text(&machine, "/status/userData/name"), secret);
        let host = text(&machine, "/metadata/annotations/metal3.io~1BareMetalHost").replace("metal3/", "");
        assert_eq!(text(&get(&lab, "BareMetalHost", &host), "/spec/userData/name"), secret);
    }
}

/// While a machine with a data template has no rendered data, there is no image on its host and `Metal3DataReady` is
/// false; once it is ready, the references appear in the status and on the host.
#[tokio::test(start_paused = true)]
async fn s46_no_image_before_the_data_is_ready() {
    let mut manifests = control_plane_with_meta_data();
    let pools: Vec<_> = manifests.iter().filter(|m| m.kind() == "IPPool").cloned().collect();
    manifests.retain(|m| m.kind() != "IPPool");
    let lab = settled(&manifests).await;
    let waiting = machines(&lab, "my-cluster-cp");
    assert_eq!(waiting.len(), 1, "the first machine must be up before the next is made");
    assert_eq!(condition(&waiting[0], "Metal3DataReady"), ("False".into(), "WaitingForMetal3Data".into()));
    let host = text(&waiting[0], "/metadata/annotations/metal3.io~1BareMetalHost").replace("metal3/", "");
    assert_eq!(get(&lab, "BareMetalHost", &host).pointer("/spec/image"), None);
    lab.apply(&pools).await.unwrap();
    rest(&lab).await;
    let machine = get(&lab, "Metal3Machine", &name(&waiting[0]));
    assert_eq!(condition(&machine, "Metal3DataReady"), ("True".into(), "Metal3DataSecretsReady".into()));
    let host = get(&lab, "BareMetalHost", &host);
    for field in ["metaData", "networkData"] {
        let secret = text(&machine, &format!("/status/{field}/name"));
        assert!(!secret.is_empty());
        assert_eq!(text(&host, &format!("/spec/{field}/name")), secret);
    }
    assert_eq!(text(&host, "/spec/image/url"), "https://example.com/ubuntu-22.04.qcow2");
}

/// With matchLabels, every pair must match exactly.
#[tokio::test(start_paused = true)]
async fn s56_every_pair_of_match_labels_must_match() {
    let mut manifests = three_racks();
    manifests.retain(|m| m.kind() != "MachineDeployment");
    change(&mut manifests, "KubeadmControlPlane", "my-cluster-cp", &json!({"spec": {"replicas": 1}}));
    let two = json!({"spec": {"template": {"spec": {"hostSelector": {"matchLabels": {"disk": "nvme"}}}}}});
    change(&mut manifests, "Metal3MachineTemplate", "my-cluster-cp", &two);
    for (host, disk) in [("rack1-host-1", "ssd"), ("rack2-host-1", "nvme"), ("rack1-host-2", "nvme")] {
        change(&mut manifests, "BareMetalHost", host, &json!({"metadata": {"labels": {"disk": disk}}}));
    }
    let lab = settled(&manifests).await;
    let machine = &machines(&lab, "my-cluster-cp")[0];
    assert_eq!(text(machine, "/metadata/annotations/metal3.io~1BareMetalHost"), "metal3/rack2-host-1");
}

/// A Metal3Machine with a data template has a claim of its name and with its labels, owned by it as controller.
#[tokio::test(start_paused = true)]
async fn s150_dt75_the_claim_has_the_name_of_its_machine_and_is_owned_by_it() {
    let lab = settled(&control_plane_with_meta_data()).await;
    let machines = lab.objects("Metal3Machine");
    assert_eq!(machines.len(), 3);
    for machine in machines {
        let claim = get(&lab, "Metal3DataClaim", &name(&machine));
        let owner = claim.pointer("/metadata/ownerReferences/0").unwrap();
        assert_eq!(text(owner, "/uid"), text(&machine, "/metadata/uid"));
        assert_eq!(text(owner, "/kind"), "Metal3Machine");
        assert_eq!(owner.pointer("/controller"), Some(&json!(true)));
        let labels = &machine["metadata"]["labels"];
        assert_eq!(labels["cluster.x-k8s.io/cluster-name"], "my-cluster");
        assert_eq!(&claim["metadata"]["labels"], labels);
    }
}

/// A claim gets a Metal3Data named `<template>-<index>` with index, claim, template and Secret references.
#[tokio::test(start_paused = true)]
async fn s152_the_data_names_index_claim_template_and_secrets() {
    let lab = settled(&control_plane_with_meta_data()).await;
    assert_eq!(lab.objects("Metal3DataClaim").len(), 3);
    for claim in lab.objects("Metal3DataClaim") {
        let machine = name(&claim);
        let template = text(&claim, "/spec/template/name");
        let data = get(&lab, "Metal3Data", &format!("{template}-0"));
        assert_eq!(text(&claim, "/status/renderedData/name"), name(&data));
        assert_eq!(data.pointer("/spec/index"), Some(&json!(0)));
        assert_eq!(text(&data, "/spec/claim/name"), machine);
        assert_eq!(text(&data, "/spec/template/name"), template);
        assert_eq!(text(&data, "/spec/metaData/name"), format!("{machine}-metadata"));
        assert_eq!(text(&data, "/spec/networkData/name"), format!("{machine}-networkdata"));
        assert_eq!(data.pointer("/status/ready"), Some(&json!(true)));
    }
}

/// With indexes 0, 1 and 3 in use the next one is 2; the first is 0. Data is named after template and index.
#[tokio::test(start_paused = true)]
async fn s155_dt76_the_lowest_free_index_is_given() {
    let template = "apiVersion: infrastructure.cluster.x-k8s.io/v1beta2\nkind: Metal3DataTemplate\nmetadata: {name: t, namespace: metal3}\nspec: {metaData: {indexes: [{key: index}]}}\n";
    let mut manifests = racks_without_machines();
    manifests.extend(yaml(template));
    let lab = settled(&manifests).await;
    for machine in ["a", "b", "c", "d"] {
        claim_for(&lab, machine).await;
        rest(&lab).await;
    }
    assert_eq!(indexes(&lab), [("a", 0), ("b", 1), ("c", 2), ("d", 3)].map(|(n, i)| (n.to_owned(), i)));
    lab.client().delete(&metal3("Metal3DataClaim"), &key("c"), None).await.unwrap();
    rest(&lab).await;
    claim_for(&lab, "e").await;
    rest(&lab).await;
    let expected = [("a", 0), ("b", 1), ("e", 2), ("d", 3)].map(|(n, i)| (n.to_owned(), i));
    assert_eq!(indexes(&lab), expected);
    for (machine, index) in expected {
        let data = get(&lab, "Metal3Data", &format!("t-{index}"));
        assert_eq!((text(&data, "/spec/claim/name"), &data["spec"]["index"]), (machine, &json!(index)));
    }
}

/// A Metal3Machine without a Machine, and a claim of its name.
async fn claim_for(lab: &capm3_lab::Lab, machine: &str) {
    let object = json!({"metadata": {"name": machine, "namespace": "metal3"},
        "spec": {"customDeploy": {"method": "install"}}});
    let owner = lab.client().create(&metal3("Metal3Machine"), "metal3", object).await.unwrap();
    let claim = json!({"metadata": {"name": machine, "namespace": "metal3", "ownerReferences": [{
            "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "Metal3Machine", "name": machine,
            "uid": text(&owner, "/metadata/uid"), "controller": true}]},
        "spec": {"template": {"name": "t", "namespace": "metal3"}}});
    lab.client().create(&metal3("Metal3DataClaim"), "metal3", claim).await.unwrap();
}

fn indexes(lab: &capm3_lab::Lab) -> Vec<(String, i64)> {
    let template = get(lab, "Metal3DataTemplate", "t");
    let entries = template.pointer("/status/indexes").and_then(Value::as_array).cloned().unwrap_or_default();
    entries.iter().map(|e| (text(e, "/name"), e["index"].as_i64().unwrap())).collect()
}

/// The Secrets of a machine are named `<machine>-metadata` and `<machine>-networkdata`, and names that the data
/// already carries are used as they are: no reader parses names.
#[tokio::test(start_paused = true)]
async fn s173_secrets_are_named_after_their_machine() {
    let lab = settled(&control_plane_with_meta_data()).await;
    assert_eq!(lab.objects("Metal3Machine").len(), 3);
    for machine in lab.objects("Metal3Machine") {
        let name = name(&machine);
        let meta_data = secret(&lab, &format!("{name}-metadata"), "metaData").unwrap();
        let host = text(&machine, "/metadata/annotations/metal3.io~1BareMetalHost").replace("metal3/", "");
        let provider_id = format!("metal3/{host}/{name}");
        assert_eq!(meta_data, format!("index: \"0\"\nmachine-name: {name}\nproviderid: {provider_id}\n"));
        assert!(secret(&lab, &format!("{name}-networkdata"), "networkData").is_some());
        let given = lab.world().node_data(&key(&host)).unwrap();
        assert_eq!(
            given.text("machine-name").as_deref(),
            Some(name.as_str()),
            "the node finds it by reference"
        );
    }
}

/// With a data template: claim, index, data, Secrets and host follow each other, and each step is visible in a status, such as
/// `renderedData` of claim and machine, which names the data.
#[tokio::test(start_paused = true)]
async fn s181_dt79_each_step_is_visible_in_status() {
    let lab = settled(&control_plane_with_meta_data()).await;
    assert_eq!(lab.objects("Metal3Machine").len(), 3);
    for machine in lab.objects("Metal3Machine") {
        let claim = get(&lab, "Metal3DataClaim", &name(&machine));
        let data_name = text(&claim, "/status/renderedData/name");
        let data = get(&lab, "Metal3Data", &data_name);
        let template = get(&lab, "Metal3DataTemplate", &text(&data, "/spec/template/name"));
        let entry = template.pointer("/status/indexes/0").unwrap();
        assert_eq!(
            (text(entry, "/name"), entry["index"].clone()),
            (name(&machine), data["spec"]["index"].clone())
        );
        assert_eq!(data.pointer("/status/ready"), Some(&json!(true)));
        assert_eq!(text(&machine, "/status/renderedData/name"), data_name);
        assert_eq!(text(&machine, "/status/metaData/name"), text(&data, "/spec/metaData/name"));
        assert_eq!(condition(&machine, "Metal3DataReady").0, "True");
        let host = text(&machine, "/metadata/annotations/metal3.io~1BareMetalHost").replace("metal3/", "");
        let host = get(&lab, "BareMetalHost", &host);
        assert_eq!(text(&host, "/spec/networkData/name"), text(&machine, "/status/networkData/name"));
        assert_eq!(text(&host, "/status/provisioning/state"), "provisioned");
    }
}
