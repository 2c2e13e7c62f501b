//! The objects of one machine and its remediation, and what is decided about them in a few words.

use std::sync::Arc;

use capm3_api::{
    neighbours::{BareMetalHost, Cluster, Machine, Node},
    v1beta2::{Metal3Machine, Metal3Remediation},
};
use capm3_engine::{Memory, Next, Object, ObjectKey};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::super::{Answers, Decision, Nodes, Question, ReadNode, decide, observe};
use crate::{kinds, plan::Plan, workload::Remains};

pub(super) const FINALIZER: &str = "metal3remediation.infrastructure.cluster.x-k8s.io";
pub(super) const POWER_OFF: &str = "reboot.metal3.io/metal3-remediation-u";
pub(super) const BEGAN: &str = "2026-01-01T00:00:00Z";

/// The objects of one machine and its remediation.
#[derive(Clone)]
pub(super) struct World {
    pub(super) remediation: Value,
    pub(super) machine: Value,
    pub(super) metal3_machine: Value,
    pub(super) host: Value,
    pub(super) cluster: Value,
    pub(super) nodes: Nodes,
    pub(super) remains: Remains,
    pub(super) answers: Answers,
    /// Seconds since the attempt began.
    pub(super) second: i64,
}

fn meta(name: &str) -> Value {
    json!({"name": name, "namespace": "ns", "uid": name, "resourceVersion": "1"})
}

/// A Machine whose host is on, and a remediation that was just made.
pub(super) fn world() -> World {
    let capi = "cluster.x-k8s.io/v1beta2";
    let ours = "infrastructure.cluster.x-k8s.io/v1beta2";
    let owner = json!([{"apiVersion": capi, "kind": "Machine", "name": "m", "uid": "m"}]);
    let mut world = World {
        remediation: json!({"apiVersion": ours, "kind": "Metal3Remediation", "metadata": meta("u"),
            "spec": {"strategy": {"type": "Reboot", "retryLimit": 1, "timeoutSeconds": 600}}}),
        machine: json!({"apiVersion": capi, "kind": "Machine", "metadata": meta("m"),
            "spec": {"clusterName": "c", "infrastructureRef": {"kind": "Metal3Machine", "name": "m3m"}},
            "status": {"nodeRef": {"name": "node-0"}}}),
        metal3_machine: json!({"apiVersion": ours, "kind": "Metal3Machine", "metadata": meta("m3m")}),
        host: json!({"apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost", "metadata": meta("h"),
            "spec": {"online": true, "consumerRef":
                {"apiVersion": ours, "kind": "Metal3Machine", "name": "m3m", "namespace": "ns"}},
            "status": {"poweredOn": true}}),
        cluster: json!({"apiVersion": capi, "kind": "Cluster", "metadata": meta("c"), "spec": {}}),
        nodes: Nodes::Known(Some(Arc::new(serde_json::from_value::<Node>(node()).unwrap()))),
        remains: Remains::NotListed,
        answers: Answers::default(),
        second: 10,
    };
    world.remediation["metadata"]["ownerReferences"] = owner.clone();
    world.metal3_machine["metadata"]["ownerReferences"] = owner;
    world.metal3_machine["metadata"]["annotations"] = json!({"metal3.io/BareMetalHost": "ns/h"});
    world
}

pub(super) fn node() -> Value {
    json!({"metadata": {"name": "node-0", "uid": "nu", "resourceVersion": "7", "labels": {"role": "db"},
        "annotations": {"note": "x"}}, "spec": {"providerID": "metal3://ns/h/m3m"}})
}

fn put<K: Object>(memory: &mut Memory, object: &Value) {
    if !object.is_null() {
        memory.put::<K>(serde_json::from_value(object.clone()).unwrap());
    }
}

impl World {
    /// In a phase, with the finalizer, some seconds after the attempt began.
    pub(super) fn in_phase(phase: &str, second: i64) -> Self {
        let mut world = world();
        world.remediation["metadata"]["finalizers"] = json!([FINALIZER]);
        world.remediation["status"] = json!({"phase": phase, "lastRemediated": BEGAN});
        world.second = second;
        world
    }

    /// An attempt under way: the host is asked to be off, and is.
    pub(super) fn off() -> Self {
        let mut world = Self::in_phase("Running", 60).asked_off();
        world.host["status"]["poweredOn"] = json!(false);
        world
    }

    pub(super) fn asked_off(mut self) -> Self {
        self.host["metadata"]["annotations"] = json!({POWER_OFF: r#"{"mode":"hard","force":false}"#});
        self
    }

    /// With the record as it was written with the status.
    pub(super) fn recorded(mut self, mut record: Value) -> Self {
        for (member, value) in [("lastRemediated", BEGAN), ("powerOffAnnotation", POWER_OFF)] {
            if record[member].is_null() {
                record[member] = json!(value);
            }
        }
        let record = record.to_string();
        self.remediation["metadata"]["annotations"]["capm3.metal3.io/remediation-progress"] = json!(record);
        self
    }

    pub(super) fn version(mut self, version: Option<(u32, u32)>) -> Self {
        self.answers.version = Some((ObjectKey::new("ns", "c"), version));
        self
    }

    pub(super) fn read(mut self, node: Option<Value>) -> Self {
        let place = ReadNode { cluster: ObjectKey::new("ns", "c"), node: ObjectKey::new("", "node-0") };
        self.answers.node = Some((place, node.map(|node| serde_json::from_value(node).unwrap())));
        self
    }

    pub(super) fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    pub(super) fn decide(&self) -> Decision {
        let mut memory = kinds::memory();
        put::<Metal3Remediation>(&mut memory, &self.remediation);
        put::<Machine>(&mut memory, &self.machine);
        put::<Metal3Machine>(&mut memory, &self.metal3_machine);
        put::<BareMetalHost>(&mut memory, &self.host);
        put::<Cluster>(&mut memory, &self.cluster);
        let mut snapshot = observe(&memory, &ObjectKey::new("ns", "u")).unwrap();
        snapshot.nodes = self.nodes.clone();
        snapshot.remains = self.remains.clone();
        snapshot.answers = self.answers.clone();
        let began: Timestamp = BEGAN.parse().unwrap();
        decide(&snapshot, Timestamp::from_second(began.as_second() + self.second).unwrap())
    }

    pub(super) fn plan(&self) -> Plan {
        match self.decide().next {
            Next::Act(plan) => plan,
            Next::Ask(question) => panic!("asks {question:?}"),
        }
    }

    /// What is asked, written and waited for, one line each, without the texts of conditions.
    pub(super) fn steps(&self) -> Vec<String> {
        let plan = match self.decide().next {
            Next::Ask(Question::Node(_)) => return vec!["asks for the Node".into()],
            Next::Ask(Question::Version(_)) => return vec!["asks for the version".into()],
            Next::Ask(Question::Machine(_)) => return vec!["asks for the Machine".into()],
            Next::Ask(Question::IsMachineGone(_)) => return vec!["asks whether the Machine is gone".into()],
            Next::Act(plan) => plan,
        };
        let mut steps: Vec<String> = plan.writes.iter().map(step).collect();
        steps.push(plan.to_string().lines().last().unwrap_or_default().to_owned());
        steps
    }
}

/// A write in a few words.
fn step(write: &capm3_engine::Write) -> String {
    use capm3_engine::Write::{Patch, Workload};
    let (Patch { patch, .. } | Workload { patch, .. }) = write else { return write.aim() };
    let mut shown = Vec::new();
    if let Some(phase) = patch.pointer("/status/phase") {
        shown.push(format!("phase {}", phase.as_str().unwrap_or("none")));
    }
    if let Some(count) = patch.pointer("/status/retryCount") {
        shown.push(format!("retries {count}"));
    }
    if let Some(finalizers) = patch.pointer("/metadata/finalizers") {
        let is_there = finalizers.as_array().is_some_and(|all| all.contains(&json!(FINALIZER)));
        shown.push(if is_there { "finalizer" } else { "no finalizer" }.to_owned());
    }
    let short = |key: &str| key.rsplit('/').next().unwrap_or_default().to_owned();
    for part in ["annotations", "labels"] {
        let keys = patch.pointer(&format!("/metadata/{part}")).and_then(Value::as_object);
        for (key, value) in keys.into_iter().flatten().filter(|(key, _)| !key.contains("progress")) {
            shown.push(format!("{}{}", if value.is_null() { "-" } else { "+" }, short(key)));
        }
    }
    if let Some(taints) = patch.pointer("/spec/taints").and_then(Value::as_array) {
        shown.push(format!("{} taints", taints.len()));
    }
    if patch.pointer("/status/deprecated").is_some() {
        shown.push("OwnerRemediated".to_owned());
    }
    if shown.is_empty() {
        shown.push(if patch.get("status").is_some() { "condition" } else { "record" }.to_owned());
    }
    let kind = &write.kind().kind;
    format!("{kind}: {}", shown.join(", "))
}

pub(super) fn assert_steps(table: Vec<(&str, World, Vec<&str>)>) {
    assert!(!table.is_empty());
    let mut wrong = String::new();
    for (what, world, expected) in table {
        let steps = world.steps();
        if steps != expected {
            wrong.push_str(&format!(
                "{what}:\n  {}\n  expected\n  {}\n",
                steps.join("\n  "),
                expected.join("\n  ")
            ));
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}
