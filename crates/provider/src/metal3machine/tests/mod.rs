//! Tables of decisions: a snapshot in, a plan out.

mod arriving;
mod choosing;
mod giving;
mod host_data;
mod keeping;
mod observing;
mod parity;
mod parity_end;
mod pausing;
mod refusing;
mod releasing;
mod safety;
mod stages;
mod waiting;

use std::sync::Arc;

use crate::plan::End;
use capm3_api::{
    v1beta2::{Metal3Machine, Metal3MachineTemplate},
    vocabulary::{annotation, condition, finalizer},
};
use capm3_engine::Write;

use json_patch::merge;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::{Awaits, Live, NodeCandidates, Nodes, Question, Stage};
use crate::plan::Plan;
use capm3_engine::{Next, ObjectKey};

type MachineSnapshot = super::MachineSnapshot<'static>;

/// A decision, taken apart for the tables: writes that are not worth failing for stand by themselves.
#[derive(Debug)]
struct Decision {
    plan: Plan,
    best_effort: Plan,
    ask: Option<Question>,
    connect: Option<ObjectKey>,
    awaits: Awaits,
    stage: Stage,
}

fn decide(snapshot: &super::MachineSnapshot<'_>, now: &str) -> Decision {
    let super::Decision { next, connect, awaits, stage } = super::decide(snapshot, now);
    let (mut plan, ask) = match next {
        Next::Act(plan) => (plan, None),
        Next::Ask(question) => (Plan::done(), Some(question)),
    };
    let mut best_effort = Plan::done();
    let mut writes = Vec::new();
    for write in std::mem::take(&mut plan.writes) {
        match write {
            Write::BestEffort(write) => best_effort.writes.push(*write),
            write => writes.push(write),
        }
    }
    plan.writes = writes;
    Decision { plan, best_effort, ask, connect, awaits, stage }
}

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

/// A machine whose prerequisites are all met and that has no host yet.
fn ready_to_choose() -> MachineSnapshot {
    MachineSnapshot {
        metal3_machine: read(machine()),
        machines_in_progress: 1,
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
        host_data: Default::default(),
        surplus: vec![],
        held: vec![],
        claim_is_of_former_machine: false,
        of_others: Default::default(),
        bmc_secret: None,
        bmc_secret_is_shared: false,
        candidates: vec![read(host("h", json!({})))].into(),
        missing_data_template: None,
        claim: None,
        held_data_templates: Default::default(),
        data: None,
        data_to_delete: None,
        missing_secrets: Vec::new(),
        stranded_secrets: Vec::new(),
        nodes: Nodes::NotNeeded,
        host_lacks: Vec::new(),
        refused: None,
        fast_track: false,
        is_preview: false,
        live: answered(),
    }
}

/// A server that has answered what decisions about absences ask for.
fn answered() -> Live {
    let mut live = Live::default();
    let absences = [Question::Template("t".into()), Question::Hosts, Question::Host("h".into())];
    let neighbours = [Question::Cluster("c".into()), Question::Machine("m".into())];
    for question in absences.into_iter().chain(neighbours).chain([Question::Definition]) {
        live.answer(question, None);
    }
    live
}

/// The same with its host claimed.
fn with_host(extra: Value) -> MachineSnapshot {
    let mut object = host("h", consumed_by("m"));
    merge(
        &mut object,
        &json!({"metadata": {"labels": {"cluster.x-k8s.io/cluster-name": "c"},
            "annotations": {annotation::BLOCK_MOVE: ""}}}),
    );
    merge(&mut object, &extra);
    MachineSnapshot { host: Some(read(object)), candidates: vec![].into(), ..ready_to_choose() }
}

fn with_machine(mut snapshot: MachineSnapshot, extra: Value) -> MachineSnapshot {
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
        Write::Workload { .. } | Write::WorkloadDelete { .. } | Write::BestEffort(_) => write.aim(),
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

/// Reason and severity of a condition of the older generation.
fn older_condition_of(decision: &Decision, type_: &str) -> (String, String) {
    let conditions = patched(decision, "Metal3Machine", "/status/deprecated/v1beta1/conditions");
    let found = conditions.as_array().into_iter().flatten().find(|c| c["type"] == type_);
    let text = |key: &str| found.and_then(|c| c[key].as_str()).unwrap_or_default().to_owned();
    assert_eq!(text("status"), "False", "{type_}: {conditions}");
    (text("reason"), text("severity"))
}

fn own_claim(status: Value) -> Value {
    json!({"metadata": {"name": "m", "namespace": "metal3", "resourceVersion": "3", "uid": "uid-c",
        "finalizers": [finalizer::MACHINE, finalizer::DATA_CLAIM], "ownerReferences": [
        {"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "Metal3Machine", "name": "m", "uid": "uid-m"}]},
        "spec": {"template": {"name": "dt", "namespace": "metal3"}}, "status": status})
}

fn provisioned(nodes: Nodes) -> MachineSnapshot {
    MachineSnapshot {
        nodes,
        ..with_machine(
            with_host(
                json!({"spec": {"image": {"url": "http://image"}}, "status": {"provisioning": {"state": "provisioned"}}}),
            ),
            json!({"metadata": {"annotations": {annotation::HOST: "metal3/h"}}}),
        )
    }
}

/// The machine after the decision was carried out.
fn applied(snapshot: &super::MachineSnapshot<'_>, decision: &Decision) -> Value {
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

fn deleting(snapshot: MachineSnapshot) -> MachineSnapshot {
    with_machine(snapshot, json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}))
}
