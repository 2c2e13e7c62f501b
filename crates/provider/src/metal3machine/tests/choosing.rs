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

const RECORD: &str = "/metadata/annotations/metal3.io~1BareMetalHost";

#[test]
fn finalizer_and_record_are_stored_in_one_write_before_a_host_is_taken() {
    let free = json!({"metadata": {"finalizers": []}});
    let decision = decide(&with_machine(ready_to_choose(), free.clone()), "t");
    assert_eq!(kinds(&decision), ["patch Metal3Machine m", "patch BareMetalHost h"]);
    assert_eq!(patched(&decision, "Metal3Machine", "/metadata/finalizers"), json!([finalizer::MACHINE]));
    assert_eq!(patched(&decision, "Metal3Machine", RECORD), "metal3/h");
    assert_eq!(decision.plan.end, End::Again);
    let none = MachineSnapshot { candidates: vec![].into(), ..ready_to_choose() };
    let waits = decide(&with_machine(none, free.clone()), "t");
    assert_eq!(kinds(&waits), ["patch Metal3Machine/status m"], "it has nothing that could be forgotten");
    let claimed = decide(&with_machine(with_host(json!({})), free), "t");
    assert_eq!(kinds(&claimed), ["patch Metal3Machine m"], "a host that names it is kept first of all");
    assert_eq!(patched(&claimed, "Metal3Machine", "/metadata/finalizers"), json!([finalizer::MACHINE]));
}

/// A machine records the host before it claims it. Where it comes too late, or died in between, it takes another one; the
/// record goes with the same write in which the next one comes.
#[test]
fn a_host_that_was_only_chosen_is_left_to_whoever_has_it() {
    let chosen = json!({"metadata": {"annotations": {annotation::HOST: "metal3/h"}}});
    let snapshot = |now: Value, others: Vec<Value>| {
        let candidates: Vec<_> = others.into_iter().map(read).collect();
        let snapshot = MachineSnapshot {
            host: Some(read(host("h", now))),
            candidates: candidates.into(),
            ..ready_to_choose()
        };
        with_machine(snapshot, chosen.clone())
    };
    let free = decide(&snapshot(json!({}), vec![]), "t");
    assert_eq!(kinds(&free), ["patch BareMetalHost h"], "it is claimed, and nothing is recorded again");
    let paused = json!({"metadata": {"annotations": {annotation::HOST_PAUSED: ""}}});
    for lost in [consumed_by("other"), paused] {
        let next = decide(&snapshot(lost.clone(), vec![host("i", json!({}))]), "t");
        assert_eq!(kinds(&next), ["patch Metal3Machine m", "patch BareMetalHost i"], "{lost}");
        assert_eq!(patched(&next, "Metal3Machine", RECORD), "metal3/i");
        let waits = decide(&snapshot(lost, vec![]), "t");
        assert_eq!(waits.awaits, Awaits::AnyHost);
        assert!(waits.plan.to_string().contains(r#""metal3.io/BareMetalHost":null"#), "{}", waits.plan);
    }
}

/// Whatever tells that the machine had the host keeps it there: what it has put on it may still run.
#[test]
fn a_machine_that_had_its_host_takes_no_other_one() {
    let recorded = json!({"metadata": {"annotations": {annotation::HOST: "metal3/h"}}});
    let told = |status: Value| json!({"status": status});
    let taken = json!([{"type": condition::ASSOCIATE_HOST, "status": "True", "reason": "x", "message": "",
        "lastTransitionTime": "t"}]);
    let boots = json!({"spec": {"image": {"url": "u"}, "userData": {"name": "m"}}});
    let filled = json!({"spec": {"image": {"url": "u"}, "consumerRef": null}});
    for (what, machine, on_host, claim) in [
        ("provider ID", json!({"spec": {"providerID": "metal3://metal3/h/m"}}), json!({}), None),
        ("user data", told(json!({"userData": {"name": "u"}})), json!({}), None),
        ("data", told(json!({"renderedData": {"name": "dt-0"}})), json!({}), None),
        ("condition", told(json!({"conditions": taken})), json!({}), None),
        ("claim", json!({}), json!({}), Some(read(own_claim(json!({}))))),
        ("what the host boots", json!({}), boots, None),
        ("an image that nobody claims", json!({}), filled, None),
    ] {
        let mut stolen = consumed_by("other");
        merge(&mut stolen, &on_host);
        let snapshot = MachineSnapshot {
            host: Some(read(host("h", stolen))),
            candidates: vec![read(host("i", json!({})))].into(),
            claim,
            ..ready_to_choose()
        };
        let holds = decide(&with_machine(with_machine(snapshot, recorded.clone()), machine), "t");
        assert!(!kinds(&holds).iter().any(|write| write.contains("BareMetalHost")), "{what}: {}", holds.plan);
        assert!(!holds.plan.to_string().contains(r#""metal3.io/BareMetalHost""#), "{what}: {}", holds.plan);
    }
}

#[test]
fn a_host_is_claimed_on_the_version_that_was_looked_at() {
    let decision = decide(&ready_to_choose(), "t");
    assert_eq!(kinds(&decision), ["patch Metal3Machine m", "patch BareMetalHost h"]);
    let Some(Write::Patch { version, patch, .. }) = decision.plan.writes.last() else { panic!("a patch") };
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
    let recorded = json!({"metadata": {"annotations": {annotation::HOST: "metal3/h"}},
        "status": {"userData": {"name": "m"}}});
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
