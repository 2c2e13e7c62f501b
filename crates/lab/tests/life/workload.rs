//! Workload clusters that come late, move, or do not answer.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use base64::{Engine, prelude::BASE64_STANDARD};
use capm3_engine::ObjectKey;
use capm3_lab::{
    Lab, Options,
    faults::{Call, Fault, Faults},
    fleet::fleet,
    manifests::Manifest,
};
use serde_json::{Value, json};

use crate::{
    common::{hosts::*, *},
    seed::seed,
};

/// The example with one machine of the control plane, whose kubeconfig leads nowhere until it is fixed.
async fn unreachable() -> (capm3_lab::Lab, String) {
    let mut manifests = control_plane(1);
    let broken =
        "apiVersion: v1\nkind: Config\nclusters:\n- name: x\n  cluster: {server: 'https://192.0.2.1'}\n";
    let secret = format!(
        "apiVersion: v1\nkind: Secret\nmetadata: {{name: my-cluster-kubeconfig, namespace: metal3}}\ndata: {{value: {}}}\n",
        BASE64_STANDARD.encode(broken)
    );
    manifests.extend(yaml(&secret));
    let lab = settled(&manifests).await;
    let machine = name(&machines(&lab, "my-cluster-cp")[0]);
    (lab, machine)
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_cannot_be_reached_is_reported_with_its_cause_and_reached_when_the_kubeconfig_is_mended()
 {
    let (lab, machine) = unreachable().await;
    let printed = get(&lab, "Metal3Machine", &machine).pointer("/status/conditions").unwrap().to_string();
    assert!(printed.contains("waiting for workload cluster my-cluster to be reachable"), "{printed}");
    assert!(printed.contains("192.0.2.1"), "{printed}");
    let good = "apiVersion: v1\nkind: Config\nclusters:\n- name: x\n  cluster: {server: 'https://embedded.invalid/clusters/metal3/my-cluster'}\n";
    let before = tokio::time::Instant::now();
    patch(
        &lab,
        "v1",
        "Secret",
        "my-cluster-kubeconfig",
        json!({"data": {"value": BASE64_STANDARD.encode(good)}}),
    )
    .await;
    rest(&lab).await;
    assert!(before.elapsed().as_secs() < 5, "woken, not polled");
    assert!(text(&get(&lab, "Metal3Machine", &machine), "/spec/providerID").starts_with("metal3://metal3/"));
}

/// A kubeconfig that cannot be read is never quoted: everybody who may read machines would read its credentials.
#[tokio::test(start_paused = true)]
async fn a_broken_kubeconfig_is_named_and_not_quoted() {
    let (lab, machine) = unreachable().await;
    let broken =
        "clusters:\n- name: x\n  cluster:\n    server: https://192.0.2.1\n   token: never-print-me\n";
    let value = json!({"data": {"value": BASE64_STANDARD.encode(broken)}});
    patch(&lab, "v1", "Secret", "my-cluster-kubeconfig", value).await;
    rest(&lab).await;
    let printed = get(&lab, "Metal3Machine", &machine).to_string();
    assert!(printed.contains("Secret metal3/my-cluster-kubeconfig: "), "{printed}");
    assert!(!printed.contains("never-print-me"), "{printed}");
}

#[tokio::test(start_paused = true)]
async fn a_kubeconfig_that_is_made_again_leads_to_the_cluster_at_once() {
    let (lab, machine) = unreachable().await;
    let before = tokio::time::Instant::now();
    // The control plane makes the Secret again when it looks next.
    delete(&lab, "v1", "Secret", "my-cluster-kubeconfig").await;
    rest(&lab).await;
    assert_eq!(condition(&get(&lab, "Metal3Machine", &machine), "Ready").0, "True");
    assert!(before.elapsed().as_secs() < 5, "woken, not polled");
}

/// A Cluster of the same name that comes after the first is connected to again.
#[tokio::test(start_paused = true)]
async fn another_cluster_of_the_same_name_is_connected_to_again() {
    let lab = settled(&control_plane(1)).await;
    let first = text(&lab.objects("Metal3Machine")[0], "/spec/providerID");
    delete_cluster(&lab).await;
    rest(&lab).await;
    lab.apply(&control_plane(1)).await.unwrap();
    rest(&lab).await;
    let machine = lab.objects("Metal3Machine")[0].clone();
    let second = text(&machine, "/spec/providerID");
    assert!(second.starts_with("metal3://metal3/") && second != first, "{second}");
    assert_eq!(condition(&machine, "Ready").0, "True");
}

/// Workload APIs below a path that take calls and never answer, until they come back to life.
struct Dead {
    path: &'static str,
    /// Whether reads are answered anyway.
    answers_reads: bool,
    is_dead: AtomicBool,
    asked: AtomicUsize,
}

impl Dead {
    fn new(path: &'static str, answers_reads: bool) -> Arc<Self> {
        Arc::new(Self { path, answers_reads, is_dead: AtomicBool::new(true), asked: AtomicUsize::new(0) })
    }

    async fn lab(self: &Arc<Self>) -> Lab {
        // One worker: whatever waits for the dead cluster would stand in everybody's way.
        let options =
            Options { workers: 1, faults: Arc::clone(self) as Arc<dyn Faults>, ..Options::default() };
        Lab::start(&options).await.unwrap()
    }
}

impl Faults for Dead {
    fn apply_fault(&self, call: &Call) -> Fault {
        let is_meant = call.path.contains(self.path) && (call.is_write() || !self.answers_reads);
        if !is_meant || !self.is_dead.load(Ordering::SeqCst) {
            return Fault::None;
        }
        self.asked.fetch_add(1, Ordering::SeqCst);
        Fault::NeverAsked
    }
}

fn ready(lab: &Lab, namespace: &str) -> usize {
    let all = lab.objects("Metal3Machine");
    let here = all.iter().filter(|m| text(m, "/metadata/namespace") == namespace);
    here.filter(|m| condition(m, "Ready").0 == "True").count()
}

#[tokio::test(start_paused = true)]
async fn a_workload_cluster_that_never_answers_holds_up_no_other_cluster() {
    let dead = Dead::new("/clusters/fleet/", false);
    let lab = dead.lab().await;
    lab.apply(&fleet(3)).await.unwrap();
    lab.apply(&three_racks()).await.unwrap();
    lab.settle(Duration::from_secs(20)).await;
    assert_eq!((ready(&lab, "fleet"), ready(&lab, "metal3")), (0, 6), "the living one is up");
    tokio::time::sleep(Duration::from_secs(300)).await;
    let machine = &lab.objects("Metal3Machine")[0];
    let printed = machine.pointer("/status/conditions").unwrap().to_string();
    assert!(printed.contains("waiting for workload cluster fleet to be reachable"), "{printed}");
    assert!(dead.asked.load(Ordering::SeqCst) < 40, "it is tried again now and then, not all the time");
    dead.is_dead.store(false, Ordering::SeqCst);
    // It is tried again by itself before long.
    tokio::time::sleep(Duration::from_secs(60)).await;
    rest(&lab).await;
    assert_eq!(ready(&lab, "fleet"), 4, "and it goes on by itself");
}

#[tokio::test(start_paused = true)]
async fn nodes_that_cannot_be_written_hold_up_no_other_cluster_and_are_not_tried_one_by_one() {
    let dead = Dead::new("/clusters/metal3/", true);
    let lab = dead.lab().await;
    lab.apply(&seed()).await.unwrap();
    tokio::time::sleep(Duration::from_secs(120)).await;
    assert_eq!(ready(&lab, "metal3"), 0);
    assert!(dead.asked.load(Ordering::SeqCst) >= 1, "somebody tried");
    let before = tokio::time::Instant::now();
    lab.apply(&fleet(3)).await.unwrap();
    while ready(&lab, "fleet") < 4 {
        assert!(before.elapsed() < Duration::from_secs(60), "the dead cluster holds up the living one");
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    tokio::time::sleep(Duration::from_secs(600)).await;
    let asked = dead.asked.load(Ordering::SeqCst);
    assert!(asked <= 45, "{asked} writes to a cluster that answers none");
    dead.is_dead.store(false, Ordering::SeqCst);
    // It is tried again by itself before long.
    tokio::time::sleep(Duration::from_secs(60)).await;
    rest(&lab).await;
    assert_eq!(ready(&lab, "metal3"), 4, "and it goes on by itself");
}

/// One Node that is larger than an API server would store: the machines say which limit is exceeded, and go on once it is
/// gone.
#[tokio::test(start_paused = true)]
async fn a_cluster_that_exceeds_a_limit_is_reported_with_the_limit_and_tried_again() {
    let lab = settled(&control_plane(1)).await;
    let machine = name(&machines(&lab, "my-cluster-cp")[0]);
    let workload = lab.client().below("/clusters/metal3/my-cluster");
    let node =
        Manifest { file: String::new(), object: json!({"apiVersion": "v1", "kind": "Node"}) }.resource();
    let huge = json!({"metadata": {"name": "huge"}, "spec": {"externalID": "x".repeat(5 << 19)}});
    workload.create(&node, "", huge).await.unwrap();
    // As after a move: the Node has to be found again.
    let wiped = json!({"status": {"initialization": null}});
    lab.client().merge_patch(&metal3("Metal3Machine"), &key(&machine), Some("status"), &wiped).await.unwrap();
    rest(&lab).await;
    let printed = get(&lab, "Metal3Machine", &machine).pointer("/status/conditions").unwrap().to_string();
    assert!(printed.contains("waiting for workload cluster my-cluster to be reachable"), "{printed}");
    assert!(
        printed.contains("exceeds a limit: one object of the list has more than 2097152 bytes"),
        "{printed}"
    );
    let asked = || lab.connections().len();
    let before = asked();
    tokio::time::sleep(Duration::from_secs(3600)).await;
    let again = asked() - before;
    assert!((4..=10).contains(&again), "{again} times in an hour: now and then");

    workload.delete(&node, &ObjectKey::new("", "huge"), None).await.unwrap();
    tokio::time::sleep(Duration::from_secs(600)).await;
    rest(&lab).await;
    assert_eq!(condition(&get(&lab, "Metal3Machine", &machine), "Ready").0, "True");
}

/// Name and provider ID of the Node with a uuid label.
fn node_of(lab: &Lab, host_uid: &str) -> (String, String) {
    let nodes = lab.server().objects(Some("metal3/my-cluster"));
    let is_it = |n: &&Arc<Value>| text(n, "/metadata/labels/metal3.io~1uuid") == host_uid;
    let node = nodes.iter().find(is_it).unwrap_or_else(|| panic!("no Node of host {host_uid}"));
    (name(node), text(node, "/spec/providerID"))
}

/// A machine and a Node from an old release carry `metal3://<uid of the host>`: it is taken for what it is and never written over,
/// while new machines get the long form.
#[tokio::test(start_paused = true)]
async fn s29_an_older_provider_id_stays_and_new_machines_get_the_long_form() {
    let (mut lab, writes) = Writes::lab().await;
    lab.apply(&seed()).await.unwrap();
    rest(&lab).await;
    lab.stop_providers();
    let machine = machines(&lab, "md-0")[0].clone();
    let uid = text(&host(&lab, &machine), "/metadata/uid");
    let (old, older) = (name(&machine), format!("metal3://{uid}"));
    let id = json!({"spec": {"providerID": older}});
    let node = Manifest { file: String::new(), object: json!({"apiVersion": "v1", "kind": "Node"}) };
    let node_key = ObjectKey::new("", node_of(&lab, &uid).0);
    let workload = lab.client().below("/clusters/metal3/my-cluster");
    workload.merge_patch(&node.resource(), &node_key, None, &id).await.unwrap();
    patch_machine(&lab, &old, id).await;
    rest(&lab).await;
    // As after a move: the Node has to be found again, and by what it carries.
    let wiped = json!({"status": {"initialization": null}});
    lab.client().merge_patch(&metal3("Metal3Machine"), &key(&old), Some("status"), &wiped).await.unwrap();
    writes.clear();
    lab.start_provider();
    rest(&lab).await;
    let touch = json!({"metadata": {"labels": {"touched": "yes"}}});
    patch_machine(&lab, &old, touch.clone()).await;
    patch_host(&lab, &host_of(&machine), touch).await;
    rest(&lab).await;
    assert!(writes.of_provider("/nodes").is_empty());
    let of_machine = writes.of_provider("/metal3machines").into_iter().filter(|w| w.name == old);
    assert_eq!(of_machine.filter(|w| w.subresource.is_none()).count(), 0);

    let two = json!({"spec": {"replicas": 2}});
    patch(&lab, "cluster.x-k8s.io/v1beta2", "MachineDeployment", "md-0", two).await;
    rest(&lab).await;
    let kept = get(&lab, "Metal3Machine", &old);
    assert_eq!(
        (text(&kept, "/spec/providerID"), condition(&kept, "Ready").0),
        (older.clone(), "True".into())
    );
    assert_eq!(node_of(&lab, &uid).1, older);
    let new = machines(&lab, "md-0").into_iter().find(|m| name(m) != old).unwrap();
    let long = format!("metal3://metal3/{}/{}", host_of(&new), name(&new));
    assert_eq!(text(&new, "/spec/providerID"), long);
    assert_eq!(node_of(&lab, &text(&host(&lab, &new), "/metadata/uid")).1, long);
    assert_eq!(condition(&new, "Ready").0, "True");
}

/// Only the workload clusters of Clusters that name a Metal3Cluster are connected to; one of another provider with a kubeconfig
/// is not, although the namespace is the same.
#[tokio::test(start_paused = true)]
async fn op145_only_clusters_with_a_metal3cluster_are_connected() {
    let mut manifests = control_plane(1);
    manifests.extend(yaml(OTHER_PROVIDER));
    let lab = settled(&manifests).await;
    patch(&lab, "v1", "Secret", "other-kubeconfig", json!({"metadata": {"labels": {"again": "1"}}})).await;
    rest(&lab).await;
    let connections = lab.connections();
    assert!(!connections.is_empty());
    let is_ours = |address: &String| address.ends_with("/clusters/metal3/my-cluster");
    assert!(connections.iter().all(is_ours), "{connections:?}");
}

/// A cluster of another provider, and a Metal3Machine that names it by mistake.
const OTHER_PROVIDER: &str = "
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: other, namespace: metal3}
spec:
  controlPlaneEndpoint: {host: 192.0.2.9, port: 6443}
  infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: DockerCluster, name: other}
---
apiVersion: v1
kind: Secret
metadata: {name: other-kubeconfig, namespace: metal3, labels: {cluster.x-k8s.io/cluster-name: other}}
stringData:
  value: |
    apiVersion: v1
    kind: Config
    clusters: [{name: x, cluster: {server: 'https://embedded.invalid/clusters/metal3/other'}}]
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: Machine
metadata: {name: other-0, namespace: metal3, labels: {cluster.x-k8s.io/cluster-name: other}}
spec:
  clusterName: other
  bootstrap: {dataSecretName: other-kubeconfig}
  infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: Metal3Machine, name: other-0}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: Metal3Machine
metadata: {name: other-0, namespace: metal3}
spec:
  image: {url: 'http://example.com/a.qcow2', checksum: 'http://example.com/a.sha256', checksumType: sha256, diskFormat: qcow2}
---
";
