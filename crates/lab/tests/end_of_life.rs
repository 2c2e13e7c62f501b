//! What is left when machines and clusters go: nothing.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may panic")]

mod common;

use std::collections::BTreeSet;

use capm3_lab::{invariants::DELETED_WITH_A_CLUSTER, report::report};
use common::*;
use serde_json::Value;

#[tokio::test(start_paused = true)]
async fn after_the_cluster_is_deleted_every_host_is_available_and_nothing_is_left() {
    let lab = settled(&three_racks()).await;
    delete_cluster(&lab).await;
    rest(&lab).await;
    for kind in DELETED_WITH_A_CLUSTER {
        let left: Vec<String> = lab.objects(kind).iter().map(|o| name(o)).collect();
        assert_eq!(left, Vec::<String>::new(), "{kind} is left");
    }
    let secrets: Vec<String> = lab.objects("Secret").iter().map(|o| name(o)).collect();
    assert_eq!(secrets, ["bmc-credentials"]);
    let label = "/metadata/labels/cluster.x-k8s.io~1cluster-name";
    assert_eq!(lab.objects("Secret")[0].pointer(label), None, "all hosts share the Secret, and all are free");
    for host in lab.objects("BareMetalHost") {
        assert_eq!(text(&host, "/status/provisioning/state"), "available", "{}", name(&host));
        for field in ["consumerRef", "image", "userData", "metaData", "networkData"] {
            assert!(
                host.pointer(&format!("/spec/{field}")).is_none_or(Value::is_null),
                "{} keeps {field}",
                name(&host)
            );
        }
        assert!(host.pointer(label).is_none());
    }
    for template in lab.objects("Metal3DataTemplate") {
        assert!(template.pointer("/status/indexes").is_none_or(|i| i.as_array().is_none_or(Vec::is_empty)));
    }
}

/// When a Metal3Machine is deleted, its Metal3Data, its Secrets, its index and its addresses are gone, and other
/// machines of the template are untouched.
#[tokio::test(start_paused = true)]
async fn s48_a_deleted_machine_leaves_nothing_and_touches_nobody() {
    let lab = settled(&three_racks()).await;
    scale_workers(&lab, 5).await;
    rest(&lab).await;
    let before = report(&lab, 0);
    scale_workers(&lab, 2).await;
    rest(&lab).await;
    let after = report(&lab, 0);
    assert_eq!(after.machines.len(), 5);
    for row in &after.machines {
        assert!(before.machines.contains(row), "{row:?} changed");
    }
    let named = |kind: &str| lab.objects(kind).iter().map(|o| name(o)).collect::<BTreeSet<_>>();
    let data: BTreeSet<String> = after.machines.iter().filter_map(|m| m.data.clone()).collect();
    assert_eq!(named("Metal3Data"), data);
    assert_eq!(named("Metal3DataClaim"), after.machines.iter().map(|m| m.name.clone()).collect());
    let addresses: BTreeSet<String> =
        lab.objects("IPAddress").iter().map(|a| text(a, "/spec/address")).collect();
    assert_eq!(addresses, after.machines.iter().flat_map(|m| m.addresses.clone()).collect());
    let rendered = named("Secret").into_iter().filter(|s| s.ends_with("-networkdata")).count();
    assert_eq!(rendered, 5);
    let free = after.hosts.iter().filter(|h| h.consumer.is_none() && h.state == "available").count();
    assert_eq!(free, 7);
}
