//! Reservations of hosts: whose template asks for them, and when they end.

use std::{collections::BTreeSet, time::Duration};

use capm3_lab::{Lab, manifests::Manifest};
use serde_json::{Value, json};

use crate::common::{hosts::*, *};

const KUBEADM: &str = "controlplane.cluster.x-k8s.io/v1beta2";
const METAL3: &str = "infrastructure.cluster.x-k8s.io/v1beta2";

/// The example with a second host for the control plane in each rack, and a control plane and workers that replace one
/// machine at a time. Workers have hosts to spare.
fn one_at_a_time() -> Vec<Manifest> {
    let mut manifests = three_racks();
    add_spare_hosts(&mut manifests);
    let cp = json!({"spec": {"rollout": {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0}}}}});
    change(&mut manifests, "KubeadmControlPlane", "my-cluster-cp", &cp);
    let md = json!({"spec": {"rollout": {"strategy": {"type": "RollingUpdate",
        "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}}}});
    change(&mut manifests, "MachineDeployment", "my-cluster-workers", &md);
    manifests
}

fn keeping(mut manifests: Vec<Manifest>) -> Vec<Manifest> {
    for template in ["my-cluster-cp", "my-cluster-workers"] {
        change(&mut manifests, "Metal3MachineTemplate", template, &json!({"spec": {"nodeReuse": true}}));
    }
    manifests
}

fn hosts_of(lab: &Lab, prefix: &str) -> BTreeSet<String> {
    machines(lab, prefix).iter().map(|m| host_of(m)).collect()
}

fn reserved(lab: &Lab) -> Vec<String> {
    let hosts = lab.objects("BareMetalHost");
    let held = |host: &Value| {
        host.pointer(RESERVATION).is_some() || text(host, "/spec/consumerRef/kind") == "Cluster"
    };
    hosts.iter().filter(|host| held(host)).map(|host| name(host)).collect()
}

/// Hosts that are kept for a control plane are free again when it is deleted, though the Cluster stays.
#[tokio::test(start_paused = true)]
async fn reserved_hosts_are_free_again_when_their_control_plane_is_gone() {
    let lab = settled(&keeping(one_at_a_time())).await;
    let used = hosts_of(&lab, "my-cluster-cp");
    delete(&lab, KUBEADM, "KubeadmControlPlane", "my-cluster-cp").await;
    rest(&lab).await;
    assert!(lab.object("KubeadmControlPlane", "my-cluster-cp").is_none());
    assert!(lab.object("Cluster", "my-cluster").is_some());
    assert_eq!(reserved(&lab), Vec::<String>::new());
    let reported: BTreeSet<String> =
        events(&lab, "BookingEnded").iter().filter_map(|e| e.split(':').next().map(str::to_owned)).collect();
    assert_eq!(reported, used);
}

/// Books a host of the example for the control plane, as a release before the pass did.
fn book(manifests: &mut [Manifest], host: &str) {
    book_as(manifests, host, "cp-my-cluster-cp");
}

fn book_as(manifests: &mut [Manifest], host: &str, label: &str) {
    let reservation = json!({"metadata": {"labels": {"infrastructure.cluster.x-k8s.io/node-reuse": label}},
        "spec": {"consumerRef": {"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "name": "my-cluster",
            "namespace": "metal3"}}});
    change(manifests, "BareMetalHost", host, &reservation);
}

/// After a restore the host may be there before its control plane: the reservation is given ten minutes.
#[tokio::test(start_paused = true)]
async fn a_control_plane_that_was_not_seen_to_go_is_waited_for() {
    let mut manifests = racks_without_machines();
    book(&mut manifests, "rack1-host-1");
    let lab = started(&manifests).await;
    tokio::time::sleep(Duration::from_secs(300)).await;
    assert_eq!(reserved(&lab), ["rack1-host-1"], "it may come yet");
    rest(&lab).await;
    assert_eq!(reserved(&lab), Vec::<String>::new());
    let reported = events(&lab, "BookingEnded");
    assert_eq!(
        reported,
        ["rack1-host-1: the reservation is removed: KubeadmControlPlane metal3/my-cluster-cp is gone"]
    );
}

/// Applies everything but `kind`, whose machines have a host kept, and that five minutes later, as a restore may.
async fn finds_its_reservation(
    mut manifests: Vec<Manifest>,
    kind: &str,
    host: &str,
    label: &str,
    machines: &str,
) {
    book_as(&mut manifests, host, label);
    let (late, early): (Vec<_>, Vec<_>) = manifests.into_iter().partition(|m| m.kind() == kind);
    let lab = started(&early).await;
    tokio::time::sleep(Duration::from_secs(300)).await;
    lab.apply(&late).await.unwrap();
    rest(&lab).await;
    assert!(hosts_of(&lab, machines).contains(host));
    assert_eq!(events(&lab, "BookingEnded"), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn a_control_plane_that_comes_late_finds_its_reservation() {
    let mut manifests = keeping(one_at_a_time());
    manifests.retain(|m| m.kind() != "MachineDeployment");
    let (kind, host) = ("KubeadmControlPlane", "rack1-host-4");
    finds_its_reservation(manifests, kind, host, "cp-my-cluster-cp", "my-cluster-cp").await;
}

#[tokio::test(start_paused = true)]
async fn a_deployment_that_comes_late_finds_its_reservation() {
    let (kind, host) = ("MachineDeployment", "rack3-host-3");
    let manifests = keeping(one_at_a_time());
    finds_its_reservation(manifests, kind, host, "md-my-cluster-workers", "my-cluster-workers").await;
}

/// The same for a MachineDeployment, also for one whose name is too long for the label.
#[tokio::test(start_paused = true)]
async fn a_deployment_that_was_not_seen_to_go_is_waited_for() {
    let long = format!("md-{}-0123abcd", "x".repeat(51));
    for (label, owner) in [
        ("md-gone", "MachineDeployment metal3/gone".to_owned()),
        (&long, format!("the MachineDeployment of reservations metal3/{long}")),
    ] {
        let mut manifests = racks_without_machines();
        book_as(&mut manifests, "rack1-host-2", label);
        let lab = started(&manifests).await;
        tokio::time::sleep(Duration::from_secs(300)).await;
        assert_eq!(reserved(&lab), ["rack1-host-2"], "{label}: it may come yet");
        rest(&lab).await;
        assert_eq!(reserved(&lab), Vec::<String>::new(), "{label}");
        let reported = format!("rack1-host-2: the reservation is removed: {owner} is gone");
        assert_eq!(events(&lab, "BookingEnded"), [reported]);
    }
}

/// A MachineDeployment keeps its reservations while it is there and no longer, however long its name is.
#[tokio::test(start_paused = true)]
async fn a_deployment_that_is_gone_takes_its_reservations_along() {
    let shortened = format!("md-{}-12cc2644", "x".repeat(51));
    for (name, label) in [("short".to_owned(), "md-short"), ("x".repeat(62), &shortened)] {
        let mut manifests = racks_without_machines();
        manifests.extend(three_racks().into_iter().filter(|m| m.kind() == "MachineDeployment"));
        let idle = json!({"metadata": {"name": name}, "spec": {"replicas": 0}});
        change(&mut manifests, "MachineDeployment", "my-cluster-workers", &idle);
        book_as(&mut manifests, "rack1-host-2", label);
        let lab = started(&manifests).await;
        tokio::time::sleep(Duration::from_secs(3600)).await;
        assert_eq!(reserved(&lab), ["rack1-host-2"], "the deployment is there");
        delete(&lab, "cluster.x-k8s.io/v1beta2", "MachineDeployment", &name).await;
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert_eq!(reserved(&lab), Vec::<String>::new(), "seen to go: no grace");
    }
}

/// A MachineDeployment being deleted makes no machine any more, however long something holds it back.
#[tokio::test(start_paused = true)]
async fn a_reservation_of_a_deployment_ends_as_soon_as_that_goes() {
    let mut manifests = racks_without_machines();
    manifests.extend(three_racks().into_iter().filter(|m| m.kind() == "MachineDeployment"));
    let idle = json!({"metadata": {"finalizers": ["example.com/hold"]}, "spec": {"replicas": 0}});
    change(&mut manifests, "MachineDeployment", "my-cluster-workers", &idle);
    book_as(&mut manifests, "rack1-host-2", "md-my-cluster-workers");
    let lab = started(&manifests).await;
    rest(&lab).await;
    assert_eq!(reserved(&lab), ["rack1-host-2"], "the deployment is there");
    delete(&lab, "cluster.x-k8s.io/v1beta2", "MachineDeployment", "my-cluster-workers").await;
    rest(&lab).await;
    assert!(lab.object("MachineDeployment", "my-cluster-workers").is_some(), "held back");
    assert_eq!(reserved(&lab), Vec::<String>::new());
}

/// Puts a host into a state as its operator does.
async fn put_into(lab: &Lab, host: &str, state: &str) {
    let manifest = Manifest {
        file: String::new(),
        object: json!({"apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost"}),
    };
    let status = json!({"status": {"provisioning": {"state": state}}});
    lab.client().merge_patch(&manifest.resource(), &key(host), Some("status"), &status).await.unwrap();
}

/// Names of the workers without a host.
fn waiting(lab: &Lab) -> Vec<String> {
    let workers = machines(lab, "my-cluster-workers");
    workers.iter().filter(|m| text(m, HOST).is_empty()).map(|m| name(m)).collect()
}

/// A lab in which two workers are made while one host is kept for their deployment and not ready yet, and the name of that host.
async fn waiting_for_a_reserved_host() -> (Lab, String) {
    let lab = settled(&keeping(one_at_a_time())).await;
    scale_workers(&lab, 2).await;
    rest(&lab).await;
    let kept = reserved(&lab).remove(0);
    put_into(&lab, &kept, "match profile").await;
    scale_workers(&lab, 4).await;
    rest(&lab).await;
    (lab, kept)
}

/// Two workers are made while one host is kept for their deployment and not ready yet: one waits for it, the other takes
/// a free one. When the kept host is lost, whatever it is lost by, the one that waited takes a free host too.
#[tokio::test(start_paused = true)]
async fn one_machine_waits_for_a_reserved_host_and_takes_another_when_that_is_lost() {
    let note = |key: &str| json!({"metadata": {"annotations": {key: ""}}});
    let losses = [
        note("capm3.metal3.io/unhealthy"),
        note("baremetalhost.metal3.io/paused"),
        json!({"spec": {"consumerRef": {"kind": "Other", "name": "somebody"}}}),
        json!({"metadata": {"labels": {"cluster-role": "spare"}}}),
        json!({"metadata": {"labels": {"infrastructure.cluster.x-k8s.io/node-reuse": "md-other"}}}),
    ];
    for loss in losses {
        let (lab, kept) = waiting_for_a_reserved_host().await;
        let waits = waiting(&lab);
        assert_eq!(waits.len(), 1, "one waits, and the other takes a free host");
        let printed = get(&lab, "Metal3Machine", &waits[0]);
        let printed = printed.pointer("/status/conditions").unwrap().to_string();
        assert!(
            printed.contains(&format!(
                "waiting for a host that is reserved for the control plane or MachineDeployment of this machine: \
                 {kept}\""
            )),
            "{printed}"
        );
        assert_eq!(events(&lab, "HostRefused"), Vec::<String>::new(), "an ordinary wait is no warning");
        patch_host(&lab, &kept, loss.clone()).await;
        rest(&lab).await;
        assert_eq!(waiting(&lab), Vec::<String>::new(), "{loss}");
        assert!(!hosts_of(&lab, "my-cluster-workers").contains(&kept), "{loss}");
    }
}

/// A kept host that becomes ready goes to the machine that waits for it.
#[tokio::test(start_paused = true)]
async fn a_reserved_host_that_becomes_ready_is_taken_by_the_machine_that_waits() {
    let (lab, kept) = waiting_for_a_reserved_host().await;
    let waits = waiting(&lab).remove(0);
    put_into(&lab, &kept, "available").await;
    rest(&lab).await;
    assert_eq!(host_of(&get(&lab, "Metal3Machine", &waits)), kept);
}

/// The workers' deployment under another name and without machines, made from a template that keeps hosts as well.
fn another_deployment() -> Manifest {
    let is_it = |m: &Manifest| m.kind() == "MachineDeployment";
    let mut other = three_racks().into_iter().find(is_it).unwrap();
    let own = json!({"matchLabels": {"pool": "others"}});
    let labels = json!({"pool": "others", "cluster.x-k8s.io/cluster-name": "my-cluster"});
    other.object["metadata"]["name"] = json!("others");
    other.object["spec"]["replicas"] = json!(0);
    other.object["spec"]["selector"] = own;
    other.object["spec"]["template"]["metadata"] = json!({"labels": labels});
    other
}

/// While hosts are kept for an owner, its next machine takes one of these and waits until it is available, though others
/// are free; machines of other owners pass them over, though nothing else is left.
#[tokio::test(start_paused = true)]
async fn s75_reserved_hosts_are_waited_for_by_their_owner_and_passed_over_by_others() {
    let mut manifests = keeping(one_at_a_time());
    manifests.push(another_deployment());
    let lab = settled(&manifests).await;
    scale_workers(&lab, 2).await;
    rest(&lab).await;
    assert_eq!(reserved(&lab).len(), 1);
    let kept = reserved(&lab).remove(0);
    assert_eq!(text(&get(&lab, "BareMetalHost", &kept), RESERVATION), "md-my-cluster-workers");
    put_into(&lab, &kept, "match profile").await;
    scale_workers(&lab, 3).await;
    rest(&lab).await;
    assert_eq!(free_for_workers(&lab), 3);
    assert_eq!(waiting(&lab).len(), 1, "it takes none of the free hosts");
    let waits = waiting(&lab).remove(0);
    put_into(&lab, &kept, "available").await;
    rest(&lab).await;
    assert_eq!(host_of(&get(&lab, "Metal3Machine", &waits)), kept);

    delete(&lab, "cluster.x-k8s.io/v1beta2", "Machine", &waits).await;
    scale_workers(&lab, 2).await;
    rest(&lab).await;
    let kept = reserved(&lab);
    assert_eq!(kept.len(), 1);
    let replicas = json!({"spec": {"replicas": free_for_workers(&lab) + 1}});
    patch(&lab, "cluster.x-k8s.io/v1beta2", "MachineDeployment", "others", replicas).await;
    rest(&lab).await;
    let others = machines(&lab, "others");
    assert_eq!(others.len(), 4);
    assert_eq!(free_for_workers(&lab), 0);
    assert_eq!(others.iter().filter(|m| text(m, HOST).is_empty()).count(), 1, "one is left without a host");
    assert_eq!(reserved(&lab), kept);
    assert_eq!(text(&get(&lab, "BareMetalHost", &kept[0]), "/status/provisioning/state"), "available");
}

/// Hosts for workers that nobody uses or keeps.
fn free_for_workers(lab: &Lab) -> usize {
    let is_free = |host: &&std::sync::Arc<Value>| {
        text(host, "/metadata/labels/cluster-role") == "worker"
            && host.pointer("/spec/consumerRef").is_none_or(Value::is_null)
    };
    lab.objects("BareMetalHost").iter().filter(is_free).count()
}

/// A kind of control planes that nothing of ours watches.
fn other_control_plane(finalizers: Value) -> Vec<Manifest> {
    let mut manifests = yaml(
        "
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: othercontrolplanes.controlplane.cluster.x-k8s.io}
spec:
  group: controlplane.cluster.x-k8s.io
  names: {kind: OtherControlPlane, listKind: OtherControlPlaneList, plural: othercontrolplanes, singular: othercontrolplane}
  scope: Namespaced
  versions:
  - name: v1alpha7
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
---
apiVersion: controlplane.cluster.x-k8s.io/v1alpha7
kind: OtherControlPlane
metadata: {name: my-cluster-cp, namespace: metal3}
",
    );
    change(
        &mut manifests,
        "OtherControlPlane",
        "my-cluster-cp",
        &json!({"metadata": {"finalizers": finalizers}}),
    );
    let mut all = racks_without_machines();
    let refers = json!({"spec": {"controlPlaneRef": {"kind": "OtherControlPlane"}}});
    change(&mut all, "Cluster", "my-cluster", &refers);
    book(&mut all, "rack1-host-1");
    // The definition first, the control plane last.
    manifests.splice(1..1, all);
    manifests
}

/// The server is asked for a control plane of a kind that is not watched: its reservations stand while it is there.
#[tokio::test(start_paused = true)]
async fn a_reservation_of_another_kind_of_control_plane_ends_with_it() {
    let hour = Duration::from_secs(3600);
    let lab = started(&other_control_plane(json!([]))).await;
    tokio::time::sleep(hour).await;
    assert_eq!(reserved(&lab), ["rack1-host-1"], "the control plane is there");
    delete(&lab, "controlplane.cluster.x-k8s.io/v1alpha7", "OtherControlPlane", "my-cluster-cp").await;
    tokio::time::sleep(hour).await;
    assert_eq!(reserved(&lab), Vec::<String>::new());
}

/// A control plane being deleted makes no machine any more: what it reserved is free in the next pass.
#[tokio::test(start_paused = true)]
async fn a_reservation_of_another_kind_of_control_plane_ends_as_soon_as_that_goes() {
    let lab = started(&other_control_plane(json!(["example.com/hold"]))).await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    delete(&lab, "controlplane.cluster.x-k8s.io/v1alpha7", "OtherControlPlane", "my-cluster-cp").await;
    patch_host(&lab, "rack1-host-1", json!({"metadata": {"annotations": {"example.com/pass": "again"}}}))
        .await;
    rest(&lab).await;
    assert!(lab.object("OtherControlPlane", "my-cluster-cp").is_some(), "held back");
    assert_eq!(reserved(&lab), Vec::<String>::new());
}

/// Whoever cannot find out whether the control plane is there takes nothing away.
#[tokio::test(start_paused = true)]
async fn a_reservation_of_a_control_plane_of_an_unknown_kind_stands() {
    let mut manifests = racks_without_machines();
    let refers = json!({"spec": {"controlPlaneRef": {"kind": "UnheardOfControlPlane"}}});
    change(&mut manifests, "Cluster", "my-cluster", &refers);
    book(&mut manifests, "rack1-host-1");
    let lab = started(&manifests).await;
    tokio::time::sleep(Duration::from_secs(3600)).await;
    assert_eq!(reserved(&lab), ["rack1-host-1"]);
}

/// Moves an owner over to a copy of its template that keeps hosts, and prunes the old one at once.
async fn switch_and_prune(lab: &Lab, owner: (&str, &str, &str), pointer: &[&str], template: &str) {
    let mut copy = get(lab, "Metal3MachineTemplate", template).as_ref().clone();
    let next = format!("{template}-v2");
    copy["metadata"] = json!({"name": next, "namespace": "metal3"});
    copy["spec"]["nodeReuse"] = json!(true);
    lab.client().create(&metal3("Metal3MachineTemplate"), "metal3", copy).await.unwrap();
    let change = pointer.iter().rev().fold(json!({ "name": next }), |inner, part| json!({ *part: inner }));
    let (api, kind, name) = owner;
    patch(lab, api, kind, name, change).await;
    delete(lab, METAL3, "Metal3MachineTemplate", template).await;
    rest(lab).await;
}

fn is_made_from(lab: &Lab, prefix: &str, template: &str) -> bool {
    let source = "/metadata/annotations/cluster.x-k8s.io~1cloned-from-name";
    machines(lab, prefix).iter().all(|m| text(m, source) == template)
}

/// A control plane whose old template was pruned after the switch to one with nodeReuse keeps its hosts.
#[tokio::test(start_paused = true)]
async fn a_control_plane_keeps_its_hosts_though_the_old_template_is_pruned() {
    let lab = settled(&one_at_a_time()).await;
    let before = hosts_of(&lab, "my-cluster-cp");
    let path = ["spec", "machineTemplate", "spec", "infrastructureRef"];
    switch_and_prune(&lab, (KUBEADM, "KubeadmControlPlane", "my-cluster-cp"), &path, "my-cluster-cp").await;
    assert!(is_made_from(&lab, "my-cluster-cp", "my-cluster-cp-v2"));
    assert_eq!(hosts_of(&lab, "my-cluster-cp"), before);
    assert_eq!(events(&lab, "HostBooked").len(), 3);
}

/// The same for a MachineDeployment: the MachineSet of the old machines still names the pruned template.
#[tokio::test(start_paused = true)]
async fn workers_keep_their_hosts_though_the_old_template_is_pruned() {
    let lab = settled(&one_at_a_time()).await;
    let before = hosts_of(&lab, "my-cluster-workers");
    let path = ["spec", "template", "spec", "infrastructureRef"];
    let owner = ("cluster.x-k8s.io/v1beta2", "MachineDeployment", "my-cluster-workers");
    switch_and_prune(&lab, owner, &path, "my-cluster-workers").await;
    assert!(is_made_from(&lab, "my-cluster-workers", "my-cluster-workers-v2"));
    assert_eq!(hosts_of(&lab, "my-cluster-workers"), before);
    assert_eq!(events(&lab, "HostBooked").len(), 3);
}
