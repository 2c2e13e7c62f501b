//! Pause and move.

use super::{refusing::refused_write, *};

fn with_cluster(mut snapshot: MachineSnapshot, paused: bool) -> MachineSnapshot {
    snapshot.cluster =
        Some(read(json!({"metadata": {"name": "c", "namespace": "metal3"}, "spec": {"paused": paused},
        "status": {"initialization": {"infrastructureProvisioned": true}}})));
    snapshot
}

fn whole_host() -> Value {
    host("h", json!({"metadata": {"resourceVersion": "12"}, "status": {"hardware": {"hostname": "x"}}}))
}

fn answered_with(host: Value) -> Live {
    let mut live = answered();
    live.answer_whole_host("h".into(), Some(host));
    live
}

/// While the Cluster is paused its hosts are: pause with our mark and the status without hardware, in the same patch in
/// which the block on moving goes.
#[test]
fn pa61_a_paused_cluster_pauses_its_hosts_in_one_patch() {
    let asks = decide(&with_cluster(with_host(json!({})), true), "t");
    assert_eq!(asks.ask, Some(Question::WholeHost("h".into())), "the cache does not keep the whole status");
    let paused =
        MachineSnapshot { live: answered_with(whole_host()), ..with_cluster(with_host(json!({})), true) };
    let decision = decide(&paused, "t");
    assert_eq!(kinds(&decision), ["patch BareMetalHost h", "patch Metal3Machine/status m"]);
    let Some(Write::Patch { patch, version, .. }) = decision.plan.writes.first() else { panic!("a patch") };
    assert_eq!(version.as_deref(), Some("12"), "guarded by the version whose status is in the annotation");
    let annotations = patch["metadata"]["annotations"].as_object().unwrap();
    assert_eq!(annotations[annotation::HOST_PAUSED], "metal3.io/capm3");
    assert_eq!(annotations[annotation::BLOCK_MOVE], Value::Null);
    let status = annotations[annotation::HOST_STATUS].as_str().unwrap();
    assert!(status.contains("\"state\":\"available\"") && !status.contains("hardware"), "{status}");
    assert_eq!(condition_of(&decision, condition::PAUSED), ("True".into(), "Paused".into()));
    assert_eq!(older_condition_of(&decision, "AssociateBMH"), ("Metal3MachinePaused".into(), "Info".into()));
}

/// When the pause of the Cluster ends, only a pause with our mark is taken off; that of a user stays.
#[test]
fn pa62_only_our_own_pause_is_taken_off() {
    for (mark, removed) in [("metal3.io/capm3", true), ("mine", false)] {
        let note = json!({"metadata": {"annotations": {annotation::HOST_PAUSED: mark}}});
        let decision = decide(&with_cluster(with_host(note), false), "t");
        let text = decision.plan.to_string();
        assert_eq!(text.contains("baremetalhost.metal3.io/paused\":null"), removed, "{mark}: {text}");
    }
}

/// A host in use carries the block on moving until pause and status are written.
#[test]
fn pa63_a_claimed_host_is_held_back_from_a_move() {
    let claims = decide(&ready_to_choose(), "t");
    let block = "/metadata/annotations/clusterctl.cluster.x-k8s.io~1block-move";
    assert_eq!(patched(&claims, "BareMetalHost", block), "");
}

/// If the host cannot be found because its record cannot be read, the conditions say that it could not be paused or
/// woken.
#[test]
fn pa64_a_pause_that_fails_has_a_reason_of_its_own() {
    let broken = json!({"metadata": {"annotations": {annotation::HOST: "a/b/c"}}});
    for paused in [true, false] {
        let snapshot = with_cluster(with_machine(ready_to_choose(), broken.clone()), paused);
        reports_that_the_pause_failed(&decide(&snapshot, "t"), paused);
    }
}

/// Both conditions of the machine, in both generations.
fn reports_that_the_pause_failed(decision: &Decision, pausing: bool) {
    let (reason, older) = match pausing {
        true => ("BareMetalHostPauseAnnotationSetFailed", "PauseAnnotationSetFailedReason"),
        false => ("BareMetalHostPauseAnnotationRemoveFailed", "PauseAnnotationRemoveFailed"),
    };
    for type_ in [condition::PAUSED, condition::ASSOCIATE_HOST] {
        assert_eq!(condition_of(decision, type_), ("False".into(), reason.into()));
    }
    assert_eq!(older_condition_of(decision, "AssociateBMH"), (older.into(), "Info".into()));
}

/// If the server refuses the annotation on the host, as the webhook of its operator does for a host that is being serviced,
/// the conditions say whether it could not be set or not be removed; the next pass tries again.
#[test]
fn pa64_a_host_whose_annotation_is_refused_is_reported() {
    let ours = json!({"metadata": {"annotations": {annotation::HOST_PAUSED: "metal3.io/capm3"}}});
    for (paused, host) in [(true, json!({})), (false, ours)] {
        let live = answered_with(whole_host());
        let snapshot = MachineSnapshot { live, ..with_cluster(with_host(host), paused) };
        assert!(kinds(&decide(&snapshot, "t")).contains(&"patch BareMetalHost h".to_owned()));
        let refused = refused_write("patch BareMetalHost metal3/h", "servicing");
        let decision = decide(&MachineSnapshot { refused, ..snapshot }, "t");
        assert_eq!(kinds(&decision), ["patch Metal3Machine/status m"]);
        reports_that_the_pause_failed(&decision, paused);
        assert!(decision.plan.to_string().contains("metal3/h: servicing"), "{}", decision.plan);
    }
}

/// The pause annotation on a single machine stops the machine and not its host.
#[test]
fn pa67_a_paused_machine_is_left_alone_and_its_host_works_on() {
    let note = json!({"metadata": {"annotations": {annotation::PAUSED: ""}}});
    let decision = decide(&with_cluster(with_machine(with_host(json!({})), note.clone()), false), "t");
    assert_eq!(kinds(&decision), ["patch Metal3Machine/status m"]);
    assert_eq!(condition_of(&decision, condition::PAUSED).0, "True");
    let deletes = deleting(with_cluster(with_machine(with_host(json!({})), note), false));
    assert_eq!(kinds(&decide(&deletes, "t")), ["patch Metal3Machine/status m"], "not even deletion goes on");
}

#[test]
fn a_host_that_is_paused_already_is_written_once() {
    let note = json!({"metadata": {"annotations": {annotation::HOST_PAUSED: "metal3.io/capm3",
        annotation::BLOCK_MOVE: null}}});
    let mut snapshot = with_cluster(with_host(json!({})), true);
    let mut object = serde_json::to_value(snapshot.host.as_deref().unwrap()).unwrap();
    object["metadata"]["annotations"] = note["metadata"]["annotations"].clone();
    object["metadata"]["annotations"].as_object_mut().unwrap().retain(|_, v| !v.is_null());
    snapshot.host = Some(read(object));
    let decision = decide(&snapshot, "t");
    assert_eq!(decision.ask, None);
    assert_eq!(kinds(&decision), ["patch Metal3Machine/status m"]);
}

/// The host of a paused machine being deleted: cleared or not, paused by us, with or without the label of its cluster.
fn paused_and_being_deleted(spec: Value, state: &str, cluster: &str) -> MachineSnapshot {
    let note = json!({"metadata": {"annotations": {annotation::HOST_PAUSED: "metal3.io/capm3"},
            "labels": {"cluster.x-k8s.io/cluster-name": cluster}},
        "spec": spec, "status": {"provisioning": {"state": state}}});
    let conditions = json!({"status": {"conditions": [
        {"type": "AssociateBareMetalHost", "status": "False", "reason": "Paused", "lastTransitionTime": "t"},
        {"type": "Paused", "status": "True", "reason": "Paused", "lastTransitionTime": "t"}]}});
    deleting(with_machine(with_host(note), conditions))
}

#[test]
fn a_deletion_takes_our_own_pause_off_once_nothing_is_paused_any_more() {
    let cleared = json!({"online": false});
    let running = json!({"image": {"url": "http://image"}});
    for (what, spec, state) in
        [("cleared before the pause", &cleared, "deprovisioning"), ("paused before", &running, "provisioned")]
    {
        for cluster in ["c", "another"] {
            let woken = with_cluster(paused_and_being_deleted(spec.clone(), state, cluster), false);
            let gone = MachineSnapshot { cluster: None, machine: None, ..woken.clone() };
            for (who, snapshot) in [("an unpaused Cluster", woken), ("a Cluster that is gone", gone)] {
                let decision = decide(&snapshot, "t");
                assert_eq!(kinds(&decision), ["patch BareMetalHost h"], "{what}, {who}, {cluster}");
                let text = decision.plan.to_string();
                assert!(text.contains("baremetalhost.metal3.io/paused\":null"), "{what}, {who}: {text}");
                assert_eq!(decision.plan.end, End::Again);
            }
        }
        let rests = with_cluster(paused_and_being_deleted(spec.clone(), state, "c"), true);
        assert!(!decide(&rests, "t").plan.to_string().contains("paused\":null"), "{what}: paused still");
    }
}

#[test]
fn a_deletion_stops_reporting_a_pause_that_is_over() {
    let mut snapshot =
        with_cluster(paused_and_being_deleted(json!({"online": false}), "deprovisioning", "c"), false);
    let mut woken = snapshot.host.as_deref().unwrap().clone();
    woken.metadata.annotations = None;
    snapshot.host = Some(Arc::new(woken));
    let decision = decide(&snapshot, "2026-01-01T00:00:01Z");
    assert_eq!(kinds(&decision), ["patch Metal3Machine/status m"]);
    assert_eq!(condition_of(&decision, condition::PAUSED), ("False".into(), "NotPaused".into()));
    assert_eq!(condition_of(&decision, condition::ASSOCIATE_HOST).0, "True", "the host is held still");
}

/// A machine without conditions is paused: afterwards its status still records what it has put on its host.
#[test]
fn a_pause_records_what_the_machine_has_put_on_its_host() {
    let paused = |snapshot: MachineSnapshot| MachineSnapshot {
        live: answered_with(whole_host()),
        ..with_cluster(snapshot, true)
    };
    let decision = decide(&paused(with_host(json!({}))), "t");
    assert_eq!(patched(&decision, "Metal3Machine", "/status/userData/name"), "m");
    let of_another = MachineSnapshot { host: Some(read(host("h", consumed_by("x")))), ..ready_to_choose() };
    for snapshot in [ready_to_choose(), of_another] {
        let decision = decide(&paused(snapshot), "t");
        assert_eq!(patched(&decision, "Metal3Machine", "/status/userData"), Value::Null);
    }
}
