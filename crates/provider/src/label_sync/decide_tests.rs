//! Tables of decisions about the labels of one Node: the rows of the reference about a reconciliation, and ours.

use std::sync::Arc;

use capm3_api::{
    neighbours::{BareMetalHost, Cluster, Machine, Node},
    v1beta2::{Metal3Cluster, Metal3Machine},
};
use capm3_engine::{Memory, Next, Object, ObjectKey, Write};
use serde_json::{Value, json};

use super::*;
use crate::{kinds, plan::End, workload::Workload};

const PREFIXES: &str = "metal3.io/metal3-label-sync-prefixes";

/// The objects of one machine, its host and its cluster.
#[derive(Clone)]
struct World {
    host: Value,
    metal3_machine: Value,
    machine: Value,
    cluster: Value,
    metal3_cluster: Value,
    nodes: fn() -> Option<Nodes>,
    /// The Node as its watch reports it.
    seen: Value,
    /// Which Node was read.
    asked: &'static str,
    whole_node: Option<Option<Value>>,
    in_sync: Option<InSync>,
}

fn node() -> Value {
    json!({"metadata": {"name": "node-0", "uid": "nu", "resourceVersion": "7", "labels": {"kubernetes.io/hostname": "node-0"}}})
}

fn world() -> World {
    let capi = "cluster.x-k8s.io/v1beta2";
    let ours = "infrastructure.cluster.x-k8s.io/v1beta2";
    let owner = json!([{"apiVersion": capi, "kind": "Machine", "name": "m", "uid": "mu"}]);
    let meta = |name: &str| json!({"name": name, "namespace": "ns", "uid": name, "resourceVersion": "1"});
    let mut world = World {
        host: json!({"apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost", "metadata": meta("h"), "spec": {
            "consumerRef": {"apiVersion": ours, "kind": "Metal3Machine", "name": "m3m", "namespace": "ns"}}}),
        metal3_machine: json!({"apiVersion": ours, "kind": "Metal3Machine", "metadata": meta("m3m")}),
        machine: json!({"apiVersion": capi, "kind": "Machine", "metadata": meta("m"),
            "spec": {"clusterName": "c"}, "status": {"nodeRef": {"name": "node-0"}}}),
        cluster: json!({"apiVersion": capi, "kind": "Cluster", "metadata": meta("c"),
            "spec": {"infrastructureRef": {"kind": "Metal3Cluster", "name": "m3c"}}}),
        metal3_cluster: json!({"apiVersion": ours, "kind": "Metal3Cluster", "metadata": meta("m3c")}),
        nodes: || None,
        seen: node(),
        asked: "node-0",
        whole_node: Some(Some(node())),
        in_sync: None,
    };
    world.host["metadata"]["labels"] = json!({"foo/a": "1", "other/b": "2"});
    world.metal3_machine["metadata"]["ownerReferences"] = owner;
    world.metal3_machine["metadata"]["annotations"] = json!({"metal3.io/BareMetalHost": "ns/h"});
    world.metal3_cluster["metadata"]["annotations"] = json!({PREFIXES: "foo"});
    world
}

fn put<K: Object>(memory: &mut Memory, object: &Value) {
    if !object.is_null() {
        memory.put::<K>(serde_json::from_value(object.clone()).unwrap());
    }
}

impl World {
    fn decide(&self) -> Decision {
        let mut memory = kinds::memory();
        put::<BareMetalHost>(&mut memory, &self.host);
        put::<Metal3Machine>(&mut memory, &self.metal3_machine);
        put::<Machine>(&mut memory, &self.machine);
        put::<Cluster>(&mut memory, &self.cluster);
        put::<Metal3Cluster>(&mut memory, &self.metal3_cluster);
        let question = ReadNode { cluster: ObjectKey::new("ns", "c"), node: ObjectKey::new("", self.asked) };
        let answer = self
            .whole_node
            .clone()
            .map(|node| Answer { question, node: node.map(|node| serde_json::from_value(node).unwrap()) });
        let inputs = Inputs {
            workload: &|_| Workload::Unknown,
            answer: answer.as_ref(),
            in_sync: self.in_sync.clone(),
        };
        let mut snapshot = observe(&memory, inputs, &ObjectKey::new("ns", "h")).unwrap();
        let known = serde_json::from_value::<Node>(self.seen.clone()).unwrap();
        snapshot.nodes = (self.nodes)().unwrap_or(Nodes::Known(Some(Arc::new(known))));
        decide(&snapshot)
    }

    /// The patch of the Node, null if there is none, and the wait.
    fn outcome(&self) -> (Value, String) {
        let Next::Act(plan) = self.decide().next else { return (json!("asks"), String::new()) };
        let patches: Vec<Value> = plan
            .writes
            .iter()
            .map(|write| match write {
                Write::Workload { cluster, key, patch, .. } => {
                    assert_eq!(
                        (cluster.to_string(), key.to_string()),
                        ("ns/c".to_owned(), "node-0".to_owned())
                    );
                    patch["metadata"].clone()
                }
                other => panic!("{other} is no write to a workload cluster"),
            })
            .collect();
        assert!(patches.len() <= 1);
        let wait = match plan.end {
            End::WaitFor(wait) => wait.to_string(),
            End::Done => String::new(),
            other => panic!("{other:?}: nothing is polled"),
        };
        (patches.into_iter().next().unwrap_or_default(), wait)
    }
}

fn set(object: &mut Value, pointer: &str, value: Value) {
    let (parent, member) = pointer.rsplit_once('/').unwrap();
    let member = member.replace("~1", "/");
    let parent = object.pointer_mut(parent).unwrap();
    match value.is_null() {
        true => parent.as_object_mut().unwrap().remove(&member).map_or((), drop),
        false => parent[member] = value,
    }
}

/// Each label of a host with a listed prefix reaches its Node, and only that; what is missing on the way from the host to the
/// Node is waited for by its watch, so nothing is polled and nothing that is missing is an error.
#[test]
fn ls129_a_label_reaches_the_node_and_whatever_is_missing_is_waited_for() {
    type Change = fn(&mut World);
    let patch = json!({"resourceVersion": "7", "labels": {"foo/a": "1"}, "annotations": {"capm3.metal3.io/synced-labels": "foo/a"}});
    let nothing = || (Value::Null, "");
    let table: [(&str, Change, (Value, &str)); 23] = [
        ("all is there", |_| {}, (patch.clone(), "")),
        (
            "host paused",
            |w| set(&mut w.host, "/metadata/annotations", json!({"baremetalhost.metal3.io/paused": ""})),
            nothing(),
        ),
        ("no consumer", |w| set(&mut w.host, "/spec/consumerRef", Value::Null), nothing()),
        (
            "another kind and group",
            |w| {
                w.host["spec"]["consumerRef"] =
                    json!({"apiVersion": "v1", "kind": "Foo", "name": "m3m", "namespace": "ns"})
            },
            nothing(),
        ),
        ("another group", |w| w.host["spec"]["consumerRef"]["apiVersion"] = json!("foo/v1beta2"), nothing()),
        (
            "another version of our group",
            |w| {
                w.host["spec"]["consumerRef"]["apiVersion"] = json!("infrastructure.cluster.x-k8s.io/v1beta1")
            },
            (patch.clone(), ""),
        ),
        ("another kind", |w| w.host["spec"]["consumerRef"]["kind"] = json!("Foo"), nothing()),
        (
            "a machine of another namespace",
            |w| w.host["spec"]["consumerRef"]["namespace"] = json!("other"),
            nothing(),
        ),
        ("no Metal3Machine", |w| w.metal3_machine = Value::Null, nothing()),
        (
            "a Metal3Machine that has another host",
            |w| w.metal3_machine["metadata"]["annotations"]["metal3.io/BareMetalHost"] = json!("ns/k"),
            nothing(),
        ),
        (
            "a Metal3Machine whose record names another namespace: its host is in its own",
            |w| w.metal3_machine["metadata"]["annotations"]["metal3.io/BareMetalHost"] = json!("elsewhere/h"),
            (patch, ""),
        ),
        ("no Machine", |w| w.machine = Value::Null, nothing()),
        (
            "no Node yet",
            |w| w.machine["status"] = json!({}),
            (Value::Null, "waiting for Machine m to have a Node, which gets the labels of the host"),
        ),
        ("no Cluster", |w| w.cluster = Value::Null, nothing()),
        ("no Metal3Cluster", |w| w.metal3_cluster = Value::Null, nothing()),
        (
            "another kind of infrastructure, of the same name",
            |w| w.cluster["spec"]["infrastructureRef"]["kind"] = json!("OtherCluster"),
            nothing(),
        ),
        (
            "Cluster paused",
            |w| w.cluster["spec"]["paused"] = json!(true),
            (Value::Null, "Cluster spec.paused is set to true"),
        ),
        (
            "Metal3Cluster paused",
            |w| w.metal3_cluster["metadata"]["annotations"]["cluster.x-k8s.io/paused"] = json!(""),
            (Value::Null, "Metal3Cluster has the cluster.x-k8s.io/paused annotation"),
        ),
        ("no annotations", |w| set(&mut w.metal3_cluster, "/metadata/annotations", Value::Null), nothing()),
        (
            "no annotations, paused",
            |w| {
                w.cluster["spec"]["paused"] = json!(true);
                set(&mut w.metal3_cluster, "/metadata/annotations", Value::Null);
            },
            nothing(),
        ),
        (
            "another annotation",
            |w| w.metal3_cluster["metadata"]["annotations"] = json!({"foo": "bar"}),
            nothing(),
        ),
        (
            "the Node is gone",
            |w| w.whole_node = Some(None),
            (Value::Null, "waiting for Node node-0 of Machine m, which gets the labels of the host"),
        ),
        (
            "the machine goes",
            |w| w.machine["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z"),
            nothing(),
        ),
    ];
    let inputs = Inputs { workload: &|_| Workload::Unknown, answer: None, in_sync: None };
    assert!(observe(&kinds::memory(), inputs, &ObjectKey::new("ns", "h")).is_none(), "no host");
    for (what, change, (patch, wait)) in table {
        let mut world = world();
        change(&mut world);
        assert_eq!(world.outcome(), (patch, wait.to_owned()), "{what}");
    }
}

#[test]
fn ls130_a_list_that_cannot_be_read_changes_nothing_and_is_not_tried_again_by_the_clock() {
    let mut world = world();
    world.metal3_cluster["metadata"]["annotations"] = json!({PREFIXES: "foo,B"});
    let (patch, wait) = world.outcome();
    assert_eq!(patch, Value::Null);
    assert!(
        wait.starts_with("annotation metal3.io/metal3-label-sync-prefixes: invalid prefix (B)"),
        "{wait}"
    );
}

#[test]
fn the_workload_cluster_is_connected_to_only_where_a_node_may_have_labels() {
    let mut world = world();
    world.nodes = || Some(Nodes::NotConnected);
    let cluster = Some(ObjectKey::new("ns", "c"));
    assert_eq!(world.decide().connect, cluster);
    assert_eq!(
        world.outcome(),
        (Value::Null, "waiting for the list of Nodes of workload cluster c".to_owned())
    );
    world.nodes = || Some(Nodes::Unreachable("no route".into()));
    let wait = "waiting for workload cluster c to be reachable: no route".to_owned();
    assert_eq!((world.decide().connect, world.outcome()), (None, (Value::Null, wait)));
    world.nodes = || Some(Nodes::NotConnected);
    set(&mut world.metal3_cluster, "/metadata/annotations", Value::Null);
    assert_eq!(world.decide().connect, None);
    world.metal3_cluster["status"] = json!({"conditions": [{"type": "LabelSyncActive", "status": "False"}]});
    assert_eq!(world.decide().connect, cluster, "it had labels once");
}

#[test]
fn labels_that_were_synced_go_when_nothing_asks_for_them_any_more() {
    let mut world = world();
    world.metal3_cluster["status"] = json!({"conditions": [{"type": "LabelSyncActive", "status": "True"}]});
    set(&mut world.metal3_cluster, "/metadata/annotations", Value::Null);
    let mut node = node();
    node["metadata"]["labels"] = json!({"foo/a": "1", "mine": "2"});
    node["metadata"]["annotations"] = json!({"capm3.metal3.io/synced-labels": "foo/a"});
    world.whole_node = Some(Some(node));
    let patch = json!({"resourceVersion": "7", "labels": {"foo/a": null}, "annotations": {"capm3.metal3.io/synced-labels": null}});
    assert_eq!(world.outcome(), (patch, String::new()));
}

#[test]
fn a_node_with_a_record_is_cleaned_up_though_no_condition_remembers_it() {
    let mut world = world();
    set(&mut world.metal3_cluster, "/metadata/annotations", Value::Null);
    let mut recorded = node();
    recorded["metadata"]["labels"]["foo/a"] = json!("1");
    recorded["metadata"]["annotations"] = json!({"capm3.metal3.io/synced-labels": "foo/a"});
    world.whole_node = Some(Some(recorded.clone()));
    assert_eq!(world.outcome(), (Value::Null, String::new()), "the watch tells of no record");
    world.seen = recorded;
    let patch = json!({"resourceVersion": "7", "labels": {"foo/a": null}, "annotations": {"capm3.metal3.io/synced-labels": null}});
    assert_eq!(world.outcome(), (patch, String::new()));
}

#[test]
fn a_metal3cluster_that_somebody_else_manages_has_its_nodes_labelled() {
    let mut world = world();
    world.metal3_cluster["metadata"]["annotations"]["cluster.x-k8s.io/managed-by"] = json!("x");
    assert_eq!(world.outcome().0["labels"], json!({"foo/a": "1"}));
}

#[test]
fn labels_that_a_node_has_from_its_machine_stay() {
    let mut world = world();
    let mut node = node();
    node["metadata"]["labels"]["foo/a"] = json!("machine");
    node["metadata"]["annotations"] = json!({"cluster.x-k8s.io/labels-from-machine": "foo/a"});
    world.whole_node = Some(Some(node));
    assert_eq!(world.outcome(), (Value::Null, String::new()));
}

#[test]
fn a_node_whose_provider_id_names_another_host_is_left_alone() {
    let table = [
        (json!(null), json!(null), true),
        (json!(""), json!(null), true),
        (json!("metal3://ns/h/m3m"), json!(null), true),
        (json!("metal3://ns/h/former"), json!(null), true),
        (json!("metal3://h"), json!(null), true),
        (json!("metal3://uid-before-a-move"), json!("metal3://uid-before-a-move"), true),
        (json!("metal3://uid-of-another"), json!("metal3://ns/h/m3m"), false),
        (json!("metal3://ns/k/m3m"), json!(null), false),
        (json!("metal3://other/h/m3m"), json!(null), false),
        (json!("cloud://h"), json!(null), false),
    ];
    for (id, own, is_synced) in table {
        let mut world = world();
        world.seen["spec"] = json!({"providerID": id});
        world.metal3_machine["spec"] = json!({"providerID": own});
        let (patch, wait) = world.outcome();
        assert_eq!((patch.is_object(), wait.is_empty()), (is_synced, is_synced), "{id}, own {own}: {wait}");
    }
}

#[test]
fn only_the_node_that_the_machine_names_is_written() {
    let mut world = world();
    world.asked = "node-1";
    for answer in [Some(node()), None] {
        world.whole_node = Some(answer);
        assert_eq!(world.outcome().0, "asks", "another Node was read");
    }
}

/// A Node that was in sync before a pause need not be read after it, and one that changed meanwhile is.
#[test]
fn what_is_known_of_a_node_is_kept_while_something_is_waited_for() {
    type Change = fn(&mut World);
    let table: [(&str, Change); 5] = [
        ("Cluster paused", |w| w.cluster["spec"]["paused"] = json!(true)),
        ("host paused", |w| {
            w.host["metadata"]["annotations"] = json!({"baremetalhost.metal3.io/paused": ""});
        }),
        ("list not valid", |w| w.metal3_cluster["metadata"]["annotations"] = json!({PREFIXES: "B"})),
        ("unreachable", |w| w.nodes = || Some(Nodes::Unreachable("no route".into()))),
        ("no Node", |w| w.nodes = || Some(Nodes::Known(None))),
    ];
    for (what, change) in table {
        let mut world = world();
        world.host["metadata"]["labels"] = json!({});
        let known = world.decide().in_sync;
        assert!(known.is_some());
        world.in_sync = known.clone();
        world.whole_node = None;
        change(&mut world);
        let waiting = world.decide();
        assert_eq!((waiting.in_sync, world.outcome().0), (known, Value::Null), "{what}");
    }
}

#[test]
fn a_node_is_read_once_and_again_only_after_it_or_what_is_desired_has_changed() {
    let mut world = world();
    world.host["metadata"]["labels"] = json!({});
    world.whole_node = None;
    assert_eq!(world.outcome().0, "asks");
    world.whole_node = Some(Some(node()));
    let known = world.decide().in_sync;
    assert!(known.is_some());
    world.whole_node = None;
    world.in_sync = known.clone();
    assert_eq!(world.outcome(), (Value::Null, String::new()), "nothing has changed");
    assert_eq!(world.decide().in_sync, known);
    world.host["metadata"]["labels"] = json!({"foo/a": "1"});
    assert_eq!(world.outcome().0, "asks", "the desired has changed");
    world.host["metadata"]["labels"] = json!({});
    world.in_sync = known.clone().map(|known| InSync { digest: 1, ..known });
    assert_eq!(world.outcome().0, "asks", "the Node has changed");
    world.in_sync = known.map(|known| InSync { uid: "former".into(), ..known });
    assert_eq!(world.outcome().0, "asks", "another Node has its name");
}
