//! The Node, and the rest that follows.

use super::*;
use crate::plan::waits_for;

/// A failure that an earlier provider reported and that is over is taken back, and only then is anything written for it.
#[test]
fn a_failure_that_is_over_is_taken_back() {
    let failed = |reason: &str| json!({"status": {"deprecated": {"v1beta1": {"failureReason": reason, "failureMessage": reason}}}});
    for reason in ["UpdateError", ""] {
        let decision = decide(&with_machine(provisioned(Nodes::NotNeeded), failed(reason)), "t");
        for field in ["failureReason", "failureMessage"] {
            let Some(Write::Patch { patch, .. }) = decision.plan.writes.last() else { panic!("a patch") };
            let legacy = patch.pointer("/status/deprecated/v1beta1").unwrap();
            assert_eq!(legacy.get(field), Some(&Value::Null), "{reason:?}: {legacy}");
        }
    }
    let paused = Some(read(json!({"metadata": {"name": "c"}, "spec": {"paused": true}})));
    let rests = with_machine(MachineSnapshot { cluster: paused, ..ready_to_choose() }, failed("UpdateError"));
    assert!(
        !decide(&rests, "t").plan.to_string().contains("failureReason"),
        "a paused machine is left alone"
    );
}

/// A condition never reports work that nobody does.
#[test]
fn a_host_that_its_operator_cannot_work_on_is_reported_with_its_blocker() {
    let note = |key: &str, value: &str| json!({"metadata": {"annotations": {key: value}}});
    let state = |state: &str| json!({"status": {"provisioning": {"state": state}}});
    for (host, reason, words) in [
        (state("provisioning"), "Provisioning", "waiting for host h to be provisioned; it is provisioning"),
        (state(""), "Provisioning", "waiting for host h to be provisioned; it is new"),
        (json!({"status": {"errorMessage": "boom"}}), "HostError", "host h is available: boom"),
        (
            note(annotation::HOST_PAUSED, "mine"),
            "HostPaused",
            "host h is not being provisioned: the host is paused by annotation baremetalhost.metal3.io/paused",
        ),
        (
            note(annotation::HOST_PAUSED, annotation::HOST_PAUSED_BY_US),
            "Provisioning",
            "waiting for host h to be provisioned; it is available",
        ),
        (
            note(annotation::HOST_DETACHED, ""),
            "HostDetached",
            "host h is not being provisioned: the host is detached from its operator",
        ),
        (
            state("externally provisioned"),
            "HostExternallyProvisioned",
            "host h is not being provisioned: the host is externally provisioned, so its operator puts no image on it",
        ),
    ] {
        let decision = decide(&with_host(host.clone()), "t");
        assert_eq!(waits_for(&decision.plan), words, "{host}");
        assert_eq!(
            condition_of(&decision, condition::HOST_PROVISIONED),
            ("False".into(), reason.into()),
            "{host}"
        );
    }
}

#[test]
fn the_node_of_a_provisioned_host_makes_the_machine_provisioned() {
    let asks = decide(&provisioned(Nodes::NotConnected), "t");
    assert_eq!(asks.connect.map(|c| c.to_string()).as_deref(), Some("metal3/c"));
    let waits = decide(&provisioned(Nodes::Known(NodeCandidates::default())), "t");
    assert_eq!(condition_of(&waits, condition::ASSOCIATE_META_DATA).1, "WaitingForNode");
    let node = read(json!({"metadata": {"name": "n"}, "spec": {"providerID": "metal3://metal3/h/m"}}));
    let known = NodeCandidates { with_id_of_host: vec![node], ..NodeCandidates::default() };
    let done = decide(&provisioned(Nodes::Known(known)), "t");
    assert_eq!(patched(&done, "Metal3Machine", "/spec/providerID"), "metal3://metal3/h/m");
    assert_eq!(patched(&done, "Metal3Machine", "/status/initialization/provisioned"), true);
    assert_eq!(condition_of(&done, condition::READY), ("True".into(), "Ready".into()));
    assert_eq!(done.plan.end, End::Done);
}

#[test]
fn a_node_found_by_label_gets_its_provider_id_first() {
    let node = read(json!({"metadata": {"name": "n"}}));
    let known = NodeCandidates { with_uuid: vec![node], ..NodeCandidates::default() };
    let mut snapshot = provisioned(Nodes::Known(known));
    snapshot.metal3_cluster = Some(read(json!({})));
    let writes: Vec<String> = decide(&snapshot, "t").plan.writes.iter().map(ToString::to_string).collect();
    assert_eq!(
        writes[0],
        r#"patch Node n of workload cluster metal3/c {"spec":{"providerID":"metal3://metal3/h/m"}}"#
    );
    assert!(writes[1].starts_with("patch Metal3Machine metal3/m"), "{writes:?}");
}

#[test]
fn a_second_pass_over_a_finished_machine_writes_nothing() {
    let node = read(json!({"metadata": {"name": "n"}, "spec": {"providerID": "metal3://metal3/h/m"}}));
    let known = || {
        Nodes::Known(NodeCandidates { with_id_of_host: vec![Arc::clone(&node)], ..NodeCandidates::default() })
    };
    let mut snapshot = provisioned(known());
    for _ in 0..2 {
        let decision = decide(&snapshot, "t");
        snapshot.metal3_machine = read::<Metal3Machine>(applied(&snapshot, &decision));
    }
    assert!(decide(&snapshot, "much later").plan.is_quiet());
}

/// A remediation may delete the Node; the kubelet that registers it again need not know the provider ID.
#[test]
fn a_node_that_registers_again_gets_its_provider_id_back_and_the_machine_stays_as_it_is() {
    let first = read(json!({"metadata": {"name": "n"}, "spec": {"providerID": "metal3://metal3/h/m"}}));
    let of_first = NodeCandidates { with_id_of_host: vec![first], ..NodeCandidates::default() };
    let mut snapshot = provisioned(Nodes::Known(of_first));
    snapshot.metal3_cluster = Some(read(json!({})));
    snapshot.metal3_machine = read::<Metal3Machine>(applied(&snapshot, &decide(&snapshot, "t")));
    let again =
        |with_uuid| NodeCandidates { with_uuid, is_registered_again: true, ..NodeCandidates::default() };
    snapshot.nodes = Nodes::Known(again(vec![read(json!({"metadata": {"name": "n"}}))]));
    let writes: Vec<String> =
        decide(&snapshot, "later").plan.writes.iter().map(ToString::to_string).collect();
    let patch = r#"patch Node n of workload cluster metal3/c {"spec":{"providerID":"metal3://metal3/h/m"}}"#;
    assert_eq!(writes, [patch]);
    snapshot.nodes = Nodes::Known(again(Vec::new()));
    assert!(decide(&snapshot, "later").plan.is_quiet(), "{}", decide(&snapshot, "later").plan);
}

#[test]
fn waits_that_follow_each_other_within_a_second_share_a_write_but_provisioned_is_written_at_once() {
    let updated = json!({"status": {"lastUpdated": "t"}});
    let waits = with_machine(MachineSnapshot { cluster: None, ..ready_to_choose() }, updated.clone());
    let decision = decide(&waits, "t");
    assert!(decision.plan.is_quiet());
    assert!(matches!(decision.plan.end, End::After(_)));
    assert_eq!(kinds(&decide(&waits, "a second later")), ["patch Metal3Machine/status m"]);
    let node = read(json!({"metadata": {"name": "n"}, "spec": {"providerID": "metal3://metal3/h/m"}}));
    let known = NodeCandidates { with_id_of_host: vec![node], ..NodeCandidates::default() };
    let done = with_machine(provisioned(Nodes::Known(known)), updated);
    assert_eq!(patched(&decide(&done, "t"), "Metal3Machine", "/status/initialization/provisioned"), true);
}

#[test]
fn a_wait_that_goes_on_is_written_once_however_many_passes_see_it() {
    let mut snapshot = provisioned(Nodes::Known(NodeCandidates::default()));
    snapshot.metal3_machine = read(applied(&snapshot, &decide(&snapshot, "first")));
    assert!(decide(&snapshot, "later").plan.is_quiet(), "{}", decide(&snapshot, "later").plan);
}

#[test]
fn the_recorded_host_is_in_use_and_others_that_name_the_machine_are_given_back() {
    let surplus = || vec![read(host("a", consumed_by("m")))];
    let live = MachineSnapshot { surplus: surplus(), ..provisioned(Nodes::NotNeeded) };
    let text = decide(&live, "t").plan.to_string();
    assert!(text.contains("patch BareMetalHost metal3/a {"), "{text}");
    assert!(!text.contains("metal3/a {\"spec\":{\"image\":{"), "a surplus host never gets an image: {text}");
    let dirty = read(host(
        "a",
        json!({"spec": {"image": {"url": "http://i"}, "consumerRef": consumed_by("m")["spec"]["consumerRef"]}}),
    ));
    let ends = MachineSnapshot { surplus: vec![dirty], ..with_host(json!({"spec": {"online": false}})) };
    let decision = decide(&deleting(ends), "t");
    assert_eq!(decision.plan.end, End::Again, "the machine stays until every host is released");
    assert!(!kinds(&decision).contains(&"patch Metal3Machine m".to_owned()));
}

#[test]
fn a_running_machine_whose_host_is_gone_or_taken_says_so() {
    let running = |host: Option<Value>| {
        let mut snapshot = with_machine(
            MachineSnapshot { host: host.map(read), candidates: vec![].into(), ..ready_to_choose() },
            json!({"metadata": {"annotations": {annotation::HOST: "metal3/h"}}, "spec": {"providerID": "metal3://metal3/h/m"},
                "status": {"initialization": {"provisioned": true}}}),
        );
        let mut capi = snapshot.machine.as_deref().unwrap().clone();
        capi.status.node_ref = serde_json::from_value(json!({"name": "n"})).unwrap();
        snapshot.machine = Some(Arc::new(capi));
        snapshot
    };
    for (snapshot, words) in [
        (running(None), "BareMetalHost h of this machine is not found"),
        (running(Some(host("h", consumed_by("other")))), "consumed by Metal3Machine metal3/other"),
    ] {
        let End::WaitFor(what) = decide(&snapshot, "t").plan.end else { panic!("waits") };
        let what = what.to_string();
        assert!(what.contains(words), "{what}");
    }
    let image =
        json!({"spec": {"image": {"url": "http://i"}}, "status": {"provisioning": {"state": "provisioned"}}});
    let mut own = host("h", consumed_by("m"));
    merge(&mut own, &image);
    let good = decide(&running(Some(own)), "t");
    assert_eq!(
        condition_of(&good, condition::READY),
        ("True".into(), "Ready".into()),
        "an upgraded machine is ready too"
    );
}
