use std::collections::BTreeMap;

use capm3_engine::manifests::Document;
use serde_json::json;

use super::*;

const HOST: &str = "metal3.io/v1alpha1";
const OURS: &str = "infrastructure.cluster.x-k8s.io/v1beta2";

fn consumer(kind: &str, name: &str, namespace: &str) -> Value {
    let version = if kind == "Cluster" { "cluster.x-k8s.io/v1beta2" } else { OURS };
    json!({"apiVersion": version, "kind": kind, "name": name, "namespace": namespace})
}

/// A host with an image that names machine `m`, changed at some pointers.
fn host(changes: &[(&str, Value)]) -> Value {
    let mut host = json!({"apiVersion": HOST, "kind": "BareMetalHost",
        "metadata": {"name": "h", "namespace": "ns", "resourceVersion": "7", "uid": "u", "finalizers": ["f"], "annotations": {}, "labels": {}},
        "spec": {"online": true, "image": {"url": "http://i"}, "userData": {"name": "u"},
            "consumerRef": consumer("Metal3Machine", "m", "ns")},
        "status": {"provisioning": {"state": "provisioned"}}});
    for (pointer, value) in changes {
        let (parent, member) = pointer.rsplit_once('/').unwrap();
        host.pointer_mut(parent).unwrap()[member.replace("~1", "/")] = value.clone();
    }
    host
}

fn machine(name: &str, metadata: Value, spec: Value) -> Value {
    let mut machine =
        json!({"apiVersion": OURS, "kind": "Metal3Machine", "metadata": metadata, "spec": spec});
    machine["metadata"]["name"] = json!(name);
    machine["metadata"]["namespace"] = json!("ns");
    machine
}

fn site(objects: &[Value]) -> Site {
    let documents: Vec<Document> =
        objects.iter().map(|object| Document::made("test", object.clone())).collect();
    let site = Site::read(&documents, true);
    assert_eq!(site.problems, [], "{objects:?}");
    site
}

fn judged(objects: &[Value]) -> Releasable {
    releasable(&site(objects), &ObjectKey::new("ns", "h")).unwrap()
}

fn recorded() -> Value {
    json!({"annotations": {annotation::HOST: "ns/h"},
        "ownerReferences": [{"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine", "name": "owner", "uid": "1"}]})
}

#[test]
fn only_a_host_whose_machine_is_not_found_and_that_nobody_knows_may_be_released() {
    let paused = ("/metadata/annotations", json!({annotation::HOST_PAUSED: ""}));
    let leaving = json!({"deletionTimestamp": "2026-01-02T03:04:05Z", "finalizers": ["f"],
        "annotations": {annotation::HOST: "ns/h"}});
    let used = json!({"providerID": "metal3://ns/h/other"});
    let elsewhere = consumer("Metal3Machine", "m", "other");
    let table: Vec<(Vec<Value>, &str, &str)> = vec![
        (
            vec![host(&[]), machine("m", recorded(), json!({}))],
            "Metal3Machine ns/m is there and uses the host",
            "kubectl delete machine owner -n ns",
        ),
        (
            vec![host(&[]), machine("m", leaving, json!({}))],
            "it is being deleted and will release the host",
            "capm3 explain metal3machine/m -n ns",
        ),
        (
            vec![host(&[]), machine("m", json!({}), json!({}))],
            "Metal3Machine ns/m, which consumes it, has no record of it",
            "kubectl annotate metal3machine m -n ns metal3.io/BareMetalHost=ns/h",
        ),
        (
            vec![host(&[]), machine("other", json!({}), used)],
            "Metal3Machine other knows the host as its own",
            "capm3 explain metal3machine/other -n ns",
        ),
        (
            vec![host(&[paused])],
            "paused by annotation baremetalhost.metal3.io/paused",
            "kubectl annotate baremetalhost h -n ns baremetalhost.metal3.io/paused-",
        ),
        (
            vec![host(&[("/spec/consumerRef", consumer("Cluster", "c", "ns"))])],
            "reserved for the next machine of an owner in Cluster ns/c",
            "capm3 explain host/h -n ns",
        ),
        (
            vec![host(&[("/spec/consumerRef", consumer("Baker", "b", "ns"))])],
            "consumed by Baker ns/b, which is no Metal3Machine of its namespace",
            "",
        ),
        (
            vec![host(&[("/spec/consumerRef", elsewhere)])],
            "consumed by Metal3Machine other/m, which is no Metal3Machine of its namespace",
            "",
        ),
        (
            vec![host(&[("/spec/consumerRef", Value::Null)])],
            "no consumer, but an image that no machine put there",
            "kubectl patch baremetalhost h -n ns",
        ),
        (
            vec![host(&[("/metadata/deletionTimestamp", json!("2026-01-02T03:04:05Z"))])],
            "the host is being deleted",
            "",
        ),
    ];
    for (objects, expected, command) in table {
        let Releasable::No { why, way_out } = judged(&objects) else { panic!("{expected}") };
        assert!(why.contains(expected), "{why}");
        let commands: Vec<&str> = way_out.iter().filter_map(|advice| advice.command.as_deref()).collect();
        assert!(command.is_empty() || commands.iter().any(|it| it.starts_with(command)), "{commands:?}");
    }
    let Releasable::Yes(release) = judged(&[host(&[])]) else { panic!() };
    assert_eq!((release.machine, release.version.as_deref()), (ObjectKey::new("ns", "m"), Some("7")));
    assert!(!release.is_requested);
}

#[test]
fn a_host_without_consumer_and_image_is_free_and_one_that_is_not_there_is_not_judged() {
    let free = host(&[("/spec/consumerRef", Value::Null), ("/spec/image", Value::Null)]);
    assert_eq!(judged(&[free]), Releasable::IsFree);
    assert_eq!(releasable(&site(&[]), &ObjectKey::new("ns", "h")), None);
}

#[test]
fn where_machines_cannot_be_read_nothing_may_be_released() {
    let unread = BTreeMap::from([("Metal3Machine".to_owned(), "is not served".to_owned())]);
    let site = site(&[host(&[])]).lacking(unread);
    let judged = releasable(&site, &ObjectKey::new("ns", "h")).unwrap();
    let Releasable::Unknown(why) = judged else { panic!("{judged:?}") };
    assert_eq!(
        why,
        "Metal3Machine ns/m, which consumes this host, cannot be read: the kind is not served; \
         cannot check whether the machine is gone"
    );
}

#[test]
fn our_own_pause_after_that_of_its_cluster_does_not_stand_in_the_way() {
    let paused = host(&[
        ("/metadata/annotations", json!({annotation::HOST_PAUSED: annotation::HOST_PAUSED_BY_US})),
        ("/metadata/labels", json!({"cluster.x-k8s.io/cluster-name": "c"})),
    ]);
    let cluster = |paused: bool| {
        json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster",
            "metadata": {"name": "c", "namespace": "ns"}, "spec": {"paused": paused}})
    };
    assert!(matches!(judged(&[paused.clone(), cluster(false)]), Releasable::Yes(_)));
    assert!(matches!(judged(&[paused, cluster(true)]), Releasable::No { .. }));
}

#[test]
fn the_steps_say_what_happens_with_this_very_host() {
    let steps = |changes: &[(&str, Value)], more: &[Value]| {
        let objects: Vec<Value> = [host(changes)].into_iter().chain(more.iter().cloned()).collect();
        match judged(&objects) {
            Releasable::Yes(release) => release.steps,
            other => panic!("{other:?}"),
        }
    };
    let free = "the host is free for any machine";
    assert_eq!(
        steps(&[], &[]),
        [
            "the image is removed from the spec",
            "its references to user data are removed",
            "the host is powered off",
            "its disk is deprovisioned: what is on it is lost",
            free
        ]
    );
    let blank = [
        ("/spec/image", Value::Null),
        ("/spec/userData", Value::Null),
        ("/spec/online", json!(false)),
        ("/status/provisioning/state", json!("available")),
    ];
    assert_eq!(steps(&blank, &[]), ["the host stays powered off", free]);
    let odd = [("/spec/disablePowerOff", json!(true)), ("/spec/automatedCleaningMode", json!("disabled"))];
    let claim = json!({"apiVersion": OURS, "kind": "Metal3DataClaim", "metadata": {"name": "m", "namespace": "ns"},
        "spec": {"template": {"name": "t"}}});
    let text = steps(&odd, &[claim]).join("\n");
    for part in ["stays powered on", "not cleaned", "Metal3DataClaim ns/m is deleted"] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn a_request_that_is_written_already_is_known_by_the_name_of_the_machine() {
    for (value, expected) in [("ns/m", true), ("ns/other", false)] {
        let asked = host(&[("/metadata/annotations", json!({annotation::RELEASE_HOST: value}))]);
        let Releasable::Yes(release) = judged(&[asked]) else { panic!() };
        assert_eq!(release.is_requested, expected, "{value}");
    }
}
