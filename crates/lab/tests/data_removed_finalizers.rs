//! What happens when a finalizer is removed by hand: nobody gets an index or address that is in use, and nothing is
//! left when the rest goes.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may panic")]

mod common;

use std::collections::BTreeSet;

use capm3_engine::ResourceKind;
use capm3_lab::Lab;
use common::{data::*, *};
use serde_json::{Value, json};

/// Workers whose metadata tells their index and their address of the pool.
fn with_addresses() -> Value {
    json!({"metaData": {"indexes": [{"key": "index"}], "ipAddressesFromPool": [{"key": "address", "name": "fleet"}]}})
}

/// Workers, and hosts for two more.
async fn with_spare_hosts(replicas: usize) -> Lab {
    let mut manifests = workers(replicas + 2, with_addresses());
    change(&mut manifests, "MachineDeployment", "workers", &json!({"spec": {"replicas": replicas}}));
    settled(&manifests).await
}

/// Deletes an object and takes all its finalizers off.
async fn remove_without_finalizers(lab: &Lab, kind: &ResourceKind, name: &str) {
    lab.client().delete(kind, &here(name), None).await.unwrap();
    // It may be gone by then.
    lab.patch(kind, &here(name), &json!({"metadata": {"finalizers": null}})).await.ok();
    rest(lab).await;
}

fn address_of(lab: &Lab, data: &str) -> String {
    let claim = get(lab, "IPClaim", &format!("{data}-fleet"));
    let address = get(lab, "IPAddress", &text(&claim, "/status/address/name"));
    text(&address, "/spec/address")
}

/// Kinds of which something is there.
fn left(lab: &Lab) -> Vec<&'static str> {
    ["Metal3DataClaim", "Metal3Data", "IPClaim", "IPAddress"]
        .into_iter()
        .filter(|kind| !lab.objects(kind).is_empty())
        .collect()
}

#[tokio::test(start_paused = true)]
async fn data_removed_without_its_finalizer_comes_back_with_its_index_and_address() {
    let lab = with_spare_hosts(2).await;
    let before = rendered(&lab);
    let address = address_of(&lab, "fleet-0");
    remove_without_finalizers(&lab, &metal3("Metal3Data"), "fleet-0").await;
    scale(&lab, 3).await;
    let after = rendered(&lab);
    assert_eq!(after.iter().map(|(index, ..)| *index).collect::<Vec<_>>(), [0, 1, 2]);
    assert_eq!(after[..2], before[..], "the machine keeps what it runs on");
    assert_eq!(address_of(&lab, "fleet-0"), address);
    assert_eq!(values(&lab, "address").iter().collect::<BTreeSet<_>>().len(), 3);
    scale(&lab, 0).await;
    assert_eq!(left(&lab), Vec::<&str>::new());
}

#[tokio::test(start_paused = true)]
async fn an_address_removed_without_its_finalizer_comes_back_and_no_other_claim_gets_it() {
    let lab = with_spare_hosts(2).await;
    let lost = address_of(&lab, "fleet-0");
    let claim = get(&lab, "IPClaim", "fleet-0-fleet");
    remove_without_finalizers(&lab, &ipam("IPAddress"), &text(&claim, "/status/address/name")).await;
    scale(&lab, 3).await;
    assert_eq!(address_of(&lab, "fleet-0"), lost);
    assert_ne!(address_of(&lab, "fleet-2"), lost);
    scale(&lab, 0).await;
    assert_eq!(left(&lab), Vec::<&str>::new());
}

/// Deletion needs neither template nor pool nor data.
#[tokio::test(start_paused = true)]
async fn nothing_is_left_of_machines_whose_template_or_pool_was_removed_without_its_finalizer() {
    for (kind, name) in [(metal3("Metal3DataTemplate"), "fleet"), (ipam("IPPool"), "fleet")] {
        let lab = settled(&workers(2, with_addresses())).await;
        remove_without_finalizers(&lab, &kind, name).await;
        scale(&lab, 0).await;
        assert_eq!(left(&lab), Vec::<&str>::new(), "without {kind}");
    }
}

/// Data that is removed together with its claim is not made again; its address is free for others.
#[tokio::test(start_paused = true)]
async fn the_address_of_data_that_was_removed_with_its_claim_is_released() {
    let lab = settled(&workers(1, with_addresses())).await;
    let machine = name(&worker_machines(&lab)[0]);
    lab.patch(&metal3("Metal3DataClaim"), &here(&machine), &json!({"metadata": {"finalizers": null}}))
        .await
        .unwrap();
    lab.client().delete(&metal3("Metal3DataClaim"), &here(&machine), None).await.unwrap();
    remove_without_finalizers(&lab, &metal3("Metal3Data"), "fleet-0").await;
    scale(&lab, 0).await;
    assert_eq!(left(&lab), Vec::<&str>::new());
}

/// A pool whose Cluster is not there looks at no claims, so data must not wait for it.
#[tokio::test(start_paused = true)]
async fn data_goes_although_its_pool_waits_for_a_cluster() {
    let lab = settled(&workers(1, with_addresses())).await;
    lab.patch(&ipam("IPPool"), &here("fleet"), &json!({"spec": {"clusterName": "not-there"}})).await.unwrap();
    scale(&lab, 0).await;
    assert!(lab.objects("Metal3Data").is_empty());
}

/// A claim of somebody else under the name that data would give is waited for, and its end is noticed.
#[tokio::test(start_paused = true)]
async fn data_goes_on_when_a_namesake_of_its_claim_is_gone() {
    let lab = with_spare_hosts(1).await;
    let foreign = manifest(
        "ipam.metal3.io/v1alpha1",
        "IPClaim",
        "fleet-1-fleet",
        &json!({"spec": {"pool": {"name": "fleet"}}}),
    );
    lab.apply(&[foreign]).await.unwrap();
    scale(&lab, 2).await;
    let waits = ready_message(&get(&lab, "Metal3Data", "fleet-1"));
    assert!(waits.contains("IPClaim fleet-1-fleet of another owner to be deleted"), "{waits}");
    lab.client().delete(&ipam("IPClaim"), &here("fleet-1-fleet"), None).await.unwrap();
    rest(&lab).await;
    assert_eq!(values(&lab, "address").len(), 2);
    assert!(all_ready(&lab));
}
