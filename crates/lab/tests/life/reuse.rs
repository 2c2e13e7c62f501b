//! Hosts that are kept for the next machine of the same owner.

use std::collections::BTreeSet;

use capm3_lab::{Lab, manifests::Manifest};
use serde_json::{Value, json};

use crate::common::{hosts::*, *};

/// The example with nodeReuse on, cleaning off, and a control plane that replaces one machine at a time.
fn with_reuse() -> Vec<Manifest> {
    let mut manifests = three_racks();
    for template in ["my-cluster-cp", "my-cluster-workers"] {
        change(&mut manifests, "Metal3MachineTemplate", template, &json!({"spec": {"nodeReuse": true}}));
        machine_spec(&mut manifests, template, json!({"automatedCleaningMode": "disabled"}));
    }
    let in_place = json!({"spec": {"rollout": {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0}}}}});
    change(&mut manifests, "KubeadmControlPlane", "my-cluster-cp", &in_place);
    manifests
}

fn hosts_of(lab: &Lab, prefix: &str) -> BTreeSet<String> {
    machines(lab, prefix).iter().map(|m| host_of(m)).collect()
}

async fn upgrade(lab: &Lab) {
    patch(
        lab,
        "controlplane.cluster.x-k8s.io/v1beta2",
        "KubeadmControlPlane",
        "my-cluster-cp",
        json!({"spec": {"version": "v1.31.0"}}),
    )
    .await;
    rest(lab).await;
}

/// Without nodeReuse a released host carries no reservation and has no consumer: anybody may take it.
#[tokio::test(start_paused = true)]
async fn s73_without_node_reuse_a_released_host_is_not_reserved() {
    let lab = settled(&three_racks()).await;
    let used = hosts_of(&lab, "my-cluster-workers");
    scale_workers(&lab, 2).await;
    rest(&lab).await;
    let left = hosts_of(&lab, "my-cluster-workers");
    let released: Vec<&String> = used.difference(&left).collect();
    assert_eq!(released.len(), 1);
    let host = get(&lab, "BareMetalHost", released[0]);
    assert_eq!(host.pointer(RESERVATION), None);
    assert!(host.pointer("/spec/consumerRef").is_none_or(Value::is_null), "{host}");
    assert_eq!(events(&lab, "HostBooked"), Vec::<String>::new());
}

/// With nodeReuse, a released host carries the label that names its MachineDeployment or its control plane.
#[tokio::test(start_paused = true)]
async fn s74_a_released_host_names_the_owner_it_is_kept_for() {
    let lab = settled(&with_reuse()).await;
    let used = hosts_of(&lab, "my-cluster-workers");
    scale_workers(&lab, 2).await;
    rest(&lab).await;
    let left = hosts_of(&lab, "my-cluster-workers");
    let released = used.difference(&left).next().unwrap();
    assert_eq!(text(&get(&lab, "BareMetalHost", released), RESERVATION), "md-my-cluster-workers");
    upgrade(&lab).await;
    let hosts = hosts_of(&lab, "my-cluster-cp");
    let mut reserved = BTreeSet::new();
    replay(&lab, &[BARE_METAL_HOSTS], |_, host| {
        if hosts.contains(&name(host)) && host.pointer(RESERVATION).is_some() {
            reserved.insert((name(host), text(host, RESERVATION)));
        }
    });
    let expected: BTreeSet<_> = hosts.into_iter().map(|host| (host, "cp-my-cluster-cp".to_owned())).collect();
    assert_eq!(reserved, expected, "each host of the control plane between its two machines");
}

/// A released host keeps a consumer of kind Cluster until it is used again, so that others see it as taken.
#[tokio::test(start_paused = true)]
async fn nr47_a_reserved_host_is_consumed_by_its_cluster() {
    let lab = settled(&with_reuse()).await;
    let used = hosts_of(&lab, "my-cluster-workers");
    scale_workers(&lab, 2).await;
    rest(&lab).await;
    let left = hosts_of(&lab, "my-cluster-workers");
    let host = get(&lab, "BareMetalHost", used.difference(&left).next().unwrap());
    assert_eq!(
        host.pointer("/spec/consumerRef"),
        Some(
            &json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "name": "my-cluster", "namespace": "metal3"})
        )
    );
    scale_workers(&lab, 3).await;
    rest(&lab).await;
    assert_eq!(hosts_of(&lab, "my-cluster-workers"), used, "the next machine takes the kept host");
    let again = get(&lab, "BareMetalHost", &name(&host));
    assert_eq!(again.pointer(RESERVATION), None);
    let reused =
        machines(&lab, "my-cluster-workers").into_iter().find(|m| host_of(m) == name(&host)).unwrap();
    assert_eq!(condition(&reused, "AssociateBareMetalHost").1, "AssociateBareMetalHostViaNodeReuseSuccess");
}

/// With nodeReuse and cleaning off a whole upgrade uses the same hosts, and none is cleaned in between.
#[tokio::test(start_paused = true)]
async fn s77_an_upgrade_uses_the_same_hosts_and_cleans_none() {
    let mut manifests = with_reuse();
    manifests.retain(|m| m.kind() != "MachineDeployment");
    add_spare_hosts(&mut manifests);
    // With this profile cleaning takes time, so that the hosts show whether they were cleaned.
    let lab = started_slowly(&manifests).await;
    rest(&lab).await;
    let before = hosts_of(&lab, "my-cluster-cp");
    let names: BTreeSet<String> = machines(&lab, "my-cluster-cp").iter().map(|m| name(m)).collect();
    upgrade(&lab).await;
    assert_eq!(hosts_of(&lab, "my-cluster-cp"), before);
    for host in &before {
        assert!(deprovisioning_took(&lab, host) < CLEANING, "{host} was cleaned");
    }
    for machine in machines(&lab, "my-cluster-cp") {
        assert!(!names.contains(&name(&machine)), "every machine is a new one");
        assert_eq!(condition(&machine, "Ready").0, "True");
        assert_eq!(text(&host(&lab, &machine), "/spec/automatedCleaningMode"), "disabled");
    }
}

/// Demonstration 9: an upgrade of three control-plane nodes on their own hosts. With cleaning off no host goes through
/// the cleaning phase, which takes ten seconds of a demonstration; with cleaning on every host does.
#[tokio::test(start_paused = true)]
async fn demonstration_9_hosts_are_cleaned_only_where_cleaning_is_on() {
    for (mode, is_cleaned) in [("disabled", false), ("metadata", true)] {
        let mut manifests = with_reuse();
        manifests.retain(|m| m.kind() != "MachineDeployment");
        machine_spec(&mut manifests, "my-cluster-cp", json!({"automatedCleaningMode": mode}));
        let lab = started_slowly(&manifests).await;
        rest(&lab).await;
        let before = hosts_of(&lab, "my-cluster-cp");
        upgrade(&lab).await;
        assert_eq!(hosts_of(&lab, "my-cluster-cp"), before);
        for name in before {
            let took = deprovisioning_took(&lab, &name);
            assert_eq!(took >= CLEANING, is_cleaned, "{mode}: {name} took {took} s");
        }
    }
}

/// nodeReuse and cleaning mode may be edited on a live template before the upgrade, and take effect.
#[tokio::test(start_paused = true)]
async fn s78_reuse_is_switched_on_on_a_live_template() {
    let mut manifests = three_racks();
    let in_place = json!({"spec": {"rollout": {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0}}}}});
    change(&mut manifests, "KubeadmControlPlane", "my-cluster-cp", &in_place);
    add_spare_hosts(&mut manifests);
    // With this profile cleaning takes time, so that the hosts show whether they were cleaned.
    let lab = started_slowly(&manifests).await;
    rest(&lab).await;
    let before = hosts_of(&lab, "my-cluster-cp");
    assert_eq!(before.len(), 3);
    let live =
        json!({"spec": {"nodeReuse": true, "template": {"spec": {"automatedCleaningMode": "disabled"}}}});
    patch(&lab, "infrastructure.cluster.x-k8s.io/v1beta2", "Metal3MachineTemplate", "my-cluster-cp", live)
        .await;
    rest(&lab).await;
    upgrade(&lab).await;
    assert_eq!(hosts_of(&lab, "my-cluster-cp"), before);
    for host in &before {
        assert!(deprovisioning_took(&lab, host) < CLEANING, "{host} was cleaned");
    }
}

/// A machine that remediation gives up is replaced on the same host under nodeReuse.
#[tokio::test(start_paused = true)]
async fn s79_a_replaced_machine_uses_the_same_hosts() {
    let mut manifests = with_reuse();
    add_spare_hosts(&mut manifests);
    let lab = settled(&manifests).await;
    let before = hosts_of(&lab, "my-cluster-cp");
    let victim = name(&machines(&lab, "my-cluster-cp")[0]);
    delete(&lab, "cluster.x-k8s.io/v1beta2", "Machine", &victim).await;
    rest(&lab).await;
    assert!(!machines(&lab, "my-cluster-cp").iter().any(|m| name(m) == victim));
    assert_eq!(hosts_of(&lab, "my-cluster-cp"), before);
}

/// No host is kept when the whole Cluster is being deleted or the template is gone.
#[tokio::test(start_paused = true)]
async fn nr52_no_host_is_kept_for_a_cluster_or_template_that_goes() {
    let lab = settled(&with_reuse()).await;
    delete(&lab, "infrastructure.cluster.x-k8s.io/v1beta2", "Metal3MachineTemplate", "my-cluster-workers")
        .await;
    scale_workers(&lab, 2).await;
    rest(&lab).await;
    let kept =
        |lab: &Lab| lab.objects("BareMetalHost").iter().filter(|h| h.pointer(RESERVATION).is_some()).count();
    assert_eq!(kept(&lab), 0, "the template is gone");
    delete_cluster(&lab).await;
    rest(&lab).await;
    assert_eq!(kept(&lab), 0, "the Cluster goes");
}

fn are_free(lab: &Lab) -> bool {
    lab.objects("BareMetalHost").iter().all(|host| {
        host.pointer(RESERVATION).is_none() && host.pointer("/spec/consumerRef").is_none_or(Value::is_null)
    })
}

/// Hosts that are kept for a deployment that was scaled down are free again when the Cluster is deleted.
#[tokio::test(start_paused = true)]
async fn o3_reserved_hosts_are_free_again_when_the_cluster_is_gone() {
    let lab = settled(&with_reuse()).await;
    scale_workers(&lab, 0).await;
    rest(&lab).await;
    let kept = lab
        .objects("BareMetalHost")
        .iter()
        .filter(|h| text(h, "/spec/consumerRef/kind") == "Cluster")
        .count();
    assert_eq!(kept, 3);
    delete_cluster(&lab).await;
    rest(&lab).await;
    assert!(are_free(&lab));
}

/// Hosts that are kept for a MachineDeployment are free again when it is deleted, though the Cluster stays.
#[tokio::test(start_paused = true)]
async fn reserved_hosts_are_free_again_when_their_deployment_is_gone() {
    let lab = settled(&with_reuse()).await;
    scale_workers(&lab, 0).await;
    rest(&lab).await;
    delete(&lab, "cluster.x-k8s.io/v1beta2", "MachineDeployment", "my-cluster-workers").await;
    rest(&lab).await;
    let kept = lab.objects("BareMetalHost").iter().filter(|h| h.pointer(RESERVATION).is_some()).count();
    assert_eq!(kept, 0);
    assert_eq!(events(&lab, "BookingEnded").len(), 3);
}

/// One more Machine of the foreign control plane, made as the last one was.
fn next_of_talos(lab: &Lab, last: &Value) -> Vec<Manifest> {
    let mut spec = last["spec"].clone();
    spec.as_object_mut()
        .unwrap()
        .retain(|field, _| !matches!(field.as_str(), "providerID" | "failureDomain"));
    let annotations = json!({"cluster.x-k8s.io/cloned-from-name": "my-cluster-cp",
        "cluster.x-k8s.io/cloned-from-groupkind": "Metal3MachineTemplate.infrastructure.cluster.x-k8s.io"});
    let labels = json!({"cluster.x-k8s.io/cluster-name": "my-cluster", "cluster.x-k8s.io/control-plane": ""});
    let secret = text(&get(lab, "Machine", &name(last)), "/spec/bootstrap/dataSecretName");
    let objects = [
        json!({"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "Metal3Machine", "spec": spec,
            "metadata": {"name": "talos-1", "namespace": "metal3", "labels": labels, "annotations": annotations}}),
        json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine",
            "metadata": {"name": "talos-1", "namespace": "metal3", "labels": labels, "ownerReferences": [
                {"apiVersion": "controlplane.cluster.x-k8s.io/v1alpha1", "kind": "TalosControlPlane",
                 "name": "talos", "uid": "f0", "controller": true}]},
            "spec": {"clusterName": "my-cluster", "version": "v1.30.0", "bootstrap": {"dataSecretName": secret},
                "infrastructureRef": {"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "Metal3Machine", "name": "talos-1"}}}),
    ];
    objects.into_iter().map(|object| Manifest { file: String::new(), object }).collect()
}

/// A control plane of another kind in the group reserves hosts like kubeadm's, and its next machine takes what is reserved.
#[tokio::test(start_paused = true)]
async fn s76_a_foreign_control_plane_reserves_hosts_alike() {
    let mut manifests = control_plane(1);
    // Hosts beside that which is reserved, so that another one could be taken.
    add_spare_hosts(&mut manifests);
    change(&mut manifests, "Metal3MachineTemplate", "my-cluster-cp", &json!({"spec": {"nodeReuse": true}}));
    let mut lab = settled(&manifests).await;
    let machine = machines(&lab, "my-cluster-cp")[0].clone();
    lab.stop_providers();
    let foreign = json!({"metadata": {"ownerReferences": [{"apiVersion": "controlplane.cluster.x-k8s.io/v1alpha1",
        "kind": "TalosControlPlane", "name": "talos", "uid": "f0"}],
        "annotations": {"cluster.x-k8s.io/paused": ""}}});
    patch(&lab, "cluster.x-k8s.io/v1beta2", "Machine", &name(&machine), foreign).await;
    // The reservation is judged by the control plane that the Cluster names.
    patch(
        &lab,
        "cluster.x-k8s.io/v1beta2",
        "Cluster",
        "my-cluster",
        json!({"spec": {"controlPlaneRef": {"kind": "TalosControlPlane", "name": "talos"}}}),
    )
    .await;
    delete(&lab, "infrastructure.cluster.x-k8s.io/v1beta2", "Metal3Machine", &name(&machine)).await;
    lab.start_provider();
    rest(&lab).await;
    let reserved = host_of(&machine);
    assert_eq!(text(&get(&lab, "BareMetalHost", &reserved), RESERVATION), "cp-talos");
    lab.apply(&next_of_talos(&lab, &machine)).await.unwrap();
    rest(&lab).await;
    let next = get(&lab, "Metal3Machine", "talos-1");
    assert_eq!(host_of(&next), reserved, "though other hosts are free");
    assert_eq!(condition(&next, "AssociateBareMetalHost").1, "AssociateBareMetalHostViaNodeReuseSuccess");
    assert_eq!(condition(&next, "BareMetalHostProvisioned").0, "True", "{next}");
    assert_eq!(get(&lab, "BareMetalHost", &reserved).pointer(RESERVATION), None);
}
