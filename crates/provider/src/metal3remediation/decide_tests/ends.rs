//! How a remediation ends: given up, stopped, deleted, without its Machine, paused or moved. Nothing is left behind.

use serde_json::{Value, json};

use super::{super::Nodes, world::*};

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
                "waits: CAPM3-W124 spec.online of BareMetalHost h is false: the host is powered off on purpose and not remediated; set spec.online to true to continue",
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
    assert!(plan.to_string().contains("has no permission to read or change Nodes"), "{plan}");
    assert_eq!(forbidden(World::off()).steps()[1], "Metal3Remediation: phase Waiting");
    assert_eq!(forbidden(World::in_phase("Waiting", 60)).steps()[0], "Metal3Remediation: no finalizer");
}

/// The reference leaves finalizer, annotation and taint in each of these.
#[test]
fn nothing_is_left_behind_however_a_remediation_ends() {
    let deleted =
        |world: World| world.with(|w| w.remediation["metadata"]["deletionTimestamp"] = json!(BEGAN));
    let tainted = json!({"phase": "Running", "taintedNode": "nu"});
    let mut with_taint = node();
    with_taint["spec"]["taints"] =
        json!([{"key": "node.kubernetes.io/out-of-service", "effect": "NoExecute"}]);
    let named = json!({"phase": "Running", "taintedNode": "nu", "node": "node-0"});
    let unseen = |world: World| world.with(|w| w.nodes = Nodes::Known(None));
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
            deleted(on()).recorded(tainted.clone()).read(Some(with_taint.clone())),
            vec!["Node: 0 taints", "Metal3Remediation: no finalizer", "continues at once"],
        ),
        (
            "deleted, the Node not read yet",
            deleted(on()).recorded(tainted.clone()),
            vec!["asks for the Node"],
        ),
        (
            "deleted, the watch does not show the Node",
            unseen(deleted(on())).recorded(tainted.clone()),
            vec!["asks for the Node"],
        ),
        (
            "deleted, the watch does not show the Node and it is there",
            unseen(deleted(on())).recorded(tainted.clone()).read(Some(with_taint.clone())),
            vec!["Node: 0 taints", "Metal3Remediation: no finalizer", "continues at once"],
        ),
        ("deleted, the Node is gone", unseen(deleted(on())).recorded(tainted.clone()).read(None), released()),
        (
            "deleted after a move, the Machine does not name its Node yet",
            deleted(on()).recorded(named).with(|w| w.machine["status"] = json!({})).read(Some(with_taint)),
            vec!["Node: 0 taints", "Metal3Remediation: no finalizer", "continues at once"],
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

/// In the reference a BMC, a Pod or a volume that is stuck keeps the host off without end.
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

/// In the reference a Machine whose Node never joined can neither be rebooted nor given up.
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

/// A move drops the status and gives the object another uid.
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
