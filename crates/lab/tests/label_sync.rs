//! Labels of hosts on the Nodes of workload clusters, end to end.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may panic")]

mod common;

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use capm3_engine::ObjectKey;
use capm3_lab::{
    Lab, Options,
    faults::{Call, Fault, Faults, Refusal},
    fleet::fleet,
    manifests::Manifest,
};
use common::{hosts::*, *};
use serde_json::{Value, json};
use tokio::time::Instant;

const PREFIXES: &str = "metal3.io/metal3-label-sync-prefixes";
const DEFAULTS: &str = "metal3.io/metal3-label-sync-defaults";
const RECORD: &str = "/metadata/annotations/capm3.metal3.io~1synced-labels";

/// The example with one machine, whose Metal3Cluster has these annotations.
fn one(annotations: Value) -> Vec<Manifest> {
    let mut manifests = control_plane(1);
    let patch = json!({"metadata": {"annotations": annotations}});
    change(&mut manifests, "Metal3Cluster", "my-cluster", &patch);
    manifests
}

/// The host on which the only machine runs.
fn the_host(lab: &Lab) -> String {
    let all = lab.objects("Metal3Machine");
    assert_eq!(all.len(), 1, "one machine");
    host_of(&all[0])
}

fn nodes(lab: &Lab, cluster: &str) -> Vec<Arc<Value>> {
    let mut nodes = lab.server().objects(Some(cluster));
    nodes.retain(|object| object["kind"] == "Node");
    nodes
}

/// The only Node.
fn node(lab: &Lab) -> Arc<Value> {
    let nodes = nodes(lab, "metal3/my-cluster");
    assert_eq!(nodes.len(), 1, "one Node");
    Arc::clone(&nodes[0])
}

/// Labels of the Node with one of these prefixes.
fn labels(lab: &Lab, prefixes: &[&str]) -> BTreeMap<String, String> {
    let node = node(lab);
    let all = node.pointer("/metadata/labels").and_then(Value::as_object).cloned().unwrap_or_default();
    let is_it = |key: &str| key.split_once('/').is_some_and(|(prefix, _)| prefixes.contains(&prefix));
    all.into_iter()
        .filter(|(key, _)| is_it(key))
        .map(|(key, value)| (key, value.as_str().unwrap().into()))
        .collect()
}

fn pairs(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

async fn label_host(lab: &Lab, labels: Value) {
    patch_host(lab, &the_host(lab), json!({"metadata": {"labels": labels}})).await;
}

async fn patch_node(lab: &Lab, change: Value) {
    let workload = lab.client().below("/clusters/metal3/my-cluster");
    let key = ObjectKey::new("", name(&node(lab)));
    workload.merge_patch(&resource("v1", "Node"), &key, None, &change).await.unwrap();
}

async fn annotate_cluster(lab: &Lab, annotations: Value) {
    let change = json!({"metadata": {"annotations": annotations}});
    lab.patch(&metal3("Metal3Cluster"), &key("my-cluster"), &change).await.unwrap();
}

/// Labels with listed prefixes go from host to Node; changed or vanished ones are corrected, others untouched. The reference
/// needs up to 60 seconds for it, and writes the Node as often although nothing has changed.
#[tokio::test(start_paused = true)]
async fn ls129_labels_with_a_listed_prefix_follow_the_host_at_once_and_a_node_at_rest_is_not_written() {
    let (lab, writes) = Writes::lab().await;
    lab.apply(&one(json!({PREFIXES: "foo.example.com, bar"}))).await.unwrap();
    rest(&lab).await;
    const BOTH: &[&str] = &["foo.example.com", "bar", "baz"];
    let began = Instant::now();
    label_host(&lab, json!({"foo.example.com/rack": "r1", "bar/size": "big", "baz/other": "x"})).await;
    rest(&lab).await;
    assert_eq!(labels(&lab, BOTH), pairs(&[("bar/size", "big"), ("foo.example.com/rack", "r1")]));
    assert_eq!(text(&node(&lab), RECORD), "bar/size,foo.example.com/rack");

    label_host(&lab, json!({"foo.example.com/rack": "r2", "bar/size": null})).await;
    rest(&lab).await;
    assert_eq!(labels(&lab, BOTH), pairs(&[("foo.example.com/rack", "r2")]));

    // What somebody does to the Node: under a listed prefix it is undone, elsewhere it stays.
    patch_node(&lab, json!({"metadata": {"labels": {"foo.example.com/rack": "wrong", "bar/stale": "s", "baz/theirs": "t"}}})).await;
    rest(&lab).await;
    assert_eq!(labels(&lab, BOTH), pairs(&[("baz/theirs", "t"), ("foo.example.com/rack", "r2")]));
    assert!(began.elapsed() < Duration::from_secs(30), "woken, not polled: {:?}", began.elapsed());

    writes.clear();
    label_host(&lab, json!({"baz/other": "y"})).await;
    tokio::time::sleep(Duration::from_secs(600)).await;
    assert_eq!(writes.of_provider("/nodes").len(), 0);

    // A restarted provider reads the Node and finds nothing to write.
    let mut lab = lab;
    lab.stop_providers();
    lab.start_provider();
    rest(&lab).await;
    assert_eq!(writes.of_provider("/nodes").len(), 0);
    label_host(&lab, json!({"foo.example.com/rack": "r3"})).await;
    rest(&lab).await;
    assert_eq!(writes.of_provider("/nodes").len(), 1);
    assert_eq!(labels(&lab, BOTH), pairs(&[("baz/theirs", "t"), ("foo.example.com/rack", "r3")]));
}

/// Cluster API writes back at once what somebody changes of the labels that it manages.
#[tokio::test(start_paused = true)]
async fn a_prefix_of_cluster_api_on_the_list_takes_no_role_off_and_starts_no_write_war() {
    const ROLE: &[&str] = &["node-role.kubernetes.io", "foo"];
    let (lab, writes) = Writes::lab().await;
    lab.apply(&one(json!({PREFIXES: "foo,node-role.kubernetes.io"}))).await.unwrap();
    rest(&lab).await;
    label_host(&lab, json!({"foo/a": "1", "node-role.kubernetes.io/storage": "", "foo/c": "host"})).await;
    rest(&lab).await;
    let role = ("node-role.kubernetes.io/control-plane", "");
    assert_eq!(labels(&lab, ROLE), pairs(&[("foo/a", "1"), ("foo/c", "host"), role]));

    // From now on Cluster API keeps this label as the Machine has it.
    let from_machine = json!({"cluster.x-k8s.io/labels-from-machine": "foo/c"});
    patch_node(&lab, json!({"metadata": {"labels": {"foo/c": "machine"}, "annotations": from_machine}}))
        .await;
    rest(&lab).await;
    assert_eq!(labels(&lab, ROLE), pairs(&[("foo/a", "1"), ("foo/c", "machine"), role]));
    assert_eq!(text(&node(&lab), RECORD), "foo/a");
    writes.clear();
    tokio::time::sleep(Duration::from_secs(600)).await;
    assert_eq!(writes.of_provider("/nodes").len(), 0);
}

/// The condition is lost with the status, as in a move, and it is never written while somebody else manages the Metal3Cluster.
#[tokio::test(start_paused = true)]
async fn labels_go_with_the_annotation_though_no_condition_remembers_them() {
    const ALL: &[&str] = &["foo"];
    let lab = settled(&one(json!({PREFIXES: "foo"}))).await;
    annotate_cluster(&lab, json!({"cluster.x-k8s.io/managed-by": "somebody"})).await;
    rest(&lab).await;
    let forget = json!({"status": {"conditions": null}});
    let kind = metal3("Metal3Cluster");
    lab.client().merge_patch(&kind, &key("my-cluster"), Some("status"), &forget).await.unwrap();
    rest(&lab).await;
    label_host(&lab, json!({"foo/a": "1"})).await;
    rest(&lab).await;
    assert_eq!(labels(&lab, ALL), pairs(&[("foo/a", "1")]), "managed by somebody else, and labelled");
    annotate_cluster(&lab, json!({PREFIXES: null})).await;
    rest(&lab).await;
    assert_eq!((labels(&lab, ALL), text(&node(&lab), RECORD)), (pairs(&[]), String::new()));
    let cluster = get(&lab, "Metal3Cluster", "my-cluster");
    assert!(cluster.pointer("/status/conditions").is_none(), "{cluster}");
}

/// Two Machines that name one Node would undo each other's labels for ever.
#[tokio::test(start_paused = true)]
async fn a_node_that_is_on_another_host_gets_no_labels() {
    let lab = settled(&one(json!({PREFIXES: "foo"}))).await;
    let id = text(&node(&lab), "/spec/providerID");
    assert!(id.contains(&format!("/{}/", the_host(&lab))), "{id}");
    patch_node(&lab, json!({"spec": {"providerID": "metal3://metal3/another/m"}})).await;
    label_host(&lab, json!({"foo/a": "1"})).await;
    rest(&lab).await;
    assert_eq!(labels(&lab, &["foo"]), pairs(&[]));
    patch_node(&lab, json!({"spec": {"providerID": id}})).await;
    rest(&lab).await;
    assert_eq!(labels(&lab, &["foo"]), pairs(&[("foo/a", "1")]));
}

/// The prefix list stands in an annotation of the Metal3Cluster and is validated as DNS subdomains; paused objects are skipped.
/// What the reference never cleans up goes with its prefix, and a list that it retries forever is reported once.
#[tokio::test(start_paused = true)]
async fn ls130_the_list_of_the_metal3cluster_rules_and_what_it_no_longer_names_is_removed() {
    const ALL: &[&str] = &["foo", "bar"];
    let (lab, writes) = Writes::lab().await;
    lab.apply(&one(json!({PREFIXES: "foo,bar"}))).await.unwrap();
    rest(&lab).await;
    label_host(&lab, json!({"foo/a": "1", "bar/b": "2"})).await;
    rest(&lab).await;
    assert_eq!(labels(&lab, ALL), pairs(&[("bar/b", "2"), ("foo/a", "1")]));
    let printed = |lab: &Lab| condition(&get(lab, "Metal3Cluster", "my-cluster"), "LabelSyncActive");
    assert_eq!(printed(&lab), ("True".into(), "Active".into()));

    annotate_cluster(&lab, json!({PREFIXES: "foo"})).await;
    rest(&lab).await;
    assert_eq!(labels(&lab, ALL), pairs(&[("foo/a", "1")]), "a prefix that is not listed any more");

    // A list that cannot be read: reported once, nothing is changed, nothing is tried again.
    annotate_cluster(&lab, json!({PREFIXES: "foo,b&r"})).await;
    rest(&lab).await;
    assert_eq!(printed(&lab), ("False".into(), "InvalidAnnotation".into()));
    let reported = events(&lab, "LabelSyncInvalid");
    assert!(
        reported.len() == 1
            && reported[0].starts_with("my-cluster: ")
            && reported[0].contains("invalid prefix (b&r)"),
        "{reported:?}"
    );
    writes.clear();
    label_host(&lab, json!({"foo/a": "3"})).await;
    tokio::time::sleep(Duration::from_secs(600)).await;
    assert_eq!(labels(&lab, ALL), pairs(&[("foo/a", "1")]));
    assert_eq!((writes.of_provider("/nodes").len(), writes.of_provider("/events").len()), (0, 0));

    // Paused: whatever changes is caught up with afterwards.
    annotate_cluster(&lab, json!({PREFIXES: "foo"})).await;
    rest(&lab).await;
    assert_eq!(labels(&lab, ALL), pairs(&[("foo/a", "3")]));
    pause_cluster(&lab, true).await;
    rest(&lab).await;
    label_host(&lab, json!({"foo/a": "4"})).await;
    tokio::time::sleep(Duration::from_secs(120)).await;
    assert_eq!(labels(&lab, ALL), pairs(&[("foo/a", "3")]));
    pause_cluster(&lab, false).await;
    rest(&lab).await;
    assert_eq!(labels(&lab, ALL), pairs(&[("foo/a", "4")]));
    let pause_host = async |value: Value| {
        let annotations = json!({"baremetalhost.metal3.io/paused": value});
        patch_host(&lab, &the_host(&lab), json!({"metadata": {"annotations": annotations}})).await;
        rest(&lab).await;
    };
    pause_host(json!("somebody")).await;
    label_host(&lab, json!({"foo/a": "5"})).await;
    tokio::time::sleep(Duration::from_secs(120)).await;
    assert_eq!(labels(&lab, ALL), pairs(&[("foo/a", "4")]));
    pause_host(Value::Null).await;
    assert_eq!(labels(&lab, ALL), pairs(&[("foo/a", "5")]));

    // The annotation goes while nobody looks: the labels go after a restart, and nothing is left behind.
    let mut lab = lab;
    lab.stop_providers();
    annotate_cluster(&lab, json!({PREFIXES: null})).await;
    lab.start_provider();
    rest(&lab).await;
    assert_eq!((labels(&lab, ALL), text(&node(&lab), RECORD)), (pairs(&[]), String::new()));
    assert_eq!(printed(&lab), ("False".into(), "NotRequested".into()));
}

/// With the default `topology` each Node gets the failure domain of its host as its zone; a zone that somebody else set stays.
#[tokio::test(start_paused = true)]
async fn the_zone_of_a_node_is_the_failure_domain_of_its_host_if_that_is_asked_for() {
    const ZONE: &str = "/metadata/labels/topology.kubernetes.io~1zone";
    let lab = settled(&three_racks()).await;
    let all = nodes(&lab, "metal3/my-cluster");
    assert_eq!(all.len(), 6);
    let (theirs, key) = (name(&all[0]), ObjectKey::new("", name(&all[0])));
    let zone = json!({"metadata": {"labels": {"topology.kubernetes.io/zone": "cloud"}}});
    let workload = lab.client().below("/clusters/metal3/my-cluster");
    workload.merge_patch(&resource("v1", "Node"), &key, None, &zone).await.unwrap();
    annotate_cluster(&lab, json!({DEFAULTS: "topology"})).await;
    rest(&lab).await;
    let mut compared = 0;
    for node in nodes(&lab, "metal3/my-cluster") {
        let id = text(&node, "/spec/providerID");
        let host = id.trim_start_matches("metal3://").split('/').nth(1).unwrap_or_default();
        let domain = text(&get(&lab, "BareMetalHost", host), DOMAIN);
        assert!(domain.starts_with("rack"), "{domain}");
        let expected = if name(&node) == theirs { "cloud" } else { &domain };
        assert_eq!(text(&node, ZONE), expected, "{id}");
        compared += 1;
    }
    assert_eq!(compared, 6);
    annotate_cluster(&lab, json!({DEFAULTS: null})).await;
    rest(&lab).await;
    let mut left = nodes(&lab, "metal3/my-cluster");
    left.retain(|node| node.pointer(ZONE).is_some());
    let left: Vec<String> = left.iter().map(|node| name(node)).collect();
    assert_eq!(left, [theirs]);
}

/// A workload API that answers nothing while it is dead.
struct Dead(AtomicBool);

impl Faults for Dead {
    fn apply_fault(&self, call: &Call) -> Fault {
        match call.path.contains("/clusters/") && self.0.load(Ordering::SeqCst) {
            true => Fault::NeverAsked,
            false => Fault::None,
        }
    }
}

#[tokio::test(start_paused = true)]
async fn labels_that_change_while_the_workload_api_is_dead_are_caught_up_with() {
    let dead = Arc::new(Dead(AtomicBool::new(false)));
    let options = Options { faults: Arc::clone(&dead) as Arc<dyn Faults>, ..Options::default() };
    let lab = Lab::start(&options).await.unwrap();
    lab.apply(&one(json!({PREFIXES: "foo"}))).await.unwrap();
    rest(&lab).await;
    dead.0.store(true, Ordering::SeqCst);
    label_host(&lab, json!({"foo/a": "1"})).await;
    tokio::time::sleep(Duration::from_secs(300)).await;
    assert_eq!(labels(&lab, &["foo"]), pairs(&[]));
    dead.0.store(false, Ordering::SeqCst);
    tokio::time::sleep(Duration::from_secs(120)).await;
    rest(&lab).await;
    assert_eq!(labels(&lab, &["foo"]), pairs(&[("foo/a", "1")]));

    dead.0.store(true, Ordering::SeqCst);
    annotate_cluster(&lab, json!({PREFIXES: null})).await;
    tokio::time::sleep(Duration::from_secs(300)).await;
    assert_eq!(labels(&lab, &["foo"]), pairs(&[("foo/a", "1")]));
    dead.0.store(false, Ordering::SeqCst);
    tokio::time::sleep(Duration::from_secs(120)).await;
    rest(&lab).await;
    assert_eq!((labels(&lab, &["foo"]), text(&node(&lab), RECORD)), (pairs(&[]), String::new()));
}

/// Refuses the next patch of a Node as one of an outdated version.
struct ConflictOnce(AtomicBool);

impl Faults for ConflictOnce {
    fn apply_fault(&self, call: &Call) -> Fault {
        let is_patch = call.method == "PATCH" && call.path.contains("/nodes/");
        match is_patch && self.0.swap(false, Ordering::SeqCst) {
            true => Fault::Refused(Refusal::Conflict),
            false => Fault::None,
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_node_that_changed_while_it_was_read_is_read_again_soon() {
    let conflict = Arc::new(ConflictOnce(AtomicBool::new(false)));
    let options = Options { faults: Arc::clone(&conflict) as Arc<dyn Faults>, ..Options::default() };
    let lab = Lab::start(&options).await.unwrap();
    lab.apply(&one(json!({PREFIXES: "foo"}))).await.unwrap();
    rest(&lab).await;
    conflict.0.store(true, Ordering::SeqCst);
    label_host(&lab, json!({"foo/a": "1"})).await;
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert!(!conflict.0.load(Ordering::SeqCst), "no patch was refused");
    assert_eq!(labels(&lab, &["foo"]), pairs(&[("foo/a", "1")]));
}

/// 200 hosts, 20 prefixes, ten changes a second for a minute: no change costs more than one write, and at rest there is none.
#[tokio::test(start_paused = true)]
async fn each_change_of_a_label_is_at_most_one_write_of_a_node() {
    let (lab, writes) = Writes::lab().await;
    let mut manifests = fleet(200);
    let prefixes: Vec<String> = (0..20).map(|n| format!("p{n}.example.com")).collect();
    let cluster = manifests.iter().find(|m| m.kind() == "Metal3Cluster").unwrap().key().name;
    let patch = json!({"metadata": {"annotations": {PREFIXES: prefixes.join(",")}}});
    change(&mut manifests, "Metal3Cluster", &cluster, &patch);
    lab.apply(&manifests).await.unwrap();
    rest(&lab).await;
    let hosts: Vec<String> = lab.objects("Metal3Machine").iter().map(|machine| host_of(machine)).collect();
    assert!(hosts.len() >= 200, "{}", hosts.len());
    writes.clear();
    for step in 0..600_usize {
        let labels = json!({format!("{}/k", prefixes[step % 20]): format!("v{step}")});
        let host = ObjectKey::new("fleet", &hosts[step % hosts.len()]);
        let kind = resource("metal3.io/v1alpha1", "BareMetalHost");
        lab.patch(&kind, &host, &json!({"metadata": {"labels": labels}})).await.unwrap();
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    rest(&lab).await;
    let written = writes.of_provider("/nodes").len();
    assert_eq!(written, 600, "one write a change");
    assert_eq!(assert_nodes_have_labels_of_hosts(&lab, &prefixes), hosts.len());
    writes.clear();
    tokio::time::sleep(Duration::from_secs(600)).await;
    let at_rest = writes.of_provider("/nodes").len();
    println!(
        "{} hosts, {} prefixes, 600 changes in 60 s: {written} writes of Nodes; {at_rest} in 600 s at rest",
        hosts.len(),
        prefixes.len()
    );
    assert_eq!(at_rest, 0);

    let many: serde_json::Map<String, Value> =
        prefixes.iter().map(|prefix| (format!("{prefix}/k"), json!("all"))).collect();
    let kind = resource("metal3.io/v1alpha1", "BareMetalHost");
    let host = ObjectKey::new("fleet", &hosts[0]);
    lab.patch(&kind, &host, &json!({"metadata": {"labels": many}})).await.unwrap();
    rest(&lab).await;
    assert_eq!(writes.of_provider("/nodes").len(), 1, "labels that change together are written together");
    assert_nodes_have_labels_of_hosts(&lab, &prefixes);
}

/// Compares each Node of the fleet with its host; gives how many there are.
fn assert_nodes_have_labels_of_hosts(lab: &Lab, prefixes: &[String]) -> usize {
    let listed = |object: &Value| -> BTreeMap<String, Value> {
        let labels =
            object.pointer("/metadata/labels").and_then(Value::as_object).cloned().unwrap_or_default();
        let is_listed = |key: &str| prefixes.iter().any(|prefix| key.starts_with(&format!("{prefix}/")));
        labels.into_iter().filter(|(key, _)| is_listed(key)).collect()
    };
    let hosts: BTreeMap<String, Arc<Value>> =
        lab.objects("BareMetalHost").into_iter().map(|host| (name(&host), host)).collect();
    let nodes = nodes(lab, "fleet/fleet");
    for node in &nodes {
        let id = text(node, "/spec/providerID");
        let host = &hosts[id.trim_start_matches("metal3://").split('/').nth(1).unwrap()];
        let expected = listed(host);
        assert!(!expected.is_empty(), "{id} has no labels to compare");
        assert_eq!(listed(node), expected, "{id}");
    }
    nodes.len()
}
