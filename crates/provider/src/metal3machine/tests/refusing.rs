//! What is said when the server refuses a write.

use super::*;

/// One look whose writes are refused tells nothing but that, where it belongs; the same words again cost no write.
#[test]
fn a_refused_write_is_said_where_it_stands_in_the_way() {
    let words = "the API server refuses to patch BareMetalHost metal3/h: not allowed";
    let running = || {
        with_machine(
            provisioned(Nodes::NotNeeded),
            json!({"spec": {"providerID": "metal3://metal3/h/m"}, "status": {"initialization": {"provisioned": true}}}),
        )
    };
    let paused = |snapshot: Snapshot, paused: bool| Snapshot {
        cluster: Some(read(
            json!({"metadata": {"name": "c", "namespace": "metal3"}, "spec": {"paused": paused},
            "status": {"initialization": {"infrastructureProvisioned": true}}}),
        )),
        ..snapshot
    };
    let whole = || {
        let mut live = answered();
        live.answer(Question::WholeHost("h".into()), Some(host("h", json!({}))));
        live
    };
    let woken =
        json!({"metadata": {"annotations": {annotation::HOST_PAUSED: annotation::HOST_PAUSED_BY_US}}});
    let (host, data) = (condition::ASSOCIATE_HOST, condition::ASSOCIATE_META_DATA);
    let table = [
        (ready_to_choose(), host, "AssociateBareMetalHostFailed"),
        (with_host(json!({})), data, "CreateError"),
        (running(), data, "UpdateError"),
        (
            Snapshot { live: whole(), ..paused(with_host(json!({})), true) },
            host,
            "BareMetalHostPauseAnnotationSetFailed",
        ),
        (paused(with_host(woken), false), host, "BareMetalHostPauseAnnotationRemoveFailed"),
        (deleting(with_host(json!({}))), data, "DeletionFailed"),
    ];
    for (snapshot, type_, reason) in table {
        let refused = Snapshot { refused: Some(words.to_owned()), ..snapshot };
        let decision = decide(&refused, "t");
        assert_eq!(kinds(&decision), ["patch Metal3Machine/status m"], "{reason}");
        assert_eq!(condition_of(&decision, type_), ("False".into(), reason.into()));
        assert_eq!(condition_of(&decision, condition::READY).0, "False", "{reason}");
        assert!(decision.plan.to_string().contains(words), "{reason}");
        assert!(decision.plan.events.is_empty(), "{reason}: nothing has happened");
        let again = Snapshot { metal3_machine: read(applied(&refused, &decision)), ..refused };
        assert!(decide(&again, "later").plan.is_quiet(), "{reason}: said already");
    }
}

/// Once the server takes the write, the words are gone.
#[test]
fn what_was_refused_is_not_said_any_more_once_it_is_taken() {
    let refused =
        Snapshot { refused: Some("the API server refuses to do so".into()), ..with_host(json!({})) };
    let said = applied(&refused, &decide(&refused, "t"));
    assert!(said.to_string().contains("refuses"));
    let next = Snapshot { metal3_machine: read(said), refused: None, ..refused };
    let after = applied(&next, &decide(&next, "t2"));
    assert!(!after["status"]["conditions"].to_string().contains("refuses"), "{after}");
}
