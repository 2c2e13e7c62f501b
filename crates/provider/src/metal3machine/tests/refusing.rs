//! What is reported when the server refuses a write.

use capm3_domain::wait::{Refusal, Text, Wait};

use super::*;

pub(super) fn refused_write(write: &str, cause: &str) -> Option<Refusal> {
    let is_of_host = write.contains("BareMetalHost");
    Some(Refusal { write: Text::new(write), is_of_host, cause: Text::new(cause) })
}

/// A pass whose writes are refused reports only that, in the condition that it blocks; the same message again costs no write.
#[test]
fn a_refused_write_is_reported_in_the_condition_that_it_blocks() {
    let words = "the API server refuses to patch BareMetalHost metal3/h: not allowed";
    let running = || {
        with_machine(
            provisioned(Nodes::NotNeeded),
            json!({"spec": {"providerID": "metal3://metal3/h/m"}, "status": {"initialization": {"provisioned": true}}}),
        )
    };
    let paused = |snapshot: MachineSnapshot, paused: bool| MachineSnapshot {
        cluster: Some(read(
            json!({"metadata": {"name": "c", "namespace": "metal3"}, "spec": {"paused": paused},
            "status": {"initialization": {"infrastructureProvisioned": true}}}),
        )),
        ..snapshot
    };
    let whole = || {
        let mut live = answered();
        live.answer_whole_host("h".into(), Some(host("h", json!({}))));
        live
    };
    let woken =
        json!({"metadata": {"annotations": {annotation::HOST_PAUSED: annotation::HOST_PAUSED_BY_US}}});
    let (host, data) = (condition::ASSOCIATE_HOST, condition::ASSOCIATE_META_DATA);
    let table = [
        ("no host", ready_to_choose(), host, "WriteRefused"),
        ("a host", with_host(json!({})), data, "WriteRefused"),
        ("a Node", running(), data, "WriteRefused"),
        (
            "a pause",
            MachineSnapshot { live: whole(), ..paused(with_host(json!({})), true) },
            host,
            "BareMetalHostPauseAnnotationSetFailed",
        ),
        (
            "the end of a pause",
            paused(with_host(woken), false),
            host,
            "BareMetalHostPauseAnnotationRemoveFailed",
        ),
        ("deletion", deleting(with_host(json!({}))), data, "WriteRefused"),
        (
            "a question that the server does not answer",
            MachineSnapshot { live: Live::default(), ..deleting(ready_to_choose()) },
            data,
            "WriteRefused",
        ),
    ];
    for (what, snapshot, type_, reason) in table {
        let refused = MachineSnapshot {
            refused: refused_write("patch BareMetalHost metal3/h", "not allowed"),
            ..snapshot
        };
        let decision = decide(&refused, "t");
        assert_eq!(kinds(&decision), ["patch Metal3Machine/status m"], "{reason}");
        assert_eq!(condition_of(&decision, type_), ("False".into(), reason.into()), "{what}");
        assert_eq!(condition_of(&decision, condition::READY).0, "False", "{reason}");
        assert!(decision.plan.to_string().contains(words), "{reason}");
        assert!(decision.plan.events.iter().all(|note| !note.is_stored), "{reason}: nothing has happened");
        assert!(matches!(&decision.plan.end, End::WaitFor(Wait::Refused(_))), "{reason}");
        let again = MachineSnapshot { metal3_machine: read(applied(&refused, &decision)), ..refused };
        assert!(decide(&again, "later").plan.is_quiet(), "{reason}: reported already");
    }
}

/// Once the server accepts the write, the message is gone.
#[test]
fn what_was_refused_is_no_longer_reported_once_it_is_accepted() {
    let refused = MachineSnapshot { refused: refused_write("do so", "no"), ..with_host(json!({})) };
    let reported = applied(&refused, &decide(&refused, "t"));
    assert!(reported.to_string().contains("refuses"));
    let next = MachineSnapshot { metal3_machine: read(reported), refused: None, ..refused };
    let after = applied(&next, &decide(&next, "t2"));
    assert!(!after["status"]["conditions"].to_string().contains("refuses"), "{after}");
}

/// A server that has other words each time costs one write in a while, not one each time.
#[test]
fn words_that_change_from_try_to_try_are_not_written_each_time() {
    let (first, second) = ("2026-01-01T00:00:00Z", "2026-01-01T00:00:02Z");
    let refused = |cause: &str, snapshot: MachineSnapshot| MachineSnapshot {
        refused: refused_write("patch BareMetalHost metal3/h", cause),
        ..snapshot
    };
    let before = refused("request 1", with_host(json!({})));
    let reported = applied(&before, &decide(&before, first));
    let next = |words: &str| {
        refused(words, MachineSnapshot { metal3_machine: read(reported.clone()), ..with_host(json!({})) })
    };
    let again = next("request 2");
    assert!(decide(&again, second).plan.is_quiet(), "two seconds later");
    assert!(!decide(&again, "2026-01-01T00:01:00Z").plan.is_quiet(), "a minute later");
}

/// While the end of a pause is refused, the machine does not report a pause that cannot be set, nor the machine's own
/// patch as one of the host.
#[test]
fn only_a_refused_patch_of_the_host_is_reported_as_one_of_its_pause() {
    let paused = json!({"metadata": {"annotations": {annotation::PAUSED: ""}}});
    let woken =
        json!({"metadata": {"annotations": {annotation::HOST_PAUSED: annotation::HOST_PAUSED_BY_US}}});
    let cluster = json!({"metadata": {"name": "c", "namespace": "metal3"},
        "status": {"initialization": {"infrastructureProvisioned": true}}});
    for (what, reason) in [
        ("patch BareMetalHost metal3/h", "BareMetalHostPauseAnnotationRemoveFailed"),
        ("patch Metal3Machine metal3/m", "WriteRefused"),
    ] {
        let refused = refused_write(what, "no");
        let machine = with_machine(with_host(woken.clone()), paused.clone());
        let decision =
            decide(&MachineSnapshot { refused, cluster: Some(read(cluster.clone())), ..machine }, "t");
        let refused = ("False".to_owned(), reason.to_owned());
        assert_eq!(condition_of(&decision, condition::ASSOCIATE_HOST), refused, "{what}");
    }
}

/// A pause that comes while something is refused is not reported together with it: nothing is tried then.
#[test]
fn a_refusal_is_not_reported_while_nothing_is_tried() {
    let refused = MachineSnapshot { refused: refused_write("do so", "no"), ..with_host(json!({})) };
    let reported = applied(&refused, &decide(&refused, "t"));
    let paused = json!({"metadata": {"annotations": {annotation::PAUSED: ""}}});
    let next =
        with_machine(MachineSnapshot { metal3_machine: read(reported), refused: None, ..refused }, paused);
    let after = applied(&next, &decide(&next, "t2"));
    assert!(!after["status"].to_string().contains("refuses"), "{}", after["status"]);
}
