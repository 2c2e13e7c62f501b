//! Workload clusters that come late, move, or do not answer.

use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::json;

use crate::{common::*, support::*};

/// The example with one machine of the control plane, whose kubeconfig leads nowhere until it is mended.
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
async fn a_cluster_that_cannot_be_reached_is_said_with_its_cause_and_reached_when_the_kubeconfig_is_mended() {
    let (lab, machine) = unreachable().await;
    let said = get(&lab, "Metal3Machine", &machine).pointer("/status/conditions").unwrap().to_string();
    assert!(said.contains("waiting for workload cluster my-cluster to be reachable"), "{said}");
    assert!(said.contains("192.0.2.1"), "{said}");
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

#[tokio::test(start_paused = true)]
async fn a_kubeconfig_that_is_made_anew_leads_to_the_cluster_at_once() {
    let (lab, machine) = unreachable().await;
    let before = tokio::time::Instant::now();
    // The control plane makes the Secret anew when it looks next.
    delete(&lab, "v1", "Secret", "my-cluster-kubeconfig").await;
    rest(&lab).await;
    assert_eq!(condition(&get(&lab, "Metal3Machine", &machine), "Ready").0, "True");
    assert!(before.elapsed().as_secs() < 5, "woken, not polled");
}

/// A Cluster of the same name that comes after the first is connected to anew.
#[tokio::test(start_paused = true)]
async fn another_cluster_of_the_same_name_is_connected_to_anew() {
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
