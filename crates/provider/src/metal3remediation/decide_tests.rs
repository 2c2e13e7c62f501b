//! Tables of decisions about a Metal3Remediation: the rows of the reference's tests, its known defects, and ours.

mod ends;
mod world;

use std::sync::Arc;

use capm3_api::neighbours::Node;
use capm3_engine::ObjectKey;
use serde_json::{Value, json};

use super::{Nodes, observe};
use crate::{kinds, workload::Remains};
use world::*;

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
        (
            "no annotations at all",
            world().with(|w| w.metal3_machine["metadata"]["annotations"] = Value::Null),
            "CAPM3-W122",
        ),
        (
            "a record of three parts",
            world().with(|w| {
                w.metal3_machine["metadata"]["annotations"] = json!({"metal3.io/BareMetalHost": "ns/h/x"});
            }),
            "CAPM3-W122",
        ),
        ("no host", world().with(|w| w.host = Value::Null), "CAPM3-W122"),
        (
            "a host of that name in another namespace",
            world().with(|w| w.host["metadata"]["namespace"] = json!("elsewhere")),
            "CAPM3-W122",
        ),
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
    assert!(observe(&kinds::memory(), &ObjectKey::new("ns", "u")).is_none(), "nothing is decided without it");
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
    let tainted = json!({"phase": "Running", "taintedNode": "nu", "node": "node-0"});
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
    let gone = "waits, and retries after 240s: CAPM3-W126 waiting for Node node-0 to be drained";
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
        (
            "still powered on, and somebody has removed the finalizer",
            World::in_phase("Running", 10)
                .asked_off()
                .with(|w| w.remediation["metadata"]["finalizers"] = json!(["example.com/theirs"])),
            vec![
                "Metal3Remediation: finalizer",
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
            "the taint is not supported, and what the Node has is kept already",
            World::off()
                .recorded(json!({"phase": "Running", "node": "node-0"}))
                .read(Some(node()))
                .version(Some((1, 27)))
                .with(|w| {
                    let annotations = &mut w.remediation["metadata"]["annotations"];
                    annotations["remediation.metal3.io/node-labels-backup"] = json!(r#"{"role":"db"}"#);
                    annotations["remediation.metal3.io/node-annotations-backup"] = json!(r#"{"note":"x"}"#);
                }),
            vec![
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
            "waiting, and the host has no power yet",
            World::in_phase("Waiting", 120).with(|w| w.host["status"]["poweredOn"] = json!(false)),
            vec![
                "Metal3Remediation: record",
                "Metal3Remediation: condition",
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
            "powered on, the Node has the taint, and somebody has removed the finalizer",
            World::in_phase("Waiting", 120)
                .recorded(tainted)
                .with(|w| w.remediation["metadata"]["finalizers"] = json!([]))
                .read(Some(with_taint())),
            vec!["Node: 0 taints", "Metal3Remediation: record", "continues at once"],
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
fn only_our_finalizer_is_added_and_removed() {
    let theirs = "example.com/theirs";
    let written = |world: World| {
        let plan = world.plan();
        let of_us = plan.writes.iter().find_map(|write| match write {
            capm3_engine::Write::Patch { patch, .. } => patch.pointer("/metadata/finalizers").cloned(),
            _ => None,
        });
        of_us.unwrap_or_else(|| panic!("{plan}"))
    };
    let fresh = world().with(|w| w.remediation["metadata"]["finalizers"] = json!([theirs]));
    assert_eq!(written(fresh), json!([theirs, FINALIZER]));
    let back = World::in_phase("Waiting", 120).read(Some(node()));
    let back = back.with(|w| w.remediation["metadata"]["finalizers"] = json!([theirs, FINALIZER]));
    assert_eq!(written(back), json!([theirs]));
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
    let without_node = over(json!(1), 3).with(|w| w.nodes = Nodes::Known(None));
    assert_eq!(
        without_node.steps()[1],
        "Metal3Remediation: phase Running, retries 2",
        "the Node did not come back"
    );
    for (count, limit) in [(json!(1), 1), (json!(5), 1), (Value::Null, 0)] {
        assert_eq!(over(count.clone(), limit).steps(), ["asks for the Machine"], "{count} of {limit}");
    }
    let not_over = over(Value::Null, 1).with(|w| w.second = 599);
    assert!(not_over.steps().pop().unwrap().contains("retries after 1s: CAPM3-W130"));
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
