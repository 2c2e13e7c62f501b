//! A Metal3Machine that is deleted when something that it once needed is gone: it goes, its host is given back blank, and
//! nothing of it is left.

use std::{collections::BTreeSet, sync::Arc};

use capm3_lab::{Lab, Options};
use capm3_world::Profile;
use serde_json::{Value, json};

use crate::common::{hosts::*, *};

const CAPI: &str = "cluster.x-k8s.io/v1beta2";
const API: &str = "infrastructure.cluster.x-k8s.io/v1beta2";

/// One worker of the example, with metadata besides its network data. Its MachineSet makes no other one in its place, so
/// that its host can be looked at.
async fn worker(profile: Profile) -> (Lab, Arc<Value>) {
    let mut manifests = three_racks();
    for rack in 1..=3 {
        let patch = json!({"spec": {"metaData": {"indexes": [{"key": "index"}]}}});
        change(&mut manifests, "Metal3DataTemplate", &format!("m3dt-rack{rack}"), &patch);
    }
    let lab = Lab::start(&Options { profile, ..Options::default() }).await.unwrap();
    lab.apply(&manifests).await.unwrap();
    rest(&lab).await;
    let left_alone = json!({"metadata": {"annotations": {"cluster.x-k8s.io/paused": ""}}});
    patch(&lab, CAPI, "MachineDeployment", "my-cluster-workers", left_alone.clone()).await;
    for set in lab.objects("MachineSet") {
        patch(&lab, CAPI, "MachineSet", &name(&set), left_alone.clone()).await;
    }
    let machine = machines(&lab, "my-cluster-workers")[0].clone();
    assert_eq!(condition(&machine, "Ready").0, "True");
    for kind in KEPT_FOR_A_MACHINE {
        assert_ne!(named(&lab, kind, &name(&machine)), [""; 0], "there is no {kind} to leave behind");
    }
    (lab, machine)
}

/// What is made for a machine and must go with it.
const KEPT_FOR_A_MACHINE: [&str; 6] =
    ["Metal3DataClaim", "Metal3Data", "Secret", "IPClaim", "IPAddress", "Metal3DataTemplate"];

/// Objects of a kind that have anything to do with a machine's data: those that name it or what was made for it.
fn named(lab: &Lab, kind: &str, machine: &str) -> Vec<String> {
    let rendered = [format!("{machine}-metadata"), format!("{machine}-networkdata")];
    let objects = lab.objects(kind).into_iter().filter(|object| match kind {
        "Secret" => rendered.contains(&name(object)),
        // Addresses are claimed in the name of the data.
        "IPClaim" | "IPAddress" => owners_are_of(lab, object, machine),
        _ => object.to_string().contains(&format!("\"{machine}\"")),
    });
    objects.map(|object| name(&object)).collect()
}

fn owners_are_of(lab: &Lab, object: &Value, machine: &str) -> bool {
    let claim = text(object, "/spec/claim/name");
    let holder = if claim.is_empty() { None } else { lab.object("IPClaim", &claim) };
    let data = text(holder.as_deref().unwrap_or(object), "/metadata/ownerReferences/0/name");
    match lab.object("Metal3Data", &data) {
        Some(data) => text(&data, "/spec/claim/name") == machine,
        None => true,
    }
}

fn assert_gone(lab: &Lab, machine: &str) {
    assert!(lab.object("Metal3Machine", machine).is_none(), "the Metal3Machine is still there");
    for kind in KEPT_FOR_A_MACHINE {
        assert_eq!(named(lab, kind, machine), [""; 0], "{kind}");
    }
    let all: BTreeSet<String> = lab.objects("BareMetalHost").iter().map(|host| host.to_string()).collect();
    assert!(!all.iter().any(|host| host.contains(machine)), "a host names the machine: {all:?}");
}

/// Deletes the machine and waits; where the collector of garbage was faster, only waits.
async fn goes(lab: &Lab, machine: &str) {
    let is_going = |m: Arc<Value>| m.pointer("/metadata/deletionTimestamp").is_some();
    if lab.object("Metal3Machine", machine).is_some_and(|m| !is_going(m)) {
        delete(lab, API, "Metal3Machine", machine).await;
    }
    rest(lab).await;
    assert_gone(lab, machine);
}

#[tokio::test(start_paused = true)]
async fn a_machine_whose_owner_is_gone_goes_and_leaves_nothing() {
    let (lab, machine) = worker(Profile::Instant).await;
    strip(&lab, CAPI, "Machine", &name(&machine)).await;
    goes(&lab, &name(&machine)).await;
    assert_blank(&lab, &host_of(&machine));
}

#[tokio::test(start_paused = true)]
async fn a_machine_whose_cluster_is_gone_goes_and_leaves_nothing() {
    let (lab, machine) = worker(Profile::Instant).await;
    strip(&lab, CAPI, "Cluster", "my-cluster").await;
    goes(&lab, &name(&machine)).await;
    assert_blank(&lab, &host_of(&machine));
}

#[tokio::test(start_paused = true)]
async fn a_machine_whose_metal3cluster_is_gone_goes_and_leaves_nothing() {
    let (lab, machine) = worker(Profile::Instant).await;
    strip(&lab, API, "Metal3Cluster", "my-cluster").await;
    goes(&lab, &name(&machine)).await;
    assert_blank(&lab, &host_of(&machine));
}

#[tokio::test(start_paused = true)]
async fn a_machine_whose_template_is_gone_goes_and_leaves_nothing() {
    let (lab, machine) = worker(Profile::Instant).await;
    strip(&lab, API, "Metal3MachineTemplate", "my-cluster-workers").await;
    goes(&lab, &name(&machine)).await;
    assert_blank(&lab, &host_of(&machine));
}

#[tokio::test(start_paused = true)]
async fn a_machine_whose_data_template_is_gone_goes_and_leaves_nothing() {
    let (lab, machine) = worker(Profile::Instant).await;
    strip(&lab, API, "Metal3DataTemplate", &text(&machine, "/spec/dataTemplate/name")).await;
    goes(&lab, &name(&machine)).await;
    assert_blank(&lab, &host_of(&machine));
}

#[tokio::test(start_paused = true)]
async fn a_machine_whose_hosts_credentials_are_gone_goes_and_leaves_nothing() {
    let (lab, machine) = worker(Profile::Instant).await;
    strip(&lab, "v1", "Secret", "bmc-credentials").await;
    goes(&lab, &name(&machine)).await;
    assert_blank(&lab, &host_of(&machine));
}

/// All of these at once, and the provider has seen none of it happen.
#[tokio::test(start_paused = true)]
async fn a_machine_that_has_lost_everything_goes_and_leaves_nothing() {
    let (mut lab, machine) = worker(Profile::Instant).await;
    lab.stop_providers();
    strip(&lab, "v1", "Secret", "bmc-credentials").await;
    strip(&lab, API, "Metal3DataTemplate", &text(&machine, "/spec/dataTemplate/name")).await;
    strip(&lab, API, "Metal3MachineTemplate", "my-cluster-workers").await;
    strip(&lab, API, "Metal3Cluster", "my-cluster").await;
    strip(&lab, CAPI, "Cluster", "my-cluster").await;
    strip(&lab, CAPI, "Machine", &name(&machine)).await;
    lab.start_provider();
    goes(&lab, &name(&machine)).await;
    assert_blank(&lab, &host_of(&machine));
}

/// The host itself is taken away while it is being wiped for the machine that goes.
#[tokio::test(start_paused = true)]
async fn a_machine_whose_host_is_gone_during_the_deletion_goes_and_leaves_nothing() {
    let (lab, machine) = worker(Profile::Demo).await;
    let host = host_of(&machine);
    delete(&lab, CAPI, "Machine", &name(&machine)).await;
    let is_wiped =
        || text(&get(&lab, "BareMetalHost", &host), "/status/provisioning/state") == "deprovisioning";
    let mut looks = 0;
    while !is_wiped() {
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        looks += 1;
        assert!(looks < 10_000, "the host is never wiped");
    }
    assert!(lab.object("Metal3Machine", &name(&machine)).is_some(), "it waits for its host");
    strip(&lab, "metal3.io/v1alpha1", "BareMetalHost", &host).await;
    rest(&lab).await;
    assert!(lab.object("BareMetalHost", &host).is_none());
    assert_gone(&lab, &name(&machine));
    assert!(lab.object("Machine", &name(&machine)).is_none(), "and so does its Machine");
}
