//! Metal3Cluster.

use crate::{manifest, text};

/// Given the printed Metal3Cluster of v1beta1, only its version changes.
#[test]
fn s14_the_printed_metal3cluster_becomes_v1beta2() {
    manifest("s14", "000-02", 0).reports(&["apiVersion", "1 document, 1 change,"]);
}

/// Given `noCloudProvider` alone: true means that no cloud provider is enabled, false that one is, with a warning; both
/// members that contradict each other are for the user to decide.
#[test]
fn s18_no_cloud_provider_is_turned_around() {
    let cluster = |spec: &str| format!("kind: Metal3Cluster\nmetadata: {{name: c}}\nspec:\n  {spec}\n");
    text("s18-true", &cluster("noCloudProvider: true"), 0).gives(&["cloudProviderEnabled: false"]);
    text("s18-false", &cluster("noCloudProvider: false"), 0)
        .gives(&["cloudProviderEnabled: true"])
        .reports(&["warning: "]);
    text("s18-both", &cluster("noCloudProvider: true\n  cloudProviderEnabled: true"), 1)
        .reports(&["contradict each other", "write: keep cloudProviderEnabled alone"]);
}

/// Given `CloudProviderEnabled` with a capital C, it is corrected and reported.
#[test]
fn s19_a_capital_letter_in_a_member_is_corrected() {
    let cluster = "apiVersion: infrastructure.cluster.x-k8s.io/v1beta1\nkind: Metal3Cluster\nmetadata: {name: c}\nspec:\n  CloudProviderEnabled: false\n";
    text("s19", cluster, 0).gives(&["  cloudProviderEnabled: false"]).reports(&[
        "stdin:5: Metal3Cluster c: spec.CloudProviderEnabled: CloudProviderEnabled -> cloudProviderEnabled",
    ]);
}
