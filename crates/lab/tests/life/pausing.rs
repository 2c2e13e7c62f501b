//! A pause that meets a deletion: nothing goes while it lasts, and everything does when it ends.

use std::sync::Arc;

use capm3_lab::Lab;
use serde_json::{Value, json};

use crate::common::{hosts::*, *};

const CAPI: &str = "cluster.x-k8s.io/v1beta2";
const API: &str = "infrastructure.cluster.x-k8s.io/v1beta2";
const PAUSED: &str = "/metadata/annotations/baremetalhost.metal3.io~1paused";

fn paused_hosts(lab: &Lab) -> usize {
    lab.objects("BareMetalHost").iter().filter(|host| host.pointer(PAUSED).is_some()).count()
}

/// The three racks, paused when everything was up, and one of the workers.
async fn at_rest_and_paused() -> (Lab, Arc<Value>) {
    let lab = settled(&three_racks()).await;
    let machine = machines(&lab, "my-cluster-workers")[0].clone();
    pause_cluster(&lab, true).await;
    rest(&lab).await;
    (lab, machine)
}

#[tokio::test(start_paused = true)]
async fn a_machine_deleted_during_a_pause_goes_after_it() {
    let (lab, machine) = at_rest_and_paused().await;
    delete(&lab, API, "Metal3Machine", &name(&machine)).await;
    rest(&lab).await;
    let waits = get(&lab, "Metal3Machine", &name(&machine));
    assert_eq!(condition(&waits, "Paused").0, "True", "not even deletion goes on");
    pause_cluster(&lab, false).await;
    rest(&lab).await;
    assert!(lab.object("Metal3Machine", &name(&machine)).is_none());
    assert_eq!(paused_hosts(&lab), 0);
    assert_blank(&lab, &host_of(&machine));
}

/// A machine on its way whose record is taken off during a pause goes on with the host that it has.
#[tokio::test(start_paused = true)]
async fn a_machine_whose_record_is_stripped_during_a_pause_keeps_the_host_that_is_provisioned_for_it() {
    for delay in [0, 30] {
        let lab = started_slowly(&control_plane(1)).await;
        let found = async |lab: &Lab| {
            for _ in 0..20_000 {
                tokio::time::sleep(std::time::Duration::from_millis(50)).await;
                let machine = machines(lab, "my-cluster-cp").first().cloned();
                if let Some(machine) = machine.filter(|machine| !host_of(machine).is_empty())
                    && text(&host(lab, &machine), "/status/provisioning/state") == "provisioning"
                {
                    return machine;
                }
            }
            panic!("never provisioned");
        };
        let machine = found(&lab).await;
        let (name, host) = (name(&machine), host_of(&machine));
        assert_eq!(text(&machine, "/spec/providerID"), "");
        tokio::time::sleep(std::time::Duration::from_secs(delay)).await;
        pause_cluster(&lab, true).await;
        tokio::time::sleep(std::time::Duration::from_secs(60)).await;
        let strip = json!({"metadata": {"annotations": {"metal3.io/BareMetalHost": null}}});
        patch_machine(&lab, &name, strip).await;
        tokio::time::sleep(std::time::Duration::from_secs(60)).await;
        pause_cluster(&lab, false).await;
        rest(&lab).await;
        let machine = get(&lab, "Metal3Machine", &name);
        assert_eq!((host_of(&machine), condition(&machine, "Ready").0), (host, "True".into()));
        assert_eq!(events(&lab, "HostReleased"), [""; 0]);
        assert_eq!(events(&lab, "HostClaimed").len(), 1);
    }
}

/// The host of a machine that was taken away by hand during a pause is left alone while the pause lasts, and given back
/// with the end of the pause.
#[tokio::test(start_paused = true)]
async fn the_host_of_a_machine_stripped_during_a_pause_is_released_on_request_after_the_pause() {
    let (lab, machine) = at_rest_and_paused().await;
    strip(&lab, API, "Metal3Machine", &name(&machine)).await;
    rest(&lab).await;
    let host = get(&lab, "BareMetalHost", &host_of(&machine));
    assert_eq!(text(&host, PAUSED), "metal3.io/capm3", "it may be on its way to another management cluster");
    assert_eq!(text(&host, "/status/provisioning/state"), "provisioned");
    strip(&lab, CAPI, "Machine", &name(&machine)).await;
    scale_workers(&lab, 2).await;
    pause_cluster(&lab, false).await;
    rest(&lab).await;
    assert!(lab.object("Metal3Machine", &name(&machine)).is_none());
    assert_eq!(paused_hosts(&lab), 1, "it is left as it is");
    let request = json!({"metadata": {"annotations": {"capm3.metal3.io/release": format!("metal3/{}", name(&machine))}}});
    patch_host(&lab, &host_of(&machine), request).await;
    rest(&lab).await;
    assert_eq!(paused_hosts(&lab), 0);
    assert_blank(&lab, &host_of(&machine));
    assert!(lab.object("Metal3DataClaim", &name(&machine)).is_none());
}

/// Without its Cluster nobody can tell whether a paused host was moved away: it stays as it is.
#[tokio::test(start_paused = true)]
async fn a_paused_host_whose_cluster_is_gone_is_left_alone() {
    let (lab, machine) = at_rest_and_paused().await;
    strip(&lab, API, "Metal3Machine", &name(&machine)).await;
    strip(&lab, CAPI, "Cluster", "my-cluster").await;
    tokio::time::sleep(std::time::Duration::from_secs(3600)).await;
    let host = get(&lab, "BareMetalHost", &host_of(&machine));
    assert_eq!(text(&host, PAUSED), "metal3.io/capm3");
    assert_eq!(text(&host, "/status/provisioning/state"), "provisioned");
}

#[tokio::test(start_paused = true)]
async fn hosts_that_were_paused_while_they_were_wiped_are_given_back_after_the_pause() {
    let lab = started_slowly(&three_racks()).await;
    rest(&lab).await;
    let hosts: Vec<_> = machines(&lab, "my-cluster-workers").iter().map(|m| host_of(m)).collect();
    scale_workers(&lab, 0).await;
    let is_wiped = |host: &String| {
        text(&get(&lab, "BareMetalHost", host), "/status/provisioning/state") == "deprovisioning"
    };
    let mut looks = 0;
    while !hosts.iter().all(is_wiped) {
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        looks += 1;
        assert!(looks < 10_000, "the hosts are never wiped");
    }
    pause_cluster(&lab, true).await;
    rest(&lab).await;
    assert!(hosts.iter().all(is_wiped), "their operator rests");
    for machine in machines(&lab, "my-cluster-workers") {
        assert_eq!(condition(&machine, "Paused").0, "True", "{machine}");
    }
    pause_cluster(&lab, false).await;
    rest(&lab).await;
    assert_eq!(machines(&lab, "my-cluster-workers").len(), 0);
    hosts.iter().for_each(|host| assert_blank(&lab, host));
}

#[tokio::test(start_paused = true)]
async fn a_cluster_deleted_during_a_pause_goes_after_it() {
    let (lab, _) = at_rest_and_paused().await;
    delete_cluster(&lab).await;
    rest(&lab).await;
    pause_cluster(&lab, false).await;
    rest(&lab).await;
    for kind in ["Cluster", "Machine", "Metal3Machine", "Metal3Data", "Metal3DataClaim"] {
        assert_eq!(lab.objects(kind).len(), 0, "{kind}");
    }
    lab.objects("BareMetalHost").iter().for_each(|host| assert_blank(&lab, &name(host)));
}

#[tokio::test(start_paused = true)]
async fn our_own_pause_goes_also_when_the_cluster_is_gone_by_then() {
    let (lab, machine) = at_rest_and_paused().await;
    delete(&lab, API, "Metal3Machine", &name(&machine)).await;
    rest(&lab).await;
    strip(&lab, CAPI, "Cluster", "my-cluster").await;
    rest(&lab).await;
    assert!(lab.object("Metal3Machine", &name(&machine)).is_none());
    assert_blank(&lab, &host_of(&machine));
}

#[tokio::test(start_paused = true)]
async fn a_deletion_stays_blocked_by_a_paused_cluster_when_the_machine_is_gone() {
    let (lab, machine) = at_rest_and_paused().await;
    strip(&lab, CAPI, "Machine", &name(&machine)).await;
    delete(&lab, API, "Metal3Machine", &name(&machine)).await;
    rest(&lab).await;
    assert!(lab.object("Metal3Machine", &name(&machine)).is_some(), "the Cluster is paused");
    let held = get(&lab, "BareMetalHost", &host_of(&machine));
    assert!(held.pointer("/spec/image").is_some_and(Value::is_object), "{held}");
    assert_eq!(text(&held, PAUSED), "metal3.io/capm3");
    pause_cluster(&lab, false).await;
    rest(&lab).await;
    assert!(lab.object("Metal3Machine", &name(&machine)).is_none());
}
