//! What a machine must never do: forget a host, take what is another's, or decide from what the cache does not show.

use capm3_api::{neighbours::BareMetalHost, vocabulary::label};

use capm3_engine::absence::Doubt;

use super::*;

fn unanswered(snapshot: MachineSnapshot) -> MachineSnapshot {
    MachineSnapshot { live: Live::default(), ..snapshot }
}

#[test]
fn the_last_finalizer_is_removed_only_after_the_server_itself_has_confirmed_that_no_host_is_held() {
    let no_host = || MachineSnapshot { candidates: vec![].into(), ..deleting(ready_to_choose()) };
    let asks = decide(&unanswered(no_host()), "t");
    assert_eq!(asks.ask, Some(Question::Hosts), "no record: any host of the cluster may name the machine");
    assert!(asks.plan.is_quiet());
    let recorded = json!({"metadata": {"annotations": {annotation::HOST: "metal3/h"}}});
    let asks = decide(&unanswered(with_machine(no_host(), recorded)), "t");
    assert_eq!(asks.ask, Some(Question::Host("h".into())));
    let goes = decide(&no_host(), "t");
    assert_eq!(kinds(&goes), ["patch Metal3Machine m"]);
    let held = unanswered(deleting(with_host(json!({"spec": {"online": false}}))));
    let asks = decide(&held, "t").ask;
    assert_eq!(
        asks,
        Some(Question::Template("t".into())),
        "it may ask to keep the host for the next machine"
    );
    let template = Some(rack_template());
    assert_eq!(decide(&MachineSnapshot { template, ..held }, "t").ask, None, "a usual deletion asks nothing");
}

#[test]
fn a_template_that_the_cache_does_not_show_is_asked_for_before_the_claim_is_made() {
    let templated = json!({"spec": {"dataTemplate": {"name": "dt", "namespace": "metal3"}}});
    let snapshot = || unanswered(with_machine(with_host(json!({})), templated.clone()));
    let asks = decide(&snapshot(), "t");
    assert_eq!(asks.ask, Some(Question::Template("t".into())));
    assert!(asks.plan.is_quiet());
    let known = MachineSnapshot { template: Some(rack_template()), ..snapshot() };
    assert_eq!(decide(&known, "t").ask, None);
    let frozen = MachineSnapshot { claim: Some(read(own_claim(json!({})))), ..snapshot() };
    assert_eq!(decide(&frozen, "t").ask, None, "the claim is the truth already");
}

/// A machine without a data template of its own may still get one by its failure domain: nothing is put on its host before
/// its Metal3MachineTemplate is known to map none.
#[test]
fn s207_a_machine_without_a_default_waits_for_its_template_before_its_host_is_written() {
    let snapshot =
        || unanswered(with_host(json!({"metadata": {"labels": {label::FAILURE_DOMAIN: "rack1"}}})));
    assert!(snapshot().metal3_machine.spec.data_template.is_none());
    let asks = decide(&snapshot(), "t");
    assert_eq!(asks.ask, Some(Question::Template("t".into())));
    assert!(asks.plan.is_quiet(), "{}", asks.plan);
    let mapped = decide(&MachineSnapshot { template: Some(rack_template()), ..snapshot() }, "t");
    assert_eq!(patched(&mapped, "Metal3Machine", "/spec/dataTemplate/name"), "dt1");
    assert!(!mapped.plan.to_string().contains("\"image\""), "its data comes first: {}", mapped.plan);
    let unmapped = decide(&MachineSnapshot { live: answered(), ..snapshot() }, "t");
    assert_eq!(patched(&unmapped, "BareMetalHost", "/spec/image/url"), "http://image");
}

fn claim_of_another(finalizers: Value) -> Value {
    let mut claim = own_claim(json!({}));
    claim["metadata"]["ownerReferences"][0]["uid"] = json!("older");
    claim["metadata"]["finalizers"] = finalizers;
    claim
}

#[test]
fn a_claim_of_a_former_machine_is_released_after_its_hosts_and_never_used() {
    let templated = || with_machine(with_host(json!({})), json!({"spec": {"dataTemplate": {"name": "dt"}}}));
    let claim = || Some(read(claim_of_another(json!([finalizer::MACHINE, finalizer::DATA_CLAIM]))));
    let ended = || MachineSnapshot { claim: claim(), claim_is_of_former_machine: true, ..templated() };
    let decision = decide(&ended(), "t");
    assert!(kinds(&decision).contains(&"delete Metal3DataClaim m".to_owned()), "{:?}", kinds(&decision));
    assert!(!kinds(&decision).iter().any(|w| w.starts_with("create")));
    assert_eq!(condition_of(&decision, condition::ASSOCIATE_META_DATA).0, "False");
    let first_the_host = decide(&MachineSnapshot { held: vec![used_by_m("a")], ..ended() }, "t");
    assert!(
        !kinds(&first_the_host).iter().any(|w| w.contains("Metal3DataClaim")),
        "its addresses are in use"
    );
    let only_another_uid = decide(&MachineSnapshot { claim_is_of_former_machine: false, ..ended() }, "t");
    assert!(!kinds(&only_another_uid).iter().any(|w| w.contains("Metal3DataClaim")), "as after a restore");
    let End::WaitFor(what) = only_another_uid.plan.end else { panic!("waits") };
    let what = what.to_string();
    assert!(what.contains("the uid in its owner reference is not the uid of this machine"), "{what}");
}

/// A host in use that names the machine `m`.
fn used_by_m(name: &str) -> Arc<BareMetalHost> {
    read(host(
        name,
        json!({"spec": {"image": {"url": "http://i"}, "consumerRef": consumed_by("m")["spec"]["consumerRef"]},
            "status": {"provisioning": {"state": "provisioned"}}}),
    ))
}

#[test]
fn a_host_in_use_without_a_record_is_neither_cleared_nor_used_and_no_other_is_taken() {
    let snapshot = MachineSnapshot { held: vec![used_by_m("old")], ..ready_to_choose() };
    let decision = decide(&snapshot, "t");
    assert_eq!(kinds(&decision), ["patch Metal3Machine/status m"]);
    let End::WaitFor(what) = &decision.plan.end else { panic!("waits") };
    let what = what.to_string();
    assert!(what.contains("spec.consumerRef of host old is this machine and the host is in use"), "{what}");
    assert_eq!(condition_of(&decision, condition::ASSOCIATE_HOST).0, "False");
    let recorded = patched(&decision, "Metal3Machine", "/status/userData");
    assert_eq!(recorded, Value::Null, "the name of its user data is no record of a host");
    let ends = decide(&deleting(snapshot), "t").plan.to_string();
    assert!(
        ends.contains("metal3/old {\"spec\":{\"image\":null"),
        "the deletion of the machine releases it: {ends}"
    );
}

#[test]
fn a_machine_without_a_record_whose_claim_is_there_takes_no_other_host() {
    let decision =
        decide(&MachineSnapshot { claim: Some(read(own_claim(json!({})))), ..ready_to_choose() }, "t");
    assert!(!kinds(&decision).iter().any(|write| write.contains("BareMetalHost")), "{:?}", kinds(&decision));
    let End::WaitFor(what) = decision.plan.end else { panic!("waits") };
    let what = what.to_string();
    assert!(what.contains("this machine had a host (Metal3DataClaim m exists)"), "{what}");
}

#[test]
fn an_absence_that_is_not_proven_holds_the_machine_and_says_why() {
    let doubted = |question: Question, snapshot: MachineSnapshot| {
        let mut live = answered();
        live.answer(question, Some(Doubt::NotServed));
        decide(&MachineSnapshot { live, ..snapshot }, "t")
    };
    let no_host = MachineSnapshot { candidates: vec![].into(), ..deleting(ready_to_choose()) };
    let held = doubted(Question::Hosts, no_host);
    assert!(matches!(held.plan.end, End::Retry(..)));
    assert!(!kinds(&held).contains(&"patch Metal3Machine m".to_owned()), "the finalizer stays");
    let templated = json!({"spec": {"dataTemplate": {"name": "dt", "namespace": "metal3"}}});
    let unclaimed = doubted(Question::Template("t".into()), with_machine(with_host(json!({})), templated));
    assert!(!kinds(&unclaimed).iter().any(|write| write.starts_with("create")), "{:?}", kinds(&unclaimed));
    let printed = unclaimed.plan.to_string();
    assert!(printed.contains("cannot confirm that Metal3MachineTemplate t is gone"), "{printed}");
}

/// The deletion of the definition marks every machine as deleted.
#[test]
fn no_host_is_cleared_while_the_definition_of_machines_is_being_deleted() {
    let full = || deleting(with_host(json!({"spec": {"online": true, "image": {"url": "http://i"}}})));
    assert_eq!(decide(&unanswered(full()), "t").ask, Some(Question::Definition));
    let mut live = answered();
    live.answer(Question::Definition, Some(Doubt::DefinitionDeleting));
    let held = decide(&MachineSnapshot { live, ..full() }, "t");
    assert!(!kinds(&held).iter().any(|write| write.contains("BareMetalHost")), "{:?}", kinds(&held));
    let text = held.plan.to_string();
    assert!(text.contains("CustomResourceDefinition of Metal3Machine is being deleted"), "{text}");
    assert!(held.plan.events.iter().any(|event| event.warning), "{text}");
}

#[test]
fn the_secret_of_the_management_controller_is_labelled_after_the_claim_and_never_holds_up_the_machine() {
    let secret = |labels: Value| {
        Some(read(json!({"metadata": {"name": "bmc", "namespace": "metal3", "labels": labels,
            "resourceVersion": "2"}})))
    };
    let taken = MachineSnapshot { bmc_secret: secret(json!({"app": "x"})), ..with_host(json!({})) };
    let decision = decide(&taken, "t");
    assert!(!kinds(&decision).iter().any(|w| w.contains("Secret")), "not part of the plan");
    assert_eq!(decision.best_effort.writes.len(), 1);
    let labelled =
        MachineSnapshot { bmc_secret: secret(json!({label::CLUSTER_NAME: "c"})), ..with_host(json!({})) };
    assert!(decide(&labelled, "t").best_effort.is_quiet());
    let leaves = decide(&deleting(labelled), "t").best_effort;
    assert!(matches!(leaves.writes.as_slice(), [Write::Patch { patch, .. }]
        if patch["metadata"]["labels"] == json!({label::CLUSTER_NAME: null})));
}

/// A template with nodeReuse books the released host for the next machine of the same owner: the label, and the
/// Cluster as consumer.
#[test]
fn nr46_a_released_host_is_reserved_if_the_template_asks_for_it() {
    let mut snapshot = deleting(with_host(json!({"spec": {"online": false}})));
    let reuse = |on: bool| {
        Some(read(json!({"metadata": {"namespace": "metal3", "name": "t"}, "spec": {"nodeReuse": on}})))
    };
    snapshot.cluster = Some(read(json!({"metadata": {"name": "c", "namespace": "metal3"}})));
    let mut capi = serde_json::to_value(snapshot.machine.as_deref().unwrap()).unwrap();
    merge(
        &mut capi,
        &json!({"metadata": {"labels": {label::CONTROL_PLANE: ""}, "ownerReferences": [
        {"apiVersion": "controlplane.cluster.x-k8s.io/v1beta2", "kind": "KubeadmControlPlane", "name": "kcp", "uid": "k"}]}}),
    );
    snapshot.machine = Some(read(capi));
    snapshot.template = reuse(true);
    let reserved = decide(&snapshot, "t");
    assert_eq!(patched(&reserved, "BareMetalHost", "/spec/consumerRef/kind"), "Cluster");
    let label = "/metadata/labels/infrastructure.cluster.x-k8s.io~1node-reuse";
    assert_eq!(patched(&reserved, "BareMetalHost", label), "cp-kcp");
    assert_eq!(reserved.plan.events[0].reason, "HostBooked");
    snapshot.template = reuse(false);
    assert_eq!(patched(&decide(&snapshot, "t"), "BareMetalHost", "/spec/consumerRef"), Value::Null);
}

#[test]
fn a_missing_data_template_is_named_in_the_condition() {
    let mut snapshot = with_machine(
        with_host(json!({})),
        json!({"spec": {"dataTemplate": {"name": "dt", "namespace": "metal3"}}}),
    );
    snapshot.claim = Some(read(own_claim(json!({}))));
    snapshot.missing_data_template = Some(capm3_engine::ObjectKey::new("metal3", "dt"));
    let text = decide(&snapshot, "t").plan.to_string();
    assert!(text.contains("dt, which does not exist in namespace metal3"), "{text}");
}
