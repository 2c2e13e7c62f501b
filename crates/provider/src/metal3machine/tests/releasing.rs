//! Giving the host back.

use super::{observing::TestReader, *};
use crate::metal3machine::claim_release;

#[test]
fn deletion_clears_the_host_then_waits_then_releases_host_and_claim_and_its_own_finalizer_last() {
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

/// Two requests for the claim in place of three: the controller of the template has nothing to do any more.
#[test]
fn a_claim_whose_data_goes_with_it_loses_both_finalizers_in_one_write() {
    let data = |extra: Value| {
        let mut data = json!({"metadata": {"name": "dt-0", "namespace": "metal3", "uid": "uid-d",
            "finalizers": [finalizer::DATA_CLAIM, finalizer::DATA]}});
        merge(&mut data, &extra);
        Some(read(data))
    };
    let clean = |data, claim: Value| {
        let mut own = own_claim(json!({"renderedData": {"name": "dt-0", "namespace": "metal3"}}));
        merge(&mut own, &claim);
        deleting(MachineSnapshot {
            claim: Some(read(own)),
            data_to_delete: data,
            ..with_host(json!({"spec": {"online": false}}))
        })
    };
    let going = || json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}});
    let [host, machine] = ["patch BareMetalHost h", "patch Metal3Machine m"];
    let [patch, delete] = ["patch Metal3DataClaim m", "delete Metal3DataClaim m"];
    for (what, snapshot, expected) in [
        (
            "both are there",
            clean(data(json!({})), json!({})),
            vec![host, "delete Metal3Data dt-0", patch, delete, machine],
        ),
        ("the data went before a crash", clean(data(going()), json!({})), vec![host, patch, delete, machine]),
        (
            "somebody deleted the claim",
            clean(data(json!({})), going()),
            vec![host, "delete Metal3Data dt-0", patch, machine],
        ),
    ] {
        let ends = decide(&snapshot, "t");
        assert_eq!(kinds(&ends), expected, "{what}");
        assert_eq!(patched(&ends, "Metal3DataClaim", "/metadata/finalizers"), json!([]), "{what}");
    }
    let runs = MachineSnapshot {
        data_to_delete: data(json!({})),
        claim: Some(read(own_claim(json!({})))),
        ..with_host(json!({"spec": {"image": {"url": "http://image"}}}))
    };
    assert_eq!(kinds(&decide(&deleting(runs), "t")), [host], "the host is given back first");
}

/// What is known of the data decides who ends the claim.
#[test]
fn data_goes_with_its_claim_only_where_it_is_the_only_one_and_its_template_is_at_work() {
    let rendered = json!({"renderedData": {"name": "dt-0", "namespace": "metal3"}});
    let data = |name: &str| {
        json!({"metadata": {"name": name, "namespace": "metal3", "finalizers": [finalizer::DATA_CLAIM, finalizer::DATA],
            "ownerReferences": [{"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "Metal3DataClaim",
                "name": "m", "uid": "uid-c"}]},
            "spec": {"claim": {"name": "m"}, "template": {"name": "dt"}}})
    };
    let template = || json!({"metadata": {"name": "dt", "namespace": "metal3"}});
    let changed = |mut object: Value, change: Value| {
        merge(&mut object, &change);
        object
    };
    let paused = || json!({"metadata": {"annotations": {annotation::PAUSED: ""}}});
    for (what, claim, template, datas, expected) in [
        ("all is there", json!({}), Some(template()), vec![data("dt-0")], true),
        ("no template", json!({}), None, vec![data("dt-0")], false),
        ("a paused template", json!({}), Some(changed(template(), paused())), vec![data("dt-0")], false),
        ("a paused claim", paused(), Some(template()), vec![data("dt-0")], false),
        ("further data", json!({}), Some(template()), vec![data("dt-0"), data("dt-1")], false),
        ("other data", json!({}), Some(template()), vec![data("dt-1")], false),
        ("no data", json!({}), Some(template()), vec![], false),
        (
            "data of a claim that was there before",
            json!({"metadata": {"uid": "later"}}),
            Some(template()),
            vec![data("dt-0")],
            false,
        ),
        (
            "data that its controller does not hold",
            json!({}),
            Some(template()),
            vec![changed(data("dt-0"), json!({"metadata": {"finalizers": [finalizer::DATA_CLAIM]}}))],
            false,
        ),
    ] {
        let reader = datas.into_iter().fold(TestReader::default(), |all, data| all.with("Metal3Data", data));
        let reader =
            template.into_iter().fold(reader, |all, template| all.with("Metal3DataTemplate", template));
        let claim = serde_json::from_value(changed(own_claim(rendered.clone()), claim)).unwrap();
        let found = claim_release::data_to_delete(&reader, &claim);
        assert_eq!(found.is_some(), expected, "{what}");
    }
}

/// A host that `nodeReuse` asks to keep and that cannot be kept is given back anyway, with one warning.
#[test]
fn a_host_to_be_reserved_for_an_unknown_owner_is_released_with_a_warning() {
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
        let reasons: Vec<_> = decision.plan.events.iter().map(|event| event.reason).collect();
        assert_eq!(reasons, expected, "{what}");
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
