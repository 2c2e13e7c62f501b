//! A machine keeps its host, whatever is done to the records of it.

use super::{observing::TestReader, *};

/// A machine with what surrounds it, and a host.
fn around(machine_extra: Value, host_extra: Value) -> TestReader {
    let mut own = machine();
    own["metadata"]["ownerReferences"] =
        json!([{"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine", "name": "m", "uid": "uid-o"}]);
    own["status"] = json!({"userData": {"name": "boot", "namespace": "metal3"}});
    merge(&mut own, &machine_extra);
    let node = own["spec"].get("providerID").map(|_| json!({"name": "n"}));
    let mut used = host(
        "h",
        json!({"metadata": {"labels": {"cluster.x-k8s.io/cluster-name": "c"}, "annotations": {annotation::BLOCK_MOVE: ""}},
            "spec": {"image": {"url": "http://image"}, "userData": {"name": "boot", "namespace": "metal3"}},
            "status": {"provisioning": {"state": "provisioned"}}}),
    );
    merge(&mut used, &host_extra);
    TestReader::default()
        .with("Metal3Machine", own)
        .with("BareMetalHost", used)
        .with("Machine", json!({"metadata": {"namespace": "metal3", "name": "m", "labels": {"cluster.x-k8s.io/cluster-name": "c"}},
            "spec": {"clusterName": "c", "bootstrap": {"dataSecretName": "boot"}}, "status": {"nodeRef": node}}))
        .with("Cluster", json!({"metadata": {"namespace": "metal3", "name": "c"},
            "spec": {"infrastructureRef": {"kind": "Metal3Cluster", "name": "c"}},
            "status": {"initialization": {"infrastructureProvisioned": true}}}))
        .with("Metal3Cluster", json!({"metadata": {"namespace": "metal3", "name": "c"}, "spec": {}}))
}

fn running(record: Option<&str>) -> Value {
    let record = record.map(|record| json!({annotation::HOST: record})).unwrap_or(json!({}));
    json!({"metadata": {"annotations": record}, "spec": {"providerID": "metal3://metal3/h/m"},
        "status": {"initialization": {"provisioned": true}}})
}

fn going(mut machine: Value) -> Value {
    merge(&mut machine, &json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}));
    machine
}

const RECORD: &str = "/metadata/annotations/metal3.io~1BareMetalHost";

/// The record of the host is repaired on a finished machine, too.
#[test]
fn a_record_that_was_taken_off_or_bent_is_written_again() {
    for record in [None, Some("metal3/other"), Some("metal3/gone"), Some("elsewhere/h")] {
        let reader = around(running(record), consumed_by("m"))
            .with("BareMetalHost", host("other", consumed_by("another")));
        let decision = decide(&reader.snapshot(), "t");
        assert_eq!(patched(&decision, "Metal3Machine", RECORD), "metal3/h", "{record:?}");
        assert!(!decision.plan.to_string().contains("BareMetalHost metal3/other"), "{record:?}");
    }
    let right = decide(&around(running(Some("metal3/h")), consumed_by("m")).snapshot(), "t");
    assert_eq!(kinds(&right), ["patch Metal3Machine/status m"]);
}

#[test]
fn a_host_that_only_the_provider_id_names_is_claimed_again() {
    for id in ["metal3://metal3/h/m", "metal3://uid-h"] {
        for record in [None, Some("metal3/free"), Some("metal3/gone")] {
            let mut machine = running(record);
            machine["spec"]["providerID"] = json!(id);
            let reader = around(machine.clone(), json!({})).with("BareMetalHost", host("free", json!({})));
            let claims = decide(&reader.snapshot(), "t");
            assert_eq!(kinds(&claims), ["patch BareMetalHost h"], "{id} {record:?}");
            assert_eq!(patched(&claims, "BareMetalHost", "/spec/consumerRef/name"), "m");
            let reader = around(going(machine), json!({})).with("BareMetalHost", host("free", json!({})));
            let clears = decide(&reader.snapshot(), "t");
            assert_eq!(kinds(&clears), ["patch BareMetalHost h"], "{id} {record:?}");
            assert_eq!(
                patched(&clears, "BareMetalHost", "/spec/consumerRef/name"),
                "m",
                "held until it is wiped"
            );
            assert!(clears.plan.to_string().contains("\"image\":null"), "{}", clears.plan);
            assert_eq!(clears.plan.end, End::Again);
        }
    }
}

#[test]
fn a_host_that_somebody_else_has_or_filled_is_never_taken_back() {
    let filled = json!({"spec": {"userData": {"name": "of-another"}}});
    for (what, host, words) in [
        ("consumed", consumed_by("another"), "host h is consumed by Metal3Machine metal3/another"),
        ("filled", filled, "recorded host h cannot be claimed"),
    ] {
        let holds = decide(&around(running(None), host.clone()).snapshot(), "t");
        assert!(!kinds(&holds).iter().any(|write| write.contains("BareMetalHost")), "{what}");
        let End::WaitFor(message) = &holds.plan.end else { panic!("{what} waits") };
        let message = message.to_string();
        assert!(message.contains(words), "{what}: {message}");
        let leaves = decide(&around(going(running(None)), host).snapshot(), "t");
        assert_eq!(kinds(&leaves), ["patch Metal3Machine m"], "{what}: the machine goes without it");
    }
}

#[test]
fn a_machine_whose_host_is_not_to_be_found_says_what_it_looked_for() {
    let mut machine = running(None);
    machine["spec"]["providerID"] = json!("metal3://metal3/lost/m");
    let decision = decide(&around(machine.clone(), json!({})).snapshot(), "t");
    let End::WaitFor(message) = decision.plan.end else { panic!("waits") };
    let message = message.to_string();
    assert_eq!(message, "BareMetalHost lost of this machine is not found");
    machine["spec"]["providerID"] = json!("cloud://n");
    let decision = decide(&around(machine, json!({})).snapshot(), "t");
    let End::WaitFor(message) = decision.plan.end else { panic!("waits") };
    let message = message.to_string();
    assert!(
        message.contains("neither annotation metal3.io/BareMetalHost nor spec.providerID names a host"),
        "{message}"
    );
}

/// A host that lost its consumer reference on the way, known by the record and by what this machine has put on it.
#[test]
fn a_host_that_lost_its_consumer_while_it_is_provisioned_is_claimed_again() {
    let on_the_way = json!({"metadata": {"annotations": {annotation::HOST: "metal3/h"}}});
    let state = json!({"status": {"provisioning": {"state": "provisioning"}}});
    let claims = decide(&around(on_the_way.clone(), state.clone()).snapshot(), "t");
    assert_eq!(kinds(&claims), ["patch BareMetalHost h"]);
    assert_eq!(patched(&claims, "BareMetalHost", "/spec/consumerRef/name"), "m");
    // A status that was kept back yet does not matter.
    let mut without_status = on_the_way.clone();
    without_status["status"] = json!({"userData": null});
    for machine in [on_the_way, without_status] {
        let reader = around(going(machine), state.clone()).with("Metal3DataClaim", own_claim(json!({})));
        let clears = decide(&reader.snapshot(), "t");
        assert_eq!(kinds(&clears), ["patch BareMetalHost h"], "the data stays until the host is wiped");
        assert_eq!(patched(&clears, "BareMetalHost", "/spec/consumerRef/name"), "m");
        let wiped = json!({"spec": {"image": null, "userData": null, "online": false,
                "consumerRef": consumed_by("m")["spec"]["consumerRef"]},
            "status": {"provisioning": {"state": "deprovisioning"}}});
        let waits = decide(&around(going(json!({})), wiped).snapshot(), "t");
        assert!(matches!(waits.plan.end, End::WaitFor(_)));
    }
    let of_another = json!({"spec": {"userData": {"name": "of-another"}}, "status": {"provisioning": {"state": "provisioning"}}});
    let on_the_way = json!({"metadata": {"annotations": {annotation::HOST: "metal3/h"}}});
    let holds = decide(&around(on_the_way, of_another).snapshot(), "t");
    assert!(!kinds(&holds).iter().any(|write| write.contains("BareMetalHost")), "{}", holds.plan);
}

/// A host that lost its consumer reference on its way back.
#[test]
fn a_host_that_lost_its_consumer_while_it_is_cleaned_is_claimed_until_it_is_clean() {
    let wiped = |state: &str, labels: Value| {
        json!({"metadata": {"labels": labels}, "spec": {"image": null, "userData": null, "online": false},
            "status": {"provisioning": {"state": state}}})
    };
    let leaves = |host: Value| decide(&around(going(running(None)), host).snapshot(), "t");
    let claims = leaves(wiped("deprovisioning", json!({})));
    assert_eq!(kinds(&claims), ["patch BareMetalHost h"]);
    assert_eq!(patched(&claims, "BareMetalHost", "/spec"), consumed_by("m")["spec"]);
    assert_eq!(claims.plan.end, End::Again);
    let frees = leaves(wiped("available", json!({})));
    assert_eq!(kinds(&frees), ["patch BareMetalHost h", "patch Metal3Machine m"], "its label goes too");
    let without = leaves(wiped("available", json!({"cluster.x-k8s.io/cluster-name": "other"})));
    assert_eq!(kinds(&without), ["patch Metal3Machine m"]);
}

/// Only what is really this machine's on a host of another consumer is worth a warning.
#[test]
fn a_machine_that_goes_without_its_host_warns_of_what_runs_on() {
    let of_another = json!({"spec": {"userData": {"name": "of-another"}}});
    for (what, extra, warned) in [("its own", json!({}), 1), ("of another", of_another, 0)] {
        let mut host = consumed_by("another");
        merge(&mut host, &extra);
        let leaves = decide(&around(going(running(None)), host).snapshot(), "t");
        assert_eq!(kinds(&leaves), ["patch Metal3Machine m"], "{what}");
        let lost = leaves.plan.events.iter().filter(|event| event.warning && event.reason == "HostLost");
        assert_eq!(lost.count(), warned, "{what}");
    }
}

/// The host under a running node is lost: the conditions name the reason, with one warning.
#[test]
fn a_host_that_is_lost_under_a_running_machine_is_reported_once_with_its_reason() {
    let goes = json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}});
    let deleted = |state: &str, annotations: Value| {
        let mut host = goes.clone();
        merge(&mut host, &consumed_by("m"));
        merge(
            &mut host,
            &json!({"metadata": {"annotations": annotations}, "status": {"provisioning": {"state": state}}}),
        );
        host
    };
    let wiped = {
        let mut host = consumed_by("m");
        merge(&mut host, &json!({"status": {"provisioning": {"state": "deprovisioning"}}}));
        host
    };
    let paused = json!({annotation::HOST_PAUSED: "mine"});
    let ready = json!([{"type": "BareMetalHostProvisioned", "status": "True", "reason": "Provisioned", "lastTransitionTime": "t"},
        {"type": "Ready", "status": "True", "reason": "Ready", "lastTransitionTime": "t"}]);
    for (what, host, reason, words) in [
        ("deleted under a pause", deleted("provisioned", paused), "HostDeleting", "host h is being deleted"),
        ("deleted", deleted("deprovisioning", json!({})), "HostDeleting", "host h is being deleted"),
        ("wiped", wiped, "Deprovisioning", "host h is being deprovisioned"),
    ] {
        let mut machine = running(Some("metal3/h"));
        machine["status"]["conditions"] = ready.clone();
        let reader = around(machine, host.clone());
        let snapshot = reader.snapshot();
        let decision = decide(&snapshot, "t");
        assert_eq!(
            condition_of(&decision, condition::HOST_PROVISIONED),
            ("False".into(), reason.into()),
            "{what}"
        );
        assert_eq!(condition_of(&decision, condition::READY).0, "False", "{what}");
        let End::WaitFor(message) = &decision.plan.end else { panic!("{what} waits") };
        let message = message.to_string();
        assert_eq!(message, words, "{what}");
        let warned: Vec<_> = decision.plan.events.iter().filter(|event| event.warning).collect();
        assert_eq!(warned.len(), 1, "{what}");
        assert_eq!(warned[0].reason, "HostLost");
        let mut later = snapshot.clone();
        later.metal3_machine = read(applied(&snapshot, &decision));
        assert!(decide(&later, "later").plan.is_quiet(), "{what}: reported once");
    }
}

#[test]
fn nothing_is_put_on_a_host_that_is_being_deleted() {
    let mut blank = host("h", consumed_by("m"));
    merge(&mut blank, &json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}));
    let decision = decide(&MachineSnapshot { host: Some(read(blank)), ..with_host(json!({})) }, "t");
    assert!(!kinds(&decision).iter().any(|write| write.contains("BareMetalHost")), "{}", decision.plan);
    assert_eq!(condition_of(&decision, condition::HOST_PROVISIONED).1, "HostDeleting");
}

/// A host that names this machine, or nobody, and that another machine knows as its own.
#[test]
fn the_host_of_another_machine_is_neither_taken_nor_wiped_whomever_it_names() {
    let blank = json!({"spec": {"image": null, "userData": null}, "status": {"provisioning": {"state": "available"}}});
    let mut named = blank.clone();
    merge(&mut named, &consumed_by("m"));
    let of_machine = |name: &str, extra: Value| {
        let mut other = machine();
        other["metadata"]["name"] = json!(name);
        merge(&mut other, &extra);
        other
    };
    let recorded = json!({"metadata": {"annotations": {annotation::HOST: "metal3/h"}}});
    let identified = json!({"spec": {"providerID": "metal3://metal3/h/w"}});
    let identified_by_uid = json!({"spec": {"providerID": "metal3://uid-h"}});
    for other in [recorded, identified, identified_by_uid] {
        for host in [blank.clone(), named.clone(), consumed_by("m")] {
            let reader = |machine: Value| {
                around(machine, host.clone()).with("Metal3Machine", of_machine("w", other.clone()))
            };
            let begin_reconcile = decide(&reader(json!({})).snapshot(), "t");
            // Machines may share their user data: that on the host makes no difference.
            assert!(
                !kinds(&begin_reconcile).iter().any(|write| write.contains("BareMetalHost")),
                "{}",
                begin_reconcile.plan
            );
            let End::WaitFor(message) = &begin_reconcile.plan.end else { panic!("waits") };
            let message = message.to_string();
            assert_eq!(message, "no host is available: 1 host: 1 consumed");
            let leaves = decide(&reader(going(json!({}))).snapshot(), "t");
            assert_eq!(kinds(&leaves), ["patch Metal3Machine m"]);
            let mut goes = other.clone();
            merge(&mut goes, &going(json!({})));
            let reader = around(json!({}), host.clone()).with("Metal3Machine", of_machine("w", goes));
            let takes = decide(&reader.snapshot(), "t");
            let named = host.pointer("/spec/consumerRef").is_some();
            let record = if named { json!("metal3/h") } else { Value::Null };
            assert_eq!(
                patched(&takes, "Metal3Machine", RECORD),
                record,
                "a deleted machine has no claim to it"
            );
            assert_eq!(
                kinds(&takes).contains(&"patch BareMetalHost h".to_owned()),
                host.pointer("/spec/image").is_some(),
                "a blank one is claimed or filled"
            );
        }
    }
}
