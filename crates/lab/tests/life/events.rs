//! The events of a machine's life: each is sent once, as one object per event.

use std::collections::BTreeMap;

use capm3_lab::Lab;
use serde_json::json;

use crate::common::{hosts::*, *};

/// How often each reason was sent for each object.
fn counts(lab: &Lab) -> BTreeMap<(String, String), usize> {
    let mut counts = BTreeMap::new();
    for event in lab.objects("Event") {
        let source = text(&event, "/source/component");
        if source == "capm3" {
            *counts.entry((text(&event, "/involvedObject/name"), text(&event, "/reason"))).or_default() += 1;
        }
    }
    counts
}

fn assert_each_event_once(lab: &Lab, writes: &Writes) {
    assert_eq!(writes.events_not_taken(lab), Vec::<String>::new(), "sent again");
}

#[tokio::test(start_paused = true)]
async fn a_claim_has_one_event_per_machine_and_what_objects_show_is_only_logged() {
    let (lab, writes) = Writes::lab().await;
    lab.apply(&three_racks()).await.unwrap();
    rest(&lab).await;
    let counts = counts(&lab);
    assert_eq!(lab.objects("Metal3Machine").len(), 6);
    for machine in lab.objects("Metal3Machine") {
        let reported = counts.get(&(name(&machine), "HostClaimed".to_owned()));
        assert_eq!(reported, Some(&1), "{}", name(&machine));
    }
    for reason in ["DataReady", "Rendered", "ProviderIDSet"] {
        assert_eq!(events(&lab, reason), Vec::<String>::new(), "a condition or the spec shows it");
    }
    assert_each_event_once(&lab, &writes);
}

#[tokio::test(start_paused = true)]
async fn release_fallback_and_refusal_have_one_event_each() {
    let mut manifests = control_plane(3);
    manifests.retain(|m| m.key().name != "rack3-host-1");
    let role = json!({"metadata": {"labels": {"cluster-role": "control-plane"}}});
    change(&mut manifests, "BareMetalHost", "rack1-host-2", &role);
    let (lab, writes) = Writes::lab().await;
    lab.apply(&manifests).await.unwrap();
    rest(&lab).await;
    let fallbacks = events(&lab, "FailureDomainFallback");
    assert_eq!(fallbacks.len(), 1, "{fallbacks:?}");
    assert!(
        fallbacks[0].contains(
            "no host is available in failure domain rack3; the machine takes host rack1-host-2 in rack1"
        ),
        "{fallbacks:?}"
    );
    let machine = machines(&lab, "my-cluster-cp")[0].clone();
    let thief = json!({"spec": {"consumerRef": {"kind": "HostClaim", "apiVersion": "example.com/v1", "name": "x", "namespace": "metal3"}}});
    patch_host(&lab, &host_of(&machine), thief).await;
    rest(&lab).await;
    for touched in ["once", "twice"] {
        let touch = json!({"metadata": {"labels": {"touched": touched}}});
        patch_machine(&lab, &name(&machine), touch.clone()).await;
        patch_host(&lab, &host_of(&machine), touch).await;
        rest(&lab).await;
    }
    let refusals = events(&lab, "HostRefused");
    assert_eq!(refusals.len(), 1, "{refusals:?}");
    assert!(refusals[0].contains("HostClaim metal3/x; this machine does not take it over"), "{refusals:?}");
    let other = machines(&lab, "my-cluster-cp")[1].clone();
    delete(&lab, "cluster.x-k8s.io/v1beta2", "Machine", &name(&other)).await;
    rest(&lab).await;
    let released = events(&lab, "HostReleased").into_iter().filter(|e| e.starts_with(&name(&other))).count();
    assert_eq!(released, 1);
    assert_each_event_once(&lab, &writes);
}

/// The whole life of a cluster, up, upgraded and gone, with hosts that are kept and with hosts that are not: no step
/// repeats an event.
#[tokio::test(start_paused = true)]
async fn in_the_whole_life_of_a_cluster_no_event_is_repeated() {
    for keeps in [false, true] {
        let mut manifests = three_racks();
        for template in ["my-cluster-cp", "my-cluster-workers"] {
            change(&mut manifests, "Metal3MachineTemplate", template, &json!({"spec": {"nodeReuse": keeps}}));
        }
        let in_place = json!({"spec": {"rollout": {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0}}}}});
        change(&mut manifests, "KubeadmControlPlane", "my-cluster-cp", &in_place);
        let (lab, writes) = Writes::lab().await;
        lab.apply(&manifests).await.unwrap();
        rest(&lab).await;
        assert_each_event_once(&lab, &writes);
        let before: Vec<String> = lab.objects("Metal3Machine").iter().map(|m| name(m)).collect();
        upgrade(&lab).await;
        let after: Vec<String> = lab.objects("Metal3Machine").iter().map(|m| name(m)).collect();
        assert_eq!(after.len(), 6);
        assert!(!after.iter().any(|machine| before.contains(machine)), "every machine is a new one");
        assert_each_event_once(&lab, &writes);
        delete_cluster(&lab).await;
        rest(&lab).await;
        assert_eq!(lab.objects("Metal3Machine").len(), 0);
        let given_back = ["HostReleased", "HostBooked"].map(|reason| events(&lab, reason).len());
        assert_eq!(given_back, if keeps { [6, 6] } else { [12, 0] }, "each machine gave its host back");
        assert_each_event_once(&lab, &writes);
    }
}

/// Another version for control plane and workers.
async fn upgrade(lab: &Lab) {
    let version = json!({"spec": {"version": "v1.31.0"}});
    let kind = "KubeadmControlPlane";
    patch(lab, "controlplane.cluster.x-k8s.io/v1beta2", kind, "my-cluster-cp", version.clone()).await;
    let version = json!({"spec": {"template": version}});
    patch(lab, "cluster.x-k8s.io/v1beta2", "MachineDeployment", "my-cluster-workers", version).await;
    rest(lab).await;
}
