//! A cluster without failure domains: Nodes are found by the uid of their host.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may panic")]

mod common;

use std::sync::Arc;

use capm3_lab::{Lab, Options};
use common::*;
use serde_json::{Value, json};

const CLUSTER: &str = r#"
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata:
  name: cluster
  namespace: metal3
spec:
  clusterNetwork:
    services:
      cidrBlocks:
      - 10.96.0.0/12
    pods:
      cidrBlocks:
      - 192.168.0.0/18
  infrastructureRef:
    apiGroup: infrastructure.cluster.x-k8s.io
    kind: Metal3Cluster
    name: m3cluster
  controlPlaneRef:
    kind: KubeadmControlPlane
    apiGroup: controlplane.cluster.x-k8s.io
    name: m3cluster-controlplane
"#;

const METAL3_CLUSTER: &str = r#"
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: Metal3Cluster
metadata:
  name: m3cluster
  namespace: metal3
spec:
  controlPlaneEndpoint:
    host: 192.168.111.249
    port: 6443
  cloudProviderEnabled: false
"#;

const CONTROL_PLANE: &str = r#"
kind: KubeadmControlPlane
apiVersion: controlplane.cluster.x-k8s.io/v1beta2
metadata:
  name: m3cluster-controlplane
  namespace: metal3
spec:
  machineTemplate:
    spec:
      infrastructureRef:
        apiGroup: infrastructure.cluster.x-k8s.io
        kind: Metal3MachineTemplate
        name: m3cluster-controlplane
      deletion:
        nodeDrainTimeoutSeconds: 0
  replicas: 3
  rollout:
    strategy:
      rollingUpdate:
        maxSurge: 1
      type: RollingUpdate
  version: v1.34.0
  kubeadmConfigSpec:
    joinConfiguration:
      controlPlane: {}
      nodeRegistration:
        name: "{{ ds.meta_data.name }}"
        kubeletExtraArgs:
        - name: node-labels
          value: 'metal3.io/uuid={{ ds.meta_data.uuid }}'
    initConfiguration:
      nodeRegistration:
        name: "{{ ds.meta_data.name }}"
        kubeletExtraArgs:
        - name: node-labels
          value: 'metal3.io/uuid={{ ds.meta_data.uuid }}'
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: Metal3MachineTemplate
metadata:
  name: m3cluster-controlplane
  namespace: metal3
spec:
  template:
    spec:
      image:
        url: http://192.0.2.1/image.qcow2
        checksum: http://192.0.2.1/image.qcow2.md5sum
"#;

fn hosts() -> Vec<capm3_lab::manifests::Manifest> {
    let mut all = three_racks();
    all.retain(|m| matches!(m.kind(), "Namespace" | "Secret" | "BareMetalHost"));
    all
}

/// A Cluster with v1beta2 references is accepted as printed, and its Metal3Cluster is found.
#[tokio::test(start_paused = true)]
async fn s13_a_cluster_with_version_less_references_resolves_its_metal3cluster() {
    let mut manifests = hosts();
    manifests.extend(yaml(CLUSTER));
    manifests.extend(yaml(METAL3_CLUSTER));
    let lab = settled(&manifests).await;
    let infrastructure = get(&lab, "Metal3Cluster", "m3cluster");
    assert_eq!(text(&infrastructure, "/metadata/ownerReferences/0/name"), "cluster");
    assert_eq!(infrastructure.pointer("/status/initialization/provisioned"), Some(&json!(true)));
    assert_eq!(condition(&infrastructure, "Ready"), ("True".into(), "Ready".into()));
    let cluster = get(&lab, "Cluster", "cluster");
    assert_eq!(cluster.pointer("/status/initialization/infrastructureProvisioned"), Some(&json!(true)));
    assert_eq!(text(&cluster, "/spec/controlPlaneEndpoint/host"), "192.168.111.249");
}

/// A KubeadmControlPlane is accepted as printed; its three Metal3Machines are cloned from the named template, one
/// after the other.
#[tokio::test(start_paused = true)]
async fn s21_control_plane_machines_come_one_after_the_other_from_the_named_template() {
    let (lab, moments) = Moments::lab("/metal3machines", |server, machine| {
        let others = server.objects(None);
        let unfinished = others.iter().filter(|o| o["kind"] == "Metal3Machine" && name(o) != machine);
        unfinished.filter(|o| text(o, "/spec/providerID").is_empty()).count().to_string()
    })
    .await;
    let mut manifests = hosts();
    for part in [CLUSTER, METAL3_CLUSTER, CONTROL_PLANE] {
        manifests.extend(yaml(part));
    }
    lab.apply(&manifests).await.unwrap();
    rest(&lab).await;
    assert_eq!(moments.seen(), ["0", "0", "0"], "at each creation no earlier machine is unfinished");
    let machines = machines(&lab, "m3cluster-controlplane");
    assert_eq!(machines.len(), 3);
    for machine in machines {
        let template = text(&machine, "/metadata/annotations/cluster.x-k8s.io~1cloned-from-name");
        assert_eq!(template, "m3cluster-controlplane");
        assert!(
            text(&machine, "/spec/providerID").starts_with("metal3://metal3/rack"),
            "found by the uuid label"
        );
        assert_eq!(condition(&machine, "Ready").0, "True");
    }
}

/// The printed Metal3Cluster, of v1beta1, is provisioned once a Cluster owns it, and readers of either version see so.
#[tokio::test(start_paused = true)]
async fn s14_a_printed_older_cluster_is_provisioned_once_it_is_owned() {
    let printed = yaml(include_str!("../../../tests/seeds/000-02.yaml"));
    assert!(text(&printed[0].object, "/apiVersion").ends_with("/v1beta1"));
    let mut manifests = hosts();
    manifests.extend(printed.clone());
    let lab = settled(&manifests).await;
    let unowned = get(&lab, "Metal3Cluster", "m3cluster");
    assert!(text(&unowned, "/apiVersion").ends_with("/v1beta2"), "stored as the newer version");
    assert_ne!(unowned.pointer("/status/initialization/provisioned"), Some(&json!(true)), "{unowned}");
    lab.apply(&yaml(CLUSTER)).await.unwrap();
    rest(&lab).await;
    let owned = get(&lab, "Metal3Cluster", "m3cluster");
    assert_eq!(text(&owned, "/metadata/ownerReferences/0/name"), "cluster");
    assert_eq!(owned.pointer("/status/initialization/provisioned"), Some(&json!(true)));
    let older: Value =
        lab.client().get(&printed[0].resource(), &key("m3cluster")).await.unwrap().expect("it is there");
    assert!(text(&older, "/apiVersion").ends_with("/v1beta1"));
    assert_eq!(older.pointer("/status/ready"), Some(&json!(true)), "{older}");
    let cluster = get(&lab, "Cluster", "cluster");
    assert_eq!(cluster.pointer("/status/initialization/infrastructureProvisioned"), Some(&json!(true)));
}

/// An endpoint without host or port gives the failure reason `InvalidConfiguration` and a message with the missing member,
/// until it is given.
#[tokio::test(start_paused = true)]
async fn s15_an_endpoint_without_host_or_port_is_reported_until_it_is_given() {
    let rows = [
        (json!({"host": null}), "[ControlPlaneEndpoint.Host]"),
        (json!({"port": null}), "[ControlPlaneEndpoint.Port]"),
        (json!(null), "[ControlPlaneEndpoint.Host ControlPlaneEndpoint.Port]"),
    ];
    for (endpoint, missing) in rows {
        let mut manifests = hosts();
        manifests.extend(yaml(CLUSTER));
        manifests.extend(yaml(METAL3_CLUSTER));
        let incomplete = json!({"spec": {"controlPlaneEndpoint": endpoint}});
        change(&mut manifests, "Metal3Cluster", "m3cluster", &incomplete);
        let lab = Lab::start(&Options::default()).await.unwrap();
        lab.server().set_admission(Arc::new(NoWebhook));
        lab.apply(&manifests).await.unwrap();
        rest(&lab).await;
        let invalid = get(&lab, "Metal3Cluster", "m3cluster");
        assert_ne!(invalid.pointer("/status/initialization/provisioned"), Some(&json!(true)));
        assert_eq!(text(&invalid, "/status/deprecated/v1beta1/failureReason"), "InvalidConfiguration");
        let reported = ("False".to_owned(), "InvalidConfiguration".to_owned());
        assert_eq!(condition(&invalid, "BaremetalInfrastructureReady"), reported);
        let message = invalid.pointer("/status/conditions").unwrap().to_string();
        assert!(message.contains(&format!("missing fields from Spec: {missing}")), "{message}");
        let cluster = get(&lab, "Cluster", "cluster");
        assert_ne!(cluster.pointer("/status/initialization/infrastructureProvisioned"), Some(&json!(true)));
        let complete = json!({"spec": {"controlPlaneEndpoint": {"host": "192.168.111.249", "port": 6443}}});
        lab.patch(&metal3("Metal3Cluster"), &key("m3cluster"), &complete).await.unwrap();
        rest(&lab).await;
        let healed = get(&lab, "Metal3Cluster", "m3cluster");
        assert_eq!(condition(&healed, "Ready").0, "True", "{missing}");
        assert_eq!(healed.pointer("/status/deprecated/v1beta1/failureReason"), None);
    }
}

/// An endpoint that nobody answers for, a virtual address until the first node is up, is accepted and the cluster goes on;
/// no connection to it is tried, neither before there are machines nor for their sake.
#[tokio::test(start_paused = true)]
async fn s20_an_endpoint_that_nobody_answers_for_is_accepted_and_never_probed() {
    let mut manifests = hosts();
    manifests.extend(yaml(CLUSTER));
    manifests.extend(yaml(METAL3_CLUSTER));
    let lab = settled(&manifests).await;
    let infrastructure = get(&lab, "Metal3Cluster", "m3cluster");
    assert_eq!(condition(&infrastructure, "Ready").0, "True");
    assert_eq!(text(&get(&lab, "Cluster", "cluster"), "/spec/controlPlaneEndpoint/host"), "192.168.111.249");
    assert_eq!(lab.connections(), Vec::<String>::new(), "there is nothing to connect to");
    lab.apply(&yaml(CONTROL_PLANE)).await.unwrap();
    rest(&lab).await;
    let machines = machines(&lab, "m3cluster-controlplane");
    assert_eq!(machines.iter().filter(|m| condition(m, "Ready").0 == "True").count(), 3);
    let connections = lab.connections();
    assert!(!connections.is_empty(), "Nodes are looked for where the kubeconfig leads");
    assert!(!connections.iter().any(|address| address.contains("192.168.111.249")), "{connections:?}");
}
