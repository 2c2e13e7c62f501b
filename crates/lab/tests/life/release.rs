//! What a host looks like when a machine has given it back.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use capm3_lab::Lab;
use serde_json::{Value, json};

use crate::common::{hosts::*, *};

async fn released() -> (capm3_lab::Lab, Vec<String>) {
    let mut manifests = three_racks();
    for rack in 1..=3 {
        let patch = json!({"spec": {"metaData": {"indexes": [{"key": "index"}]}}});
        change(&mut manifests, "Metal3DataTemplate", &format!("m3dt-rack{rack}"), &patch);
    }
    let lab = settled(&manifests).await;
    let used: Vec<String> = machines(&lab, "my-cluster-workers").iter().map(|m| host_of(m)).collect();
    for host in &used {
        assert!(!text(&get(&lab, "BareMetalHost", host), "/spec/metaData/name").is_empty());
    }
    scale_workers(&lab, 0).await;
    rest(&lab).await;
    (lab, used)
}

/// A released host has no metadata, network data or user data any more, though the Secrets were rendered for it.
#[tokio::test(start_paused = true)]
async fn o1_a_released_host_points_to_no_secret() {
    let (lab, used) = released().await;
    for host in used.iter().map(|name| get(&lab, "BareMetalHost", name)) {
        for field in ["metaData", "networkData", "userData", "image"] {
            assert!(host.pointer(&format!("/spec/{field}")).is_none_or(Value::is_null), "{host}");
        }
    }
}

/// The same after a move, when the status of the machine no longer knows what it has put on the host.
#[tokio::test(start_paused = true)]
async fn o1_a_host_released_after_a_loss_of_status_points_to_no_secret() {
    let mut lab = settled(&three_racks()).await;
    let machine = machines(&lab, "my-cluster-workers")[0].clone();
    let (name, host) = (name(&machine), host_of(&machine));
    // The machine that takes this one's place must not take the host too.
    let unhealthy = json!({"metadata": {"annotations": {"capm3.metal3.io/unhealthy": "test"}}});
    patch_host(&lab, &host, unhealthy).await;
    lab.stop_providers();
    let wiped =
        json!({"status": {"userData": null, "metaData": null, "networkData": null, "renderedData": null}});
    lab.client().merge_patch(&metal3("Metal3Machine"), &key(&name), Some("status"), &wiped).await.unwrap();
    delete(&lab, "cluster.x-k8s.io/v1beta2", "Machine", &name).await;
    lab.start_provider();
    rest(&lab).await;
    let host = get(&lab, "BareMetalHost", &host);
    for field in ["metaData", "networkData", "userData"] {
        assert!(host.pointer(&format!("/spec/{field}")).is_none_or(Value::is_null), "{host}");
    }
}

/// A released host does not hold up a move, and neither does one that an older release has left so.
#[tokio::test(start_paused = true)]
async fn o2_a_released_host_does_not_hold_up_a_move() {
    let block = "/metadata/annotations/clusterctl.cluster.x-k8s.io~1block-move";
    let (lab, used) = released().await;
    for host in used.iter().map(|name| get(&lab, "BareMetalHost", name)) {
        assert_eq!(host.pointer(block), None, "{host}");
    }
    for host in machines(&lab, "my-cluster-cp").iter().map(|m| host_of(m)) {
        assert!(get(&lab, "BareMetalHost", &host).pointer(block).is_some(), "a host in use is held back");
    }
    let note = json!({"metadata": {"annotations": {"clusterctl.cluster.x-k8s.io/block-move": ""}}});
    patch_host(&lab, &used[0], note).await;
    rest(&lab).await;
    assert_eq!(get(&lab, "BareMetalHost", &used[0]).pointer(block), None);
}

/// The indexes of a template show no entry of a claim that is gone: not a minute later, but at once.
#[tokio::test(start_paused = true)]
async fn o5_indexes_of_deleted_claims_are_gone_with_them() {
    let lab = started_slowly(&three_racks()).await;
    rest(&lab).await;
    let listed = |lab: &Lab| {
        let templates = lab.objects("Metal3DataTemplate");
        let entries = templates.iter().filter_map(|t| t.pointer("/status/indexes")?.as_array().cloned());
        entries.flatten().map(|entry| text(&entry, "/name")).collect::<BTreeSet<String>>()
    };
    let claims = |lab: &Lab| lab.objects("Metal3DataClaim").iter().map(|c| name(c)).collect::<BTreeSet<_>>();
    assert_eq!(listed(&lab), claims(&lab));
    assert_eq!(claims(&lab).len(), 6);
    scale_workers(&lab, 0).await;
    let mut stale_since = BTreeMap::new();
    for _ in 0..60_000 {
        tokio::time::sleep(Duration::from_millis(10)).await;
        let (now, there) = (tokio::time::Instant::now(), claims(&lab));
        let stale: BTreeSet<String> = listed(&lab).difference(&there).cloned().collect();
        stale_since.retain(|claim, _| stale.contains(claim));
        for claim in stale {
            let since = *stale_since.entry(claim.clone()).or_insert(now);
            let lasts = now - since;
            assert!(lasts < Duration::from_secs(1), "{claim} is gone and still listed after {lasts:?}");
        }
        if there.len() == 3 && stale_since.is_empty() && lab.is_quiet() {
            break;
        }
    }
    assert_eq!(listed(&lab), claims(&lab));
    assert_eq!(claims(&lab).len(), 3, "the workers' are gone");
}

/// A changed cleaning mode of a template reaches every machine in one write each, without a conflict.
#[tokio::test(start_paused = true)]
async fn o7_a_changed_cleaning_mode_costs_one_write_a_machine() {
    let (lab, writes) = Writes::lab().await;
    lab.apply(&three_racks()).await.unwrap();
    rest(&lab).await;
    writes.clear();
    let mode = json!({"spec": {"template": {"spec": {"automatedCleaningMode": "disabled"}}}});
    patch(
        &lab,
        "infrastructure.cluster.x-k8s.io/v1beta2",
        "Metal3MachineTemplate",
        "my-cluster-workers",
        mode,
    )
    .await;
    rest(&lab).await;
    let specs = writes.of_provider("/metal3machines").into_iter().filter(|w| w.subresource.is_none());
    assert_eq!(specs.count(), 3);
    for machine in machines(&lab, "my-cluster-workers") {
        assert_eq!(text(&machine, "/spec/automatedCleaningMode"), "disabled");
        assert_eq!(text(&host(&lab, &machine), "/spec/automatedCleaningMode"), "disabled");
    }
    let requests = lab.server().requests();
    let refused = |r: &&capm3_apiserver::RequestCount| {
        r.user_agent == "capm3" && r.code == 409 && r.resource.ends_with("/metal3machines")
    };
    assert_eq!(requests.iter().find(refused), None);
}

/// Where a machine really stands is reported, and Cluster API shows it on the Machine.
#[tokio::test(start_paused = true)]
async fn o8_the_real_placement_is_reported() {
    let lab = settled(&three_racks()).await;
    for machine in lab.objects("Metal3Machine") {
        let rack = text(&host(&lab, &machine), DOMAIN);
        assert_eq!(text(&machine, "/status/failureDomain"), rack);
        assert_eq!(text(&get(&lab, "Machine", &name(&machine)), "/status/failureDomain"), rack);
    }
}

/// A change of the cleaning mode of a Metal3MachineTemplate reaches all its machines and their hosts.
#[tokio::test(start_paused = true)]
async fn s51_a_cleaning_mode_reaches_machines_and_hosts() {
    let lab = settled(&three_racks()).await;
    let mode = json!({"spec": {"template": {"spec": {"automatedCleaningMode": "disabled"}}}});
    patch(&lab, "infrastructure.cluster.x-k8s.io/v1beta2", "Metal3MachineTemplate", "my-cluster-cp", mode)
        .await;
    rest(&lab).await;
    assert_eq!((machines(&lab, "my-cluster-cp").len(), machines(&lab, "my-cluster-workers").len()), (3, 3));
    for machine in machines(&lab, "my-cluster-cp") {
        assert_eq!(text(&machine, "/spec/automatedCleaningMode"), "disabled");
        assert_eq!(text(&host(&lab, &machine), "/spec/automatedCleaningMode"), "disabled");
    }
    for machine in machines(&lab, "my-cluster-workers") {
        assert_ne!(text(&host(&lab, &machine), "/spec/automatedCleaningMode"), "disabled");
    }
}

/// While a host is held up the machine's condition says by what.
#[tokio::test(start_paused = true)]
async fn a_machine_that_cannot_go_says_what_holds_up_its_host() {
    let lab = settled(&three_racks()).await;
    let machine = machines(&lab, "my-cluster-workers")[0].clone();
    let (name, host) = (name(&machine), host_of(&machine));
    patch_host(&lab, &host, json!({"metadata": {"annotations": {"baremetalhost.metal3.io/paused": "mine"}}}))
        .await;
    delete(&lab, "cluster.x-k8s.io/v1beta2", "Machine", &name).await;
    rest(&lab).await;
    let printed = get(&lab, "Metal3Machine", &name).pointer("/status/conditions").unwrap().to_string();
    assert!(printed.contains("the host is paused by annotation baremetalhost.metal3.io/paused"), "{printed}");
    patch_host(&lab, &host, json!({"metadata": {"annotations": {"baremetalhost.metal3.io/paused": null}}}))
        .await;
    rest(&lab).await;
    assert!(lab.object("Metal3Machine", &name).is_none());
}

/// A host that loses its consumer while it is cleaned is held until it is clean: only then do index and address go.
#[tokio::test(start_paused = true)]
async fn a_host_that_loses_its_consumer_while_it_is_cleaned_is_awaited() {
    let lab = started_slowly(&control_plane(1)).await;
    rest(&lab).await;
    let machine = machines(&lab, "my-cluster-cp")[0].clone();
    let (name, host) = (name(&machine), host_of(&machine));
    let state = |lab: &Lab| text(&get(lab, "BareMetalHost", &host), "/status/provisioning/state");
    delete_cluster(&lab).await;
    let until = async |lab: &Lab, wanted: &str| {
        for _ in 0..20_000 {
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
            let is_there = lab.object("Metal3DataClaim", &name).is_some();
            assert!(is_there || state(lab) == "available", "the address is free before the host is clean");
            if state(lab) == wanted {
                return;
            }
        }
        panic!("never {wanted}");
    };
    until(&lab, "deprovisioning").await;
    patch_host(&lab, &host, json!({"spec": {"consumerRef": null}})).await;
    until(&lab, "available").await;
    rest(&lab).await;
    assert!(lab.object("Metal3Machine", &name).is_none());
    let given = get(&lab, "BareMetalHost", &host);
    assert_eq!(text(&given, "/metadata/labels/cluster.x-k8s.io~1cluster-name"), "", "{given}");
    assert_eq!(events(&lab, "HostReleased").len(), 1);
}

/// A host of another consumer: the machine goes without it and says so, and the host holds up no move.
#[tokio::test(start_paused = true)]
async fn a_machine_that_goes_without_its_host_says_so() {
    let lab = settled(&three_racks()).await;
    let machine = machines(&lab, "my-cluster-workers")[0].clone();
    let (name, host) = (name(&machine), host_of(&machine));
    patch_host(&lab, &host, json!({"spec": {"consumerRef": {"namespace": "elsewhere"}}})).await;
    rest(&lab).await;
    delete(&lab, "cluster.x-k8s.io/v1beta2", "Machine", &name).await;
    rest(&lab).await;
    assert!(lab.object("Metal3Machine", &name).is_none());
    let lost = events(&lab, "HostLost");
    assert_eq!(lost.len(), 1, "{lost:?}");
    let why = format!(
        "{name}: host {host} is consumed by Metal3Machine elsewhere/{name}, so this machine is deleted without \
         releasing the host"
    );
    assert!(lost[0].starts_with(&why), "{lost:?}");
    let left = get(&lab, "BareMetalHost", &host);
    assert!(!text(&left, "/spec/image/url").is_empty(), "never taken away");
    assert_eq!(left.pointer("/metadata/annotations/clusterctl.cluster.x-k8s.io~1block-move"), None);
}
