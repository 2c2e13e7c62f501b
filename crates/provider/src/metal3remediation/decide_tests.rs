//! Tables of decisions about a Metal3Remediation: the rows of the reference's tests, its known defects, and ours.

use std::sync::Arc;

use capm3_api::{
    neighbours::{BareMetalHost, Cluster, Machine, Node},
    v1beta2::{Metal3Machine, Metal3Remediation},
};
use capm3_engine::{Memory, Next, Object, ObjectKey};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::{Answers, Decision, Nodes, Question, ReadNode, decide, observe};
use crate::{kinds, plan::Plan, workload::Remains};

const FINALIZER: &str = "metal3remediation.infrastructure.cluster.x-k8s.io";
const POWER_OFF: &str = "reboot.metal3.io/metal3-remediation-u";
const BEGAN: &str = "2026-01-01T00:00:00Z";

/// The objects of one machine and its remediation.
#[derive(Clone)]
struct World {
    remediation: Value,
    machine: Value,
    metal3_machine: Value,
    host: Value,
    cluster: Value,
    nodes: Nodes,
    remains: Remains,
    answers: Answers,
    /// Seconds since the attempt began.
    second: i64,
}

fn meta(name: &str) -> Value {
    json!({"name": name, "namespace": "ns", "uid": name, "resourceVersion": "1"})
}

/// A Machine whose host is on, and a remediation that was just made.
fn world() -> World {
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

fn node() -> Value {
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
    fn in_phase(phase: &str, second: i64) -> Self {
        let mut world = world();
        world.remediation["metadata"]["finalizers"] = json!([FINALIZER]);
        world.remediation["status"] = json!({"phase": phase, "lastRemediated": BEGAN});
        world.second = second;
        world
    }

    /// An attempt under way: the host is asked to be off, and is.
    fn off() -> Self {
        let mut world = Self::in_phase("Running", 60).asked_off();
        world.host["status"]["poweredOn"] = json!(false);
        world
    }

    fn asked_off(mut self) -> Self {
        self.host["metadata"]["annotations"] = json!({POWER_OFF: r#"{"mode":"hard","force":false}"#});
        self
    }

    /// With the record as it was written with the status.
    fn recorded(mut self, mut record: Value) -> Self {
        for (member, value) in [("lastRemediated", BEGAN), ("powerOffAnnotation", POWER_OFF)] {
            if record[member].is_null() {
                record[member] = json!(value);
            }
        }
        let record = record.to_string();
        self.remediation["metadata"]["annotations"]["capm3.metal3.io/remediation-progress"] = json!(record);
        self
    }

    fn version(mut self, version: Option<(u32, u32)>) -> Self {
        self.answers.version = Some((ObjectKey::new("ns", "c"), version));
        self
    }

    fn read(mut self, node: Option<Value>) -> Self {
        let place = ReadNode { cluster: ObjectKey::new("ns", "c"), node: ObjectKey::new("", "node-0") };
        self.answers.node = Some((place, node.map(|node| serde_json::from_value(node).unwrap())));
        self
    }

    fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    fn decide(&self) -> Decision {
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

    fn plan(&self) -> Plan {
        match self.decide().next {
            Next::Act(plan) => plan,
            Next::Ask(question) => panic!("asks {question:?}"),
        }
    }

    /// What is asked, written and waited for, one line each, without the texts of conditions.
    fn steps(&self) -> Vec<String> {
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

fn assert_steps(table: Vec<(&str, World, Vec<&str>)>) {
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

#[test]
fn what_is_missing_is_waited_for_and_the_host_is_not_touched() {
    let wait = |world: World| world.steps().pop().unwrap_or_default();
    for (what, world, expected) in [
        (
            "no owner",
            world().with(|w| w.remediation["metadata"]["ownerReferences"] = json!([])),
            "CAPM3-W120",
        ),
        (
            "an owner of another kind",
            world().with(|w| w.remediation["metadata"]["ownerReferences"][0]["kind"] = json!("Pod")),
            "CAPM3-W120",
        ),
        (
            "a Machine that is proven to be gone",
            world().with(|w| {
                w.machine = Value::Null;
                w.answers.is_machine_gone = true;
            }),
            "CAPM3-W120",
        ),
        ("no Metal3Machine", world().with(|w| w.metal3_machine = Value::Null), "CAPM3-W121"),
        (
            "no reference",
            world().with(|w| w.machine["spec"]["infrastructureRef"] = Value::Null),
            "CAPM3-W121",
        ),
        (
            "no record of a host",
            world().with(|w| w.metal3_machine["metadata"]["annotations"] = json!({})),
            "CAPM3-W122",
        ),
        ("no host", world().with(|w| w.host = Value::Null), "CAPM3-W122"),
        (
            "the host of another machine",
            world().with(|w| w.host["spec"]["consumerRef"]["name"] = json!("other")),
            "CAPM3-W122",
        ),
        ("another strategy", world().with(|w| w.remediation["spec"]["strategy"] = json!({})), "CAPM3-W123"),
    ] {
        let plan = world.plan();
        assert!(plan.writes.iter().all(|write| write.kind().kind == "Metal3Remediation"), "{what}: {plan}");
        assert!(wait(world).contains(expected), "{what}: {plan}");
    }
    let unseen = world().with(|w| w.machine = Value::Null);
    assert_eq!(unseen.steps(), ["asks whether the Machine is gone"], "not seen is no proof");
}

#[test]
fn a_record_that_names_a_host_of_another_namespace_means_the_host_of_the_machines_own() {
    let world = world().with(|w| {
        w.metal3_machine["metadata"]["annotations"] = json!({"metal3.io/BareMetalHost": "elsewhere/h"});
    });
    assert_eq!(world.steps()[2], "BareMetalHost: +metal3-remediation-u");
}

#[test]
fn an_attempt_goes_from_power_off_to_a_healthy_machine() {
    let tainted = json!({"phase": "Running", "taintedNode": "nu"});
    let with_taint = || {
        let mut node = node();
        node["spec"]["taints"] = json!([{"key": "node.kubernetes.io/out-of-service", "value": "nodeshutdown",
            "effect": "NoExecute"}]);
        node
    };
    let left = |pods: &[&str], volumes: &[&str]| Remains::Listed {
        pods: pods.iter().map(|pod| (*pod).to_owned()).collect(),
        volumes: volumes.iter().map(|volume| (*volume).to_owned()).collect(),
    };
    let drained = |remains: Remains| {
        World::off().recorded(tainted.clone()).read(Some(with_taint())).with(|w| w.remains = remains)
    };
    let gone = "waits, and retries after 240s: CAPM3-W126 waiting for what runs on Node node-0 to end";
    assert_steps(vec![
        (
            "new",
            world(),
            vec![
                "Metal3Remediation: finalizer",
                "Metal3Remediation: phase Running",
                "BareMetalHost: +metal3-remediation-u",
                "waits, and retries after 600s: CAPM3-W125 waiting for host h to be powered off",
            ],
        ),
        (
            "the annotation is not written yet",
            World::in_phase("Running", 10),
            vec![
                "Metal3Remediation: record",
                "Metal3Remediation: condition",
                "BareMetalHost: +metal3-remediation-u",
                "waits, and retries after 600s: CAPM3-W125 waiting for host h to be powered off",
            ],
        ),
        (
            "still powered on",
            World::in_phase("Running", 10).asked_off(),
            vec![
                "Metal3Remediation: record",
                "Metal3Remediation: condition",
                "waits, and retries after 590s: CAPM3-W125 waiting for host h to be powered off",
            ],
        ),
        ("off", World::off(), vec!["asks for the Node"]),
        ("read", World::off().read(Some(node())), vec!["asks for the version"]),
        (
            "the taint is supported",
            World::off().read(Some(node())).version(Some((1, 28))),
            vec!["Metal3Remediation: record", "Node: 1 taints", "continues at once"],
        ),
        (
            "recorded, and the taint was not written",
            World::off().recorded(tainted.clone()).read(Some(node())).version(Some((1, 28))),
            vec!["Node: 1 taints", "continues at once"],
        ),
        (
            "tainted, nothing listed yet",
            drained(Remains::NotListed),
            vec!["Metal3Remediation: condition", gone],
        ),
        (
            "a Pod is left",
            drained(left(&["ns/db-0"], &[])),
            vec!["Metal3Remediation: condition", &format!("{gone}: Pods ns/db-0")],
        ),
        (
            "a volume is left",
            drained(left(&[], &["csi-1"])),
            vec!["Metal3Remediation: condition", &format!("{gone}: VolumeAttachments csi-1")],
        ),
        (
            "what is left cannot be read",
            drained(Remains::Unknown("pods cannot be listed".into())),
            vec![
                "Metal3Remediation: condition",
                &format!("{gone}: what is left is not known: pods cannot be listed"),
            ],
        ),
        (
            "drained",
            drained(left(&[], &[])),
            vec![
                "Metal3Remediation: record",
                "Metal3Remediation: phase Waiting",
                "BareMetalHost: -metal3-remediation-u",
                "continues at once",
            ],
        ),
        (
            "the taint is not supported",
            World::off().read(Some(node())).version(Some((1, 27))),
            vec![
                "Metal3Remediation: +node-annotations-backup, +node-labels-backup",
                "Metal3Remediation: condition",
                "delete Node node-0 of workload cluster ns/c",
                "waits, and retries after 240s: CAPM3-W127 waiting for Node node-0 to be deleted",
            ],
        ),
        (
            "the Node is gone",
            World::off().with(|w| w.nodes = Nodes::Known(None)),
            vec![
                "Metal3Remediation: record",
                "Metal3Remediation: phase Waiting",
                "BareMetalHost: -metal3-remediation-u",
                "continues at once",
            ],
        ),
        (
            "waiting, and the annotation is still there",
            World::in_phase("Waiting", 120)
                .asked_off()
                .with(|w| w.host["status"]["poweredOn"] = json!(false)),
            vec![
                "Metal3Remediation: record",
                "Metal3Remediation: condition",
                "BareMetalHost: -metal3-remediation-u",
                "waits, and retries after 480s: CAPM3-W128 waiting for host h to be powered on",
            ],
        ),
        (
            "powered on, the Node is gone",
            World::in_phase("Waiting", 120).with(|w| w.nodes = Nodes::Known(None)),
            vec![
                "Metal3Remediation: record",
                "Metal3Remediation: condition",
                "waits, and retries after 480s: CAPM3-W129 waiting for Node node-0 to join again",
            ],
        ),
        (
            "powered on, the Node has the taint",
            World::in_phase("Waiting", 120).recorded(tainted.clone()).read(Some(with_taint())),
            vec!["Node: 0 taints", "Metal3Remediation: no finalizer", "continues at once"],
        ),
        (
            "powered on, the Node has nothing of us",
            World::in_phase("Waiting", 120).read(Some(node())),
            vec![
                "Metal3Remediation: no finalizer",
                "Metal3Remediation: condition",
                "waits, and retries after 480s: CAPM3-W130 waiting for Machine m to be healthy after attempt 1 of 2; \
                 the next one begins at 2026-01-01T00:10:00Z",
            ],
        ),
    ]);
}

#[test]
fn a_node_that_is_back_gets_its_labels_and_they_are_kept_until_that_is_written() {
    let backed_up = |world: World| {
        world.with(|w| {
            let annotations = &mut w.remediation["metadata"]["annotations"];
            annotations["remediation.metal3.io/node-labels-backup"] = json!(r#"{"role":"db"}"#);
            annotations["remediation.metal3.io/node-annotations-backup"] = json!("");
        })
    };
    let mut fresh = node();
    fresh["metadata"]["labels"] = json!({});
    let world = backed_up(World::in_phase("Waiting", 120)).read(Some(fresh));
    assert_eq!(
        world.steps(),
        [
            "Node: +role",
            "Metal3Remediation: no finalizer, -node-annotations-backup, -node-labels-backup",
            "continues at once",
        ],
        "the Node is written first"
    );
}

#[test]
fn the_host_is_powered_off_hard_or_softly_at_first() {
    let value = |world: World| {
        let plan = world.plan();
        let of_host = plan.writes.iter().find(|write| write.kind().kind == "BareMetalHost").cloned();
        of_host.map(|write| match write {
            capm3_engine::Write::Patch { patch, .. } => patch["metadata"]["annotations"][POWER_OFF].clone(),
            other => panic!("{other}"),
        })
    };
    let soft = |world: World| world.with(|w| w.remediation["spec"]["strategy"]["powerOff"] = json!("soft"));
    let asked_softly = |second| {
        soft(World::in_phase("Running", second)).with(|w| {
            w.host["metadata"]["annotations"] = json!({POWER_OFF: r#"{"mode":"soft","force":false}"#});
        })
    };
    let (hard_mode, soft_mode) =
        (json!(r#"{"mode":"hard","force":false}"#), json!(r#"{"mode":"soft","force":false}"#));
    assert_eq!(value(world()), Some(hard_mode.clone()));
    assert_eq!(value(soft(world())), Some(soft_mode));
    assert_eq!(value(asked_softly(299)), None, "the operating system has half of the time");
    assert_eq!(value(asked_softly(300)), Some(hard_mode));
    assert!(asked_softly(100).steps().pop().unwrap().contains("retries after 200s"));
}

#[test]
fn attempts_are_repeated_up_to_the_limit_and_compared_with_at_least() {
    let over = |count: Value, limit: i64| {
        World::in_phase("Waiting", 600).with(|w| {
            w.remediation["metadata"]["finalizers"] = json!([]);
            w.remediation["status"]["retryCount"] = count;
            w.remediation["spec"]["strategy"]["retryLimit"] = json!(limit);
        })
    };
    assert_eq!(
        over(Value::Null, 1).steps()[..3],
        [
            "Metal3Remediation: finalizer",
            "Metal3Remediation: phase Running, retries 1",
            "BareMetalHost: +metal3-remediation-u"
        ]
    );
    for (count, limit) in [(json!(1), 1), (json!(5), 1), (Value::Null, 0)] {
        assert_eq!(over(count.clone(), limit).steps(), ["asks for the Machine"], "{count} of {limit}");
    }
    let not_over = over(Value::Null, 1).with(|w| w.second = 599);
    assert!(not_over.steps().pop().unwrap().contains("retries after 1s: CAPM3-W130"));
}

#[test]
fn giving_up_marks_the_host_before_the_machine_is_replaced_and_each_choice_does_its_part() {
    let machine = json!({"metadata": {"resourceVersion": "9", "generation": 2}, "status": {
        "conditions": [{"type": "HealthCheckSucceeded", "status": "False", "reason": "R", "message": "",
            "lastTransitionTime": BEGAN}]}});
    let exhausted = |choice: Value| {
        World::in_phase("Waiting", 600).with(|w| {
            w.remediation["metadata"]["finalizers"] = json!([]);
            w.remediation["status"]["retryCount"] = json!(1);
            w.remediation["spec"]["strategy"]["onExhausted"] = choice;
            w.answers.machine = Some(machine.clone());
        })
    };
    let (mark, replace) = ("BareMetalHost: +unhealthy", "Machine: OwnerRemediated");
    let (record, end) = ("Metal3Remediation: record", "continues at once");
    let phase = "Metal3Remediation: phase Deleting machine";
    assert_steps(vec![
        ("by default", exhausted(Value::Null), vec![mark, replace, record, phase, end]),
        ("both", exhausted(json!("MarkUnhealthyAndReplace")), vec![mark, replace, record, phase, end]),
        ("mark", exhausted(json!("MarkUnhealthyOnly")), vec![mark, record, phase, end]),
        ("replace", exhausted(json!("ReplaceOnly")), vec![replace, record, phase, end]),
    ]);
    let plan = exhausted(Value::Null).plan();
    let Some(capm3_engine::Write::Patch { patch, version, subresource, .. }) = plan.writes.get(1) else {
        panic!("{plan}")
    };
    assert_eq!((version.as_deref(), *subresource), (Some("9"), Some("status")));
    let types: Vec<&str> = patch["status"]["conditions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["type"].as_str().unwrap_or_default())
        .collect();
    assert_eq!(types.len(), 2, "the conditions of others stay: {types:?}");
    assert!(types.contains(&"OwnerRemediated") && types.contains(&"HealthCheckSucceeded"));
    let legacy = &patch["status"]["deprecated"]["v1beta1"]["conditions"][0];
    assert_eq!((&legacy["type"], &legacy["severity"]), (&json!("OwnerRemediated"), &json!("Warning")));
}

#[test]
fn a_terminal_phase_does_nothing_more() {
    let world = World::in_phase("Deleting machine", 10_000).with(|w| {
        w.remediation["metadata"]["finalizers"] = json!([]);
        w.remediation["metadata"]["annotations"] = json!({});
    });
    let steps = world.steps();
    assert_eq!(steps.last().map(String::as_str), Some("done"), "{steps:?}");
    assert!(world.plan().writes.iter().all(|write| write.kind().kind == "Metal3Remediation"));
}

#[test]
fn a_host_that_is_offline_fails_gets_its_power_back_and_is_remediated_once_it_is_online() {
    let offline = |world: World| world.with(|w| w.host["spec"]["online"] = json!(false));
    assert_steps(vec![
        (
            "new",
            offline(world()),
            vec![
                "Metal3Remediation: record",
                "Metal3Remediation: phase Failed",
                "waits: CAPM3-W124 spec.online of BareMetalHost h is false: it is switched off on purpose and not remediated; \
                 set it to true to go on",
            ],
        ),
        (
            "during an attempt",
            offline(World::off()),
            vec![
                "Metal3Remediation: record",
                "Metal3Remediation: phase Failed",
                "BareMetalHost: -metal3-remediation-u",
                "continues at once",
            ],
        ),
        (
            "afterwards",
            offline(World::in_phase("Failed", 60)),
            vec!["Metal3Remediation: no finalizer", "continues at once"],
        ),
    ]);
    let online =
        World::in_phase("Failed", 5_000).with(|w| w.remediation["metadata"]["finalizers"] = json!([]));
    assert_eq!(online.steps()[1], "Metal3Remediation: phase Running", "the attempt that was interrupted");
}

#[test]
fn forbidden_nodes_mean_a_power_cycle_only_and_an_event_says_so() {
    let forbidden = |world: World| world.with(|w| w.nodes = Nodes::Forbidden);
    let plan = forbidden(World::off()).plan();
    assert!(plan.to_string().contains("Nodes may not be read or changed"), "{plan}");
    assert_eq!(forbidden(World::off()).steps()[1], "Metal3Remediation: phase Waiting");
    assert_eq!(forbidden(World::in_phase("Waiting", 60)).steps()[0], "Metal3Remediation: no finalizer");
}

/// B 2: the reference leaves finalizer, annotation and taint in each of these.
#[test]
fn nothing_is_left_behind_however_a_remediation_ends() {
    let deleted =
        |world: World| world.with(|w| w.remediation["metadata"]["deletionTimestamp"] = json!(BEGAN));
    let tainted = json!({"phase": "Running", "taintedNode": "nu"});
    let mut with_taint = node();
    with_taint["spec"]["taints"] =
        json!([{"key": "node.kubernetes.io/out-of-service", "effect": "NoExecute"}]);
    let released = || vec!["Metal3Remediation: no finalizer", "continues at once"];
    let on = || World::in_phase("Running", 60);
    assert_steps(vec![
        (
            "deleted while the host is off",
            deleted(World::off()).recorded(json!({"phase": "Running"})),
            vec!["BareMetalHost: -metal3-remediation-u", "continues at once"],
        ),
        (
            "deleted with a taint on the Node",
            deleted(on()).recorded(tainted.clone()).read(Some(with_taint)),
            vec!["Node: 0 taints", "Metal3Remediation: no finalizer", "continues at once"],
        ),
        (
            "deleted, the Node not read yet",
            deleted(on()).recorded(tainted.clone()),
            vec!["asks for the Node"],
        ),
        (
            "the last attempt has failed and the finalizer is still there",
            World::in_phase("Deleting machine", 900),
            released(),
        ),
        (
            "the Machine is being deleted",
            on().recorded(tainted.clone()).with(|w| {
                w.machine["metadata"]["deletionTimestamp"] = json!(BEGAN);
                w.machine["metadata"]["finalizers"] = json!(["f"])
            }),
            released(),
        ),
        (
            "the Machine is gone",
            on().recorded(tainted.clone()).with(|w| {
                w.machine = Value::Null;
                w.answers.is_machine_gone = true;
            }),
            released(),
        ),
    ]);
    let unreachable =
        deleted(on()).recorded(tainted).with(|w| w.nodes = Nodes::Unreachable("no route".into()));
    assert!(unreachable.steps().pop().unwrap().contains("no route"), "the taint is not forgotten");
}

/// Half of the time is left for the Node to come back: a Pod that is stuck must not cost the Machine.
#[test]
fn what_does_not_end_in_half_of_the_time_is_left_behind() {
    let late = |nodes: Option<Nodes>| {
        World::off().with(|w| {
            w.second = 300;
            w.nodes = nodes.unwrap_or_else(|| w.nodes.clone());
        })
    };
    for world in [late(None), late(Some(Nodes::Connecting))] {
        assert_eq!(world.steps()[1], "Metal3Remediation: phase Waiting");
        assert!(world.plan().to_string().contains("in time"), "{}", world.plan());
    }
}

/// A write that is refused again and again must not end in a Machine that is given up without a power cycle.
#[test]
fn an_attempt_whose_host_was_never_asked_begins_again_however_late_it_is() {
    let world = World::in_phase("Running", 5_000);
    let steps = world.steps();
    assert_eq!(steps[2], "BareMetalHost: +metal3-remediation-u", "{steps:?}");
    assert!(steps[3].contains("retries after 600s: CAPM3-W125"), "{steps:?}");
}

/// B 3: in the reference a BMC, a Pod or a volume that is stuck keeps the host off without end.
#[test]
fn an_attempt_that_lasts_too_long_ends_whatever_it_waits_for() {
    for (what, world) in [
        ("the host stays on", World::in_phase("Running", 600).asked_off()),
        ("the Node is not drained", World::off().with(|w| w.second = 600)),
        (
            "the Nodes are not known",
            World::off().with(|w| {
                w.second = 600;
                w.nodes = Nodes::Connecting;
            }),
        ),
    ] {
        let steps = world.steps();
        assert_eq!(steps[1], "Metal3Remediation: phase Waiting", "{what}");
        assert_eq!(steps[2], "BareMetalHost: -metal3-remediation-u", "{what}");
    }
    let stays_off = World::in_phase("Waiting", 600).with(|w| w.host["status"]["poweredOn"] = json!(false));
    assert_eq!(stays_off.steps()[1], "Metal3Remediation: phase Running, retries 1", "the host stays off");
}

/// B 4: in the reference a Machine whose Node never joined can neither be rebooted nor given up.
#[test]
fn a_machine_without_a_node_is_power_cycled() {
    let without = |world: World| {
        world.with(|w| {
            w.machine["status"] = json!({});
            w.nodes = Nodes::NotNamed;
        })
    };
    assert_eq!(without(World::off()).steps()[1], "Metal3Remediation: phase Waiting");
    assert_eq!(without(World::in_phase("Waiting", 60)).steps()[0], "Metal3Remediation: no finalizer");
}

/// A single control plane whose host hangs takes its API along.
#[test]
fn the_power_does_not_wait_for_the_workload_cluster() {
    let dead = |world: World| world.with(|w| w.nodes = Nodes::Unreachable("no route".into()));
    assert_eq!(dead(world()).steps()[2], "BareMetalHost: +metal3-remediation-u");
    assert_eq!(dead(World::off()).steps()[1], "Metal3Remediation: phase Waiting");
    let back = dead(World::in_phase("Waiting", 60));
    assert!(back.steps().pop().unwrap().contains("CAPM3-W051"), "the Node part catches up");
    let connecting = World::off().with(|w| w.nodes = Nodes::NotConnected);
    assert!(connecting.decide().connect.is_some());
}

/// Never mix up a Node: the name alone does not make it the host's.
#[test]
fn a_node_of_another_host_is_not_touched() {
    let mut other = node();
    other["spec"]["providerID"] = json!("metal3://ns/other/m3m");
    let known: Node = serde_json::from_value(other.clone()).unwrap();
    let world = World::off().with(|w| w.nodes = Nodes::Known(Some(Arc::new(known))));
    assert_eq!(world.steps()[1], "Metal3Remediation: phase Waiting");
    let read = World::off().read(Some(other)).version(Some((1, 30)));
    assert_eq!(read.steps()[1], "Metal3Remediation: phase Waiting", "it changed since");
}

/// B 38: a move drops the status and gives the object another uid.
#[test]
fn after_a_move_an_attempt_goes_on_and_takes_the_annotation_of_before_off() {
    let before = "reboot.metal3.io/metal3-remediation-before";
    let record =
        json!({"phase": "Waiting", "retryCount": 1, "lastRemediated": BEGAN, "powerOffAnnotation": before});
    let world = World::in_phase("", 120).recorded(record).with(|w| {
        w.remediation["status"] = json!({});
        w.host["metadata"]["annotations"] = json!({before: "{}"});
        w.host["status"]["poweredOn"] = json!(false);
    });
    assert_eq!(
        world.steps()[..2],
        ["Metal3Remediation: phase Waiting, retries 1", "BareMetalHost: -metal3-remediation-before"]
    );
}

#[test]
fn a_pause_is_respected_and_shown() {
    let annotated =
        world().with(|w| w.remediation["metadata"]["annotations"] = json!({"cluster.x-k8s.io/paused": ""}));
    let cluster = World::off().with(|w| w.cluster["spec"]["paused"] = json!(true));
    for world in [annotated, cluster] {
        let steps = world.steps();
        assert!(steps.last().unwrap().starts_with("waits: CAPM3-W001"), "{steps:?}");
        assert!(world.plan().writes.iter().all(|write| write.kind().kind == "Metal3Remediation"));
    }
}
