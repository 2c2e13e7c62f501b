//! What comes before a host, and which host is taken.

use super::*;

#[test]
fn each_missing_prerequisite_is_waited_for_by_its_reason_and_nothing_is_taken() {
    let no_owner = MachineSnapshot { owner: None, machine: None, ..ready_to_choose() };
    let no_machine = MachineSnapshot { machine: None, ..ready_to_choose() };
    let no_cluster = MachineSnapshot { cluster: None, ..ready_to_choose() };
    let not_ready = MachineSnapshot { cluster: Some(read(json!({}))), ..ready_to_choose() };
    let no_metal3_cluster = MachineSnapshot { metal3_cluster: None, ..ready_to_choose() };
    let no_bootstrap = MachineSnapshot {
        machine: Some(read(
            json!({"spec": {"bootstrap": {"configRef": {"kind": "KubeadmConfig", "name": "m"}}}}),
        )),
        ..ready_to_choose()
    };
    for (snapshot, reason, older) in [
        (no_owner, "WaitingForMetal3MachineOwnerRef", "WaitingForM3MachineOwnerRef"),
        (no_machine, "WaitingForMetal3MachineOwnerRef", "WaitingForM3MachineOwnerRef"),
        (no_cluster, "WaitingForClusterInfrastructureReady", "WaitingForClusterInfrastructure"),
        (not_ready, "WaitingForClusterInfrastructureReady", "WaitingForClusterInfrastructure"),
        (no_metal3_cluster, "WaitingforMetal3Cluster", "WaitingforMetal3Cluster"),
        (no_bootstrap, "WaitingForBootstrapData", "WaitingForBootstrapReady"),
    ] {
        let decision = decide(&snapshot, "t");
        assert_eq!(kinds(&decision), ["patch Metal3Machine/status m"], "{reason}");
        assert_eq!(condition_of(&decision, condition::ASSOCIATE_HOST), ("False".into(), reason.into()));
        assert_eq!(older_condition_of(&decision, "AssociateBMH"), (older.into(), "Info".into()), "{reason}");
        assert_eq!(older_condition_of(&decision, "Ready"), (older.into(), "Info".into()), "{reason}");
        assert!(matches!(decision.plan.end, End::WaitFor(_)), "{reason}");
    }
}

#[test]
fn the_finalizer_is_stored_before_anything_is_taken() {
    let snapshot = with_machine(ready_to_choose(), json!({"metadata": {"finalizers": []}}));
    let decision = decide(&snapshot, "t");
    assert_eq!(kinds(&decision), ["patch Metal3Machine m"]);
    assert_eq!(patched(&decision, "Metal3Machine", "/metadata/finalizers"), json!([finalizer::MACHINE]));
    assert_eq!(decision.plan.end, End::Again);
}

#[test]
fn a_host_is_claimed_on_the_version_that_was_looked_at() {
    let decision = decide(&ready_to_choose(), "t");
    assert_eq!(kinds(&decision), ["patch BareMetalHost h"]);
    let Some(Write::Patch { version, patch, .. }) = decision.plan.writes.first() else { panic!("a patch") };
    assert_eq!(version.as_deref(), Some("9"));
    assert_eq!(patch["spec"]["consumerRef"]["name"], "m");
    assert_eq!(patch["metadata"]["labels"]["cluster.x-k8s.io/cluster-name"], "c");
    assert_eq!(patch["spec"].get("image"), None, "the image comes when the data is there");
    assert_eq!(decision.plan.end, End::Again);
}

#[test]
fn without_a_usable_host_the_condition_counts_the_reasons() {
    let paused = host("h", json!({"metadata": {"annotations": {annotation::HOST_PAUSED: ""}}}));
    let snapshot = MachineSnapshot { candidates: vec![read(paused)].into(), ..ready_to_choose() };
    let decision = decide(&snapshot, "t");
    let End::WaitFor(what) = &decision.plan.end else { panic!("waits") };
    let what = what.to_string();
    assert_eq!(what, "no host is available: 1 host: 1 paused");
    assert_eq!(condition_of(&decision, condition::ASSOCIATE_HOST).1, "AssociateBareMetalHostFailed");
    assert_eq!(
        older_condition_of(&decision, "AssociateBMH"),
        ("AssociateBMHFailed".into(), "Warning".into()),
        "that there is none is no error"
    );
}

#[test]
fn a_count_alone_never_causes_a_write() {
    let paused = |n: &str| read(host(n, json!({"metadata": {"annotations": {annotation::HOST_PAUSED: ""}}})));
    let one = MachineSnapshot { candidates: vec![paused("a")].into(), ..ready_to_choose() };
    let first = decide(&one, "t");
    let status = json!({"status": patched(&first, "Metal3Machine", "/status")});
    let two = with_machine(
        MachineSnapshot { candidates: vec![paused("a"), paused("b")].into(), ..ready_to_choose() },
        status,
    );
    assert_eq!(decide(&two, "later").plan.writes, []);
}

#[test]
fn a_host_of_somebody_else_is_never_taken_away() {
    let recorded = json!({"metadata": {"annotations": {annotation::HOST: "metal3/h"}}});
    let snapshot = MachineSnapshot { host: Some(read(host("h", consumed_by("other")))), ..ready_to_choose() };
    let decision = decide(&with_machine(snapshot, recorded), "t");
    assert_eq!(kinds(&decision), ["patch Metal3Machine/status m"]);
    let End::WaitFor(what) = &decision.plan.end else { panic!("waits") };
    let what = what.to_string();
    assert!(what.contains("consumed by Metal3Machine metal3/other"), "{what}");
    assert_eq!(older_condition_of(&decision, "AssociateBMH"), ("AssociateBMHFailed".into(), "Error".into()));
}

#[test]
fn a_host_whose_kind_cannot_hold_the_data_is_not_provisioned_without_it() {
    let given = json!({"status": {"userData": {"name": "u"}}, "spec": {"networkData": {"name": "n"}}});
    let mut snapshot = with_machine(with_host(json!({})), given);
    snapshot.host_lacks = vec!["metaData"];
    assert!(kinds(&decide(&snapshot, "t")).contains(&"patch BareMetalHost h".to_owned()), "not needed");
    snapshot.host_lacks = vec!["networkData"];
    let decision = decide(&snapshot, "t");
    assert!(!kinds(&decision).contains(&"patch BareMetalHost h".to_owned()));
    let End::WaitFor(what) = &decision.plan.end else { panic!("waits") };
    let what = what.to_string();
    assert!(what.contains("has no field spec.networkData"), "{what}");
}
