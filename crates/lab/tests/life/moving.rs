//! Pause, and the move of a whole cluster to another management cluster.

use capm3_engine::ObjectKey;
use capm3_lab::{Lab, Options, moving::move_cluster, report::report};
use serde_json::json;

use crate::common::{hosts::*, *};

/// A cluster that is moved keeps machines, data, claims, Secrets, indexes and addresses, and no host is provisioned
/// again, though all status is lost and all uids are new.
#[tokio::test(start_paused = true)]
async fn pa65_a_moved_cluster_keeps_everything_and_provisions_nothing_again() {
    let from = settled(&three_racks()).await;
    let before = report(&from, 0);
    let secrets = |lab: &Lab| {
        let mut all: Vec<_> = lab.objects("Secret").iter().map(|s| (name(s), s["data"].clone())).collect();
        all.retain(|(name, _)| name.ends_with("-networkdata"));
        all
    };
    pause_cluster(&from, true).await;
    rest(&from).await;
    let block = "/metadata/annotations/clusterctl.cluster.x-k8s.io~1block-move";
    for machine in from.objects("Metal3Machine") {
        let host = host(&from, &machine);
        assert_eq!(text(&host, "/metadata/annotations/baremetalhost.metal3.io~1paused"), "metal3.io/capm3");
        assert!(
            text(&host, "/metadata/annotations/baremetalhost.metal3.io~1status")
                .contains("\"state\":\"provisioned\"")
        );
        assert_eq!(host.pointer(block), None, "nothing holds up the move");
    }
    let to = Lab::start(&Options { seed: 7, ..Options::default() }).await.unwrap();
    move_cluster(&from, &to, &ObjectKey::new("metal3", "my-cluster")).await.unwrap();
    rest(&to).await;
    pause_cluster(&to, false).await;
    rest(&to).await;
    let after = report(&to, 0);
    assert_eq!(after.machines, before.machines);
    assert_eq!(secrets(&to), secrets(&from));
    for host in to.objects("BareMetalHost") {
        let origin = get(&from, "BareMetalHost", &name(&host));
        let history = "/status/operationHistory/provision/start";
        assert_eq!(text(&host, history), text(&origin, history), "{} is not provisioned again", name(&host));
        assert_eq!(host.pointer("/spec/consumerRef"), origin.pointer("/spec/consumerRef"));
        assert_eq!(host.pointer("/metadata/annotations/baremetalhost.metal3.io~1paused"), None);
    }
    for machine in to.objects("Metal3Machine") {
        assert!(host(&to, &machine).pointer(block).is_some(), "held back again");
        assert_eq!(condition(&machine, "Ready").0, "True", "{machine}");
    }
}

/// A user's pause of a host survives a pause of the Cluster.
#[tokio::test(start_paused = true)]
async fn a_pause_of_the_user_survives_that_of_the_cluster() {
    let lab = settled(&three_racks()).await;
    let host = host_of(&machines(&lab, "my-cluster-cp")[0]);
    patch_host(&lab, &host, json!({"metadata": {"annotations": {"baremetalhost.metal3.io/paused": "mine"}}}))
        .await;
    for paused in [true, false] {
        pause_cluster(&lab, paused).await;
        rest(&lab).await;
        let pause =
            text(&get(&lab, "BareMetalHost", &host), "/metadata/annotations/baremetalhost.metal3.io~1paused");
        assert_eq!(pause, "mine");
    }
    let others = lab
        .objects("BareMetalHost")
        .iter()
        .filter(|h| h.pointer("/metadata/annotations/baremetalhost.metal3.io~1paused").is_some())
        .count();
    assert_eq!(others, 1, "the provider's own pauses are taken off");
}

/// Nothing is taken, written or deleted for a paused cluster, and everything goes on afterwards.
#[tokio::test(start_paused = true)]
async fn a_paused_cluster_comes_up_after_the_pause() {
    let mut manifests = three_racks();
    change(&mut manifests, "Cluster", "my-cluster", &json!({"spec": {"paused": true}}));
    let lab = settled(&manifests).await;
    assert!(lab.objects("BareMetalHost").iter().all(|h| h.pointer("/spec/consumerRef").is_none()));
    pause_cluster(&lab, false).await;
    rest(&lab).await;
    assert!(report(&lab, 0).machines.iter().all(|m| m.ready));
}
