//! Tables of decisions: a snapshot in, a plan out.

mod parity;
mod pausing;
mod safety;
mod stages;

use std::sync::Arc;

use capm3_api::{
    v1beta2::{Metal3Machine, Metal3MachineTemplate},
    vocabulary::{annotation, condition, finalizer},
};
use capm3_engine::{End, Write};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::{Decision, Live, Nodes, Question, Snapshot, decide, observe::NodeCandidates};

fn read<T: DeserializeOwned>(value: Value) -> Arc<T> {
    Arc::new(serde_json::from_value(value).unwrap())
}

fn machine() -> Value {
    json!({
        "metadata": {"namespace": "metal3", "name": "m", "uid": "uid-m", "generation": 1, "resourceVersion": "5",
            "finalizers": [finalizer::MACHINE],
            "labels": {"cluster.x-k8s.io/cluster-name": "c"},
            "annotations": {"cluster.x-k8s.io/cloned-from-name": "t",
                "cluster.x-k8s.io/cloned-from-groupkind": "Metal3MachineTemplate.infrastructure.cluster.x-k8s.io"}},
        "spec": {"image": {"url": "http://image", "checksum": "http://sum"}},
    })
}

fn host(name: &str, extra: Value) -> Value {
    let mut host = json!({"metadata": {"namespace": "metal3", "name": name, "uid": format!("uid-{name}"), "resourceVersion": "9"},
        "spec": {"online": true}, "status": {"provisioning": {"state": "available"}}});
    merge(&mut host, &extra);
    host
}

fn consumed_by(name: &str) -> Value {
    json!({"spec": {"consumerRef": {"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "Metal3Machine",
        "namespace": "metal3", "name": name}}})
}

fn merge(target: &mut Value, patch: &Value) {
    let Some(patch) = patch.as_object() else { return };
    for (key, value) in patch {
        if value.is_object() && target.get(key).is_some_and(Value::is_object) {
            merge(&mut target[key], value);
        } else {
            target[key] = value.clone();
        }
    }
}

/// A machine whose prerequisites are all met and that has no host yet.
fn ready_to_choose() -> Snapshot {
    Snapshot {
        metal3_machine: read(machine()),
        owner: Some("m".into()),
        machine: Some(read(
            json!({"metadata": {"namespace": "metal3", "name": "m", "labels": {"cluster.x-k8s.io/cluster-name": "c"}},
            "spec": {"clusterName": "c", "bootstrap": {"dataSecretName": "m"}}}),
        )),
        machine_set: None,
        cluster: Some(read(
            json!({"metadata": {"name": "c"}, "status": {"initialization": {"infrastructureProvisioned": true}}}),
        )),
        metal3_cluster: Some(read(json!({"spec": {"cloudProviderEnabled": true}}))),
        template: None,
        host: None,
        surplus: vec![],
        bmc_secret: None,
        bmc_secret_is_shared: false,
        candidates: vec![read(host("h", json!({})))],
        missing_data_template: None,
        claim: None,
        held_data_templates: Default::default(),
        data: None,
        missing_secrets: Vec::new(),
        stranded_secrets: Vec::new(),
        nodes: Nodes::NotNeeded,
        host_lacks: Vec::new(),
        fast_track: false,
        live: answered(),
    }
}

/// A server that has answered what decisions about absences ask for.
fn answered() -> Live {
    let mut live = Live::default();
    for question in [Question::Template("t".into()), Question::Hosts, Question::Host("h".into())] {
        live.answer(question, None);
    }
    live
}

/// The same with its host claimed.
fn with_host(extra: Value) -> Snapshot {
    let mut object = host("h", consumed_by("m"));
    merge(
        &mut object,
        &json!({"metadata": {"labels": {"cluster.x-k8s.io/cluster-name": "c"},
            "annotations": {annotation::BLOCK_MOVE: ""}}}),
    );
    merge(&mut object, &extra);
    Snapshot { host: Some(read(object)), candidates: vec![], ..ready_to_choose() }
}

fn with_machine(mut snapshot: Snapshot, extra: Value) -> Snapshot {
    let mut value = serde_json::to_value(snapshot.metal3_machine.as_ref()).unwrap();
    merge(&mut value, &extra);
    snapshot.metal3_machine = read(value);
    snapshot
}

fn rack_template() -> Arc<Metal3MachineTemplate> {
    read(json!({"metadata": {"namespace": "metal3", "name": "t"}, "spec": {
        "template": {"spec": {"dataTemplate": {"name": "default", "namespace": "metal3"}}},
        "failureDomainDataTemplates": [
            {"failureDomain": "rack1", "dataTemplate": {"name": "dt1"}},
            {"failureDomain": "rack2", "dataTemplate": {"name": "dt2"}}]}}))
}

fn kinds(decision: &Decision) -> Vec<String> {
    let short = |write: &Write| match write {
        Write::Create { kind, key, .. } => format!("create {kind} {}", key.name),
        Write::Patch { kind, key, subresource, .. } => {
            format!("patch {kind}{} {}", subresource.map(|s| format!("/{s}")).unwrap_or_default(), key.name)
        }
        Write::Delete { kind, key, .. } => format!("delete {kind} {}", key.name),
    };
    decision.plan.writes.iter().map(short).collect()
}

fn patched(decision: &Decision, kind: &str, pointer: &str) -> Value {
    let found = decision.plan.writes.iter().find_map(|write| match write {
        Write::Patch { kind: k, patch, .. } if k.kind == kind => patch.pointer(pointer).cloned(),
        _ => None,
    });
    found.unwrap_or(Value::Null)
}

fn condition_of(decision: &Decision, type_: &str) -> (String, String) {
    let conditions = patched(decision, "Metal3Machine", "/status/conditions");
    let found = conditions.as_array().into_iter().flatten().find(|c| c["type"] == type_);
    let text = |key: &str| found.and_then(|c| c[key].as_str()).unwrap_or_default().to_owned();
    (text("status"), text("reason"))
}

#[test]
fn each_missing_prerequisite_is_waited_for_by_its_reason_and_nothing_is_taken() {
    let no_owner = Snapshot { owner: None, machine: None, ..ready_to_choose() };
    let no_machine = Snapshot { machine: None, ..ready_to_choose() };
    let no_cluster = Snapshot { cluster: None, ..ready_to_choose() };
    let not_ready = Snapshot { cluster: Some(read(json!({}))), ..ready_to_choose() };
    let no_metal3_cluster = Snapshot { metal3_cluster: None, ..ready_to_choose() };
    let no_bootstrap = Snapshot {
        machine: Some(read(
            json!({"spec": {"bootstrap": {"configRef": {"kind": "KubeadmConfig", "name": "m"}}}}),
        )),
        ..ready_to_choose()
    };
    for (snapshot, reason) in [
        (no_owner, "WaitingForMetal3MachineOwnerRef"),
        (no_machine, "WaitingForMetal3MachineOwnerRef"),
        (no_cluster, "WaitingForClusterInfrastructureReady"),
        (not_ready, "WaitingForClusterInfrastructureReady"),
        (no_metal3_cluster, "WaitingforMetal3Cluster"),
        (no_bootstrap, "WaitingForBootstrapData"),
    ] {
        let decision = decide(&snapshot, "t");
        assert_eq!(kinds(&decision), ["patch Metal3Machine/status m"], "{reason}");
        assert_eq!(condition_of(&decision, condition::ASSOCIATE_HOST), ("False".into(), reason.into()));
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
    let snapshot = Snapshot { candidates: vec![read(paused)], ..ready_to_choose() };
    let decision = decide(&snapshot, "t");
    let End::WaitFor(what) = &decision.plan.end else { panic!("waits") };
    assert_eq!(what, "no host is available: 1 host: 1 paused");
    assert_eq!(condition_of(&decision, condition::ASSOCIATE_HOST).1, "AssociateBareMetalHostFailed");
}

#[test]
fn a_count_alone_never_causes_a_write() {
    let paused = |n: &str| read(host(n, json!({"metadata": {"annotations": {annotation::HOST_PAUSED: ""}}})));
    let one = Snapshot { candidates: vec![paused("a")], ..ready_to_choose() };
    let first = decide(&one, "t");
    let status = json!({"status": patched(&first, "Metal3Machine", "/status")});
    let two =
        with_machine(Snapshot { candidates: vec![paused("a"), paused("b")], ..ready_to_choose() }, status);
    assert_eq!(decide(&two, "later").plan.writes, []);
}

#[test]
fn a_host_of_somebody_else_is_never_taken_away() {
    let recorded = json!({"metadata": {"annotations": {annotation::HOST: "metal3/h"}}});
    let snapshot = Snapshot { host: Some(read(host("h", consumed_by("other")))), ..ready_to_choose() };
    let decision = decide(&with_machine(snapshot, recorded), "t");
    assert_eq!(kinds(&decision), ["patch Metal3Machine/status m"]);
    let End::WaitFor(what) = &decision.plan.end else { panic!("waits") };
    assert!(what.contains("consumed by Metal3Machine metal3/other"), "{what}");
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
    assert!(what.contains("has no field spec.networkData"), "{what}");
}

#[test]
fn a_claim_on_a_template_that_is_held_carries_both_finalizers_from_the_start() {
    let finalizers = |held: &[&str]| {
        let mut snapshot = with_machine(
            with_host(json!({})),
            json!({"spec": {"dataTemplate": {"name": "dt", "namespace": "metal3"}}}),
        );
        snapshot.held_data_templates = held.iter().map(|name| (*name).to_owned()).collect();
        let writes = decide(&snapshot, "t").plan.writes;
        let created = writes.iter().find_map(|write| match write {
            Write::Create { object, .. } => Some(object["metadata"]["finalizers"].clone()),
            _ => None,
        });
        created.unwrap()
    };
    assert_eq!(finalizers(&["dt"]), json!([finalizer::MACHINE, finalizer::DATA_CLAIM]));
    assert_eq!(finalizers(&["other"]), json!([finalizer::MACHINE]), "nobody would take it off");
}

#[test]
fn after_the_claim_the_template_of_the_hosts_rack_is_stored_before_the_data_claim_is_made() {
    let mut snapshot = with_machine(
        with_host(
            json!({"metadata": {"labels": {"infrastructure.cluster.x-k8s.io/failure-domain": "rack2"}}}),
        ),
        json!({"spec": {"dataTemplate": {"name": "dt1", "namespace": "metal3"}, "failureDomain": "rack1"}}),
    );
    snapshot.template = Some(rack_template());
    let mut capi = snapshot.machine.as_deref().unwrap().clone();
    capi.spec.failure_domain = Some("rack1".into());
    snapshot.machine = Some(Arc::new(capi));
    let decision = decide(&snapshot, "t");
    assert_eq!(
        kinds(&decision),
        ["patch Metal3Machine m", "create Metal3DataClaim m", "patch Metal3Machine/status m"]
    );
    assert_eq!(patched(&decision, "Metal3Machine", "/spec/dataTemplate/name"), "dt2");
    assert_eq!(
        patched(&decision, "Metal3Machine", "/metadata/annotations/metal3.io~1BareMetalHost"),
        "metal3/h"
    );
    assert_eq!(decision.plan.events.len(), 1);
    assert!(decision.plan.events[0].message.contains("dt2"), "{:?}", decision.plan.events);
}

fn own_claim(status: Value) -> Value {
    json!({"metadata": {"name": "m", "namespace": "metal3", "resourceVersion": "3", "uid": "uid-c",
        "finalizers": [finalizer::MACHINE, finalizer::DATA_CLAIM], "ownerReferences": [
        {"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "Metal3Machine", "name": "m", "uid": "uid-m"}]},
        "spec": {"template": {"name": "dt", "namespace": "metal3"}}, "status": status})
}

#[test]
fn no_image_is_written_before_the_data_is_ready_and_then_image_and_data_together() {
    let templated = || {
        let snapshot = with_machine(
            with_host(json!({})),
            json!({"spec": {"dataTemplate": {"name": "dt", "namespace": "metal3"}}}),
        );
        Snapshot {
            claim: Some(read(own_claim(json!({"renderedData": {"name": "dt-0", "namespace": "metal3"}})))),
            ..snapshot
        }
    };
    let data = |ready: bool| {
        read(
            json!({"metadata": {"name": "dt-0", "namespace": "metal3"}, "spec": {"networkData": {"name": "m-networkdata"}},
            "status": {"ready": ready, "errorMessage": "no NIC"}}),
        )
    };
    let waiting = decide(&Snapshot { data: Some(data(false)), ..templated() }, "t");
    assert_eq!(kinds(&waiting), ["patch Metal3Machine m", "patch Metal3Machine/status m"]);
    assert_eq!(
        condition_of(&waiting, condition::DATA_READY),
        ("False".into(), "WaitingForMetal3Data".into())
    );
    assert!(waiting.plan.to_string().contains("no NIC"), "the cause is passed on");
    let ready = decide(&Snapshot { data: Some(data(true)), ..templated() }, "t");
    assert_eq!(patched(&ready, "BareMetalHost", "/spec/networkData/name"), "m-networkdata");
    assert_eq!(patched(&ready, "BareMetalHost", "/spec/metaData"), Value::Null);
    assert_eq!(patched(&ready, "BareMetalHost", "/spec/userData/name"), "m");
    assert_eq!(patched(&ready, "Metal3Machine", "/status/networkData/name"), "m-networkdata");
}

fn provisioned(nodes: Nodes) -> Snapshot {
    Snapshot {
        nodes,
        ..with_machine(
            with_host(
                json!({"spec": {"image": {"url": "http://image"}}, "status": {"provisioning": {"state": "provisioned"}}}),
            ),
            json!({"metadata": {"annotations": {annotation::HOST: "metal3/h"}}}),
        )
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
fn a_node_found_by_label_is_told_its_provider_id_first() {
    let node = read(json!({"metadata": {"name": "n"}}));
    let known = NodeCandidates { with_uuid: vec![node], ..NodeCandidates::default() };
    let mut snapshot = provisioned(Nodes::Known(known));
    snapshot.metal3_cluster = Some(read(json!({})));
    let write = decide(&snapshot, "t").node.unwrap();
    assert_eq!((write.name.as_str(), write.provider_id.as_str()), ("n", "metal3://metal3/h/m"));
}

/// The machine after the decision was carried out.
fn applied(snapshot: &Snapshot, decision: &Decision) -> Value {
    let mut value = serde_json::to_value(snapshot.metal3_machine.as_ref()).unwrap();
    for write in &decision.plan.writes {
        if let Write::Patch { kind, patch, .. } = write
            && kind.kind == "Metal3Machine"
        {
            merge(&mut value, patch);
            if patch.get("spec").is_some() {
                value["metadata"]["generation"] =
                    json!(value["metadata"]["generation"].as_i64().unwrap() + 1);
            }
        }
    }
    value
}

#[test]
fn a_second_look_at_a_finished_machine_writes_nothing() {
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

#[test]
fn waits_that_follow_each_other_within_a_second_share_a_write_but_provisioned_is_said_at_once() {
    let spoken = json!({"status": {"lastUpdated": "t"}});
    let waits = with_machine(Snapshot { cluster: None, ..ready_to_choose() }, spoken.clone());
    let decision = decide(&waits, "t");
    assert!(decision.plan.is_quiet());
    assert!(matches!(decision.plan.end, End::After(_)));
    assert_eq!(kinds(&decide(&waits, "a second later")), ["patch Metal3Machine/status m"]);
    let node = read(json!({"metadata": {"name": "n"}, "spec": {"providerID": "metal3://metal3/h/m"}}));
    let known = NodeCandidates { with_id_of_host: vec![node], ..NodeCandidates::default() };
    let done = with_machine(provisioned(Nodes::Known(known)), spoken);
    assert_eq!(patched(&decide(&done, "t"), "Metal3Machine", "/status/initialization/provisioned"), true);
}

#[test]
fn a_wait_that_goes_on_is_written_once_however_often_it_is_looked_at() {
    let mut snapshot = provisioned(Nodes::Known(NodeCandidates::default()));
    snapshot.metal3_machine = read(applied(&snapshot, &decide(&snapshot, "first")));
    assert!(decide(&snapshot, "later").plan.is_quiet(), "{}", decide(&snapshot, "later").plan);
}

#[test]
fn the_recorded_host_is_in_use_and_others_that_name_the_machine_are_given_back() {
    let surplus = || vec![read(host("a", consumed_by("m")))];
    let live = Snapshot { surplus: surplus(), ..provisioned(Nodes::NotNeeded) };
    let text = decide(&live, "t").plan.to_string();
    assert!(text.contains("patch BareMetalHost metal3/a {"), "{text}");
    assert!(!text.contains("metal3/a {\"spec\":{\"image\":{"), "a surplus host never gets an image: {text}");
    let dirty = read(host(
        "a",
        json!({"spec": {"image": {"url": "http://i"}, "consumerRef": consumed_by("m")["spec"]["consumerRef"]}}),
    ));
    let ends = Snapshot { surplus: vec![dirty], ..with_host(json!({"spec": {"online": false}})) };
    let decision = decide(&deleting(ends), "t");
    assert_eq!(decision.plan.end, End::Again, "the machine stays until every host is let go");
    assert!(!kinds(&decision).contains(&"patch Metal3Machine m".to_owned()));
}

#[test]
fn a_running_machine_whose_host_is_gone_or_taken_says_so() {
    let running = |host: Option<Value>| {
        let mut snapshot = with_machine(
            Snapshot { host: host.map(read), candidates: vec![], ..ready_to_choose() },
            json!({"metadata": {"annotations": {annotation::HOST: "metal3/h"}}, "spec": {"providerID": "metal3://metal3/h/m"},
                "status": {"initialization": {"provisioned": true}}}),
        );
        let mut capi = snapshot.machine.as_deref().unwrap().clone();
        capi.status.node_ref = serde_json::from_value(json!({"name": "n"})).unwrap();
        snapshot.machine = Some(Arc::new(capi));
        snapshot
    };
    for (snapshot, words) in [
        (running(None), "BareMetalHost h of this machine is not there"),
        (running(Some(host("h", consumed_by("other")))), "consumed by Metal3Machine metal3/other"),
    ] {
        let End::WaitFor(what) = decide(&snapshot, "t").plan.end else { panic!("waits") };
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

fn deleting(snapshot: Snapshot) -> Snapshot {
    with_machine(snapshot, json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}))
}

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
    let clean =
        Snapshot { claim: Some(read(own_claim(json!({})))), ..with_host(json!({"spec": {"online": false}})) };
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

#[test]
fn deletion_needs_neither_machine_nor_cluster_nor_template() {
    let bare = Snapshot {
        owner: None,
        machine: None,
        cluster: None,
        metal3_cluster: None,
        ..with_host(json!({"spec": {"online": false}}))
    };
    assert_eq!(kinds(&decide(&deleting(bare), "t")), ["patch BareMetalHost h", "patch Metal3Machine m"]);
}
