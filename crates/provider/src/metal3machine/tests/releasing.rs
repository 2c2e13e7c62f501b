//! Giving the host back.

use super::*;

#[test]
fn deletion_clears_the_host_then_waits_then_releases_host_and_claim_and_lets_go_last() {
    let image = json!({"spec": {"image": {"url": "http://image"}}, "status": {"provisioning": {"state": "provisioned"}}});
    let clears = decide(&deleting(with_host(image)), "t");
    assert_eq!(kinds(&clears), ["patch BareMetalHost h"]);
    assert_eq!(clears.plan.end, End::Again);
    let cleaning =
        json!({"spec": {"online": false}, "status": {"provisioning": {"state": "deprovisioning"}}});
    let waits = decide(&deleting(with_host(cleaning)), "t");
    assert_eq!(kinds(&waits), ["patch Metal3Machine/status m"]);
    assert_eq!(condition_of(&waits, condition::ASSOCIATE_META_DATA).1, "Deprovisioning");
    assert_eq!(condition_of(&waits, condition::HOST_PROVISIONED).0, "False", "nor does it stay true");
    let clean = MachineSnapshot {
        claim: Some(read(own_claim(json!({})))),
        ..with_host(json!({"spec": {"online": false}}))
    };
    let ends = decide(&deleting(clean), "t");
    assert_eq!(
        kinds(&ends),
        [
            "patch BareMetalHost h",
            "patch Metal3DataClaim m",
            "delete Metal3DataClaim m",
            "patch Metal3Machine m"
        ]
    );
    assert_eq!(patched(&ends, "Metal3Machine", "/metadata/finalizers"), json!([]));
    assert_eq!(patched(&ends, "Metal3DataClaim", "/metadata/finalizers"), json!([finalizer::DATA_CLAIM]));
}

/// A host that `nodeReuse` asks to keep and that cannot be kept is given back all the same, with one warning.
#[test]
fn a_host_that_was_to_be_kept_for_nobody_knows_whom_is_given_back_with_a_warning() {
    let template = |reuse: bool| {
        Some(read(json!({"metadata": {"namespace": "metal3", "name": "t"}, "spec": {"nodeReuse": reuse}})))
    };
    let of_control_plane = json!({"metadata": {"namespace": "metal3", "name": "m",
            "labels": {"cluster.x-k8s.io/cluster-name": "c", "cluster.x-k8s.io/control-plane": ""}, "ownerReferences": [
            {"apiVersion": "controlplane.cluster.x-k8s.io/v1beta2", "kind": "KubeadmControlPlane", "name": "kcp", "uid": "u"}]},
        "spec": {"clusterName": "c"}});
    let clean = || with_host(json!({"spec": {"online": false}}));
    for (what, snapshot, expected) in [
        (
            "no owner",
            MachineSnapshot { template: template(true), ..clean() },
            vec!["HostReleased", "HostNotKept"],
        ),
        ("not asked for", MachineSnapshot { template: template(false), ..clean() }, vec!["HostReleased"]),
        ("no template", clean(), vec!["HostReleased"]),
        (
            "kept",
            MachineSnapshot { template: template(true), machine: Some(read(of_control_plane)), ..clean() },
            vec!["HostBooked"],
        ),
    ] {
        let decision = decide(&deleting(snapshot), "t");
        assert_eq!(kinds(&decision), ["patch BareMetalHost h", "patch Metal3Machine m"], "{what}");
        let told: Vec<_> = decision.plan.events.iter().map(|event| event.reason).collect();
        assert_eq!(told, expected, "{what}");
    }
}

#[test]
fn deletion_needs_neither_machine_nor_cluster_nor_template() {
    let bare = MachineSnapshot {
        owner: None,
        machine: None,
        cluster: None,
        metal3_cluster: None,
        ..with_host(json!({"spec": {"online": false}}))
    };
    assert_eq!(kinds(&decide(&deleting(bare), "t")), ["patch BareMetalHost h", "patch Metal3Machine m"]);
}
