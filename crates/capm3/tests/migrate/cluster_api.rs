//! The kinds of Cluster API.

use std::{fs, path::Path};

use crate::{manifest, text};

/// Given the printed Cluster, whose references are of v1beta2, nothing is changed.
#[test]
fn s13_the_printed_cluster_passes_as_it_is() {
    manifest("s13", "000-01", 0).reports(&["1 document, 0 changes"]);
}

/// Given the printed Machine, which names no cluster, the label says which.
#[test]
fn s28_the_cluster_of_a_machine_is_taken_from_its_label() {
    manifest("s28", "000-05", 0)
        .gives(&["clusterName: cluster"])
        .reports(&["spec.clusterName: missing -> cluster (taken from the cluster label)"]);
}

/// Given a Machine that names no cluster and has no label, the user is asked.
#[test]
fn s28_a_machine_without_cluster_and_label_is_an_error() {
    let machine = "apiVersion: cluster.x-k8s.io/v1beta1\nkind: Machine\nmetadata: {name: m}\nspec:\n  bootstrap: {dataSecretName: s}\n";
    text("s28-no-label", machine, 1).reports(&["clusterName is missing and there is no cluster label"]);
}

/// Given the printed MachineDeployment, its template gets the cluster of the deployment.
#[test]
fn s31_the_cluster_of_a_machine_template_is_that_of_its_deployment() {
    manifest("s31", "000-11", 0)
        .reports(&["spec.template.spec.clusterName: missing -> cluster (taken from spec.clusterName)"]);
}

/// Given the control plane in the form of v1beta1 without a version, its form says which it is, and it is converted.
#[test]
fn s200_the_control_plane_of_v1beta1_is_converted() {
    manifest("s200", "004-04", 0)
        .gives(&["    spec:\n      infrastructureRef:\n        apiGroup: infrastructure.cluster.x-k8s.io\n"])
        .gives(&["        - name: cloud-provider\n          value: external\n"])
        .reports(&["by its form the document is of v1beta1"]);
}

/// Objects of v1beta1 as people have them in their repositories: references by version, durations, strategies, maps, and
/// what Go clients write for unset.
#[test]
fn v1beta1_shapes_of_every_kind_are_converted() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/cluster-api-v1beta1.yaml");
    let run = text("v1beta1", &fs::read_to_string(file).unwrap(), 0);
    run.gives(&[
        "        retryPeriodSeconds: 120\n".trim_start(),
        "      deletion:\n        nodeDrainTimeoutSeconds: 300\n",
        "    templateRef:\n      apiVersion: infrastructure.cluster.x-k8s.io/v1beta2\n",
        "        timeoutSeconds: 300\n",
        "  - name: rack1\n",
        "        - name: bond-lacp-rate\n          value: fast\n        - name: bond-miimon\n          value: 100\n",
    ]);
    for old in [
        "v1beta1",
        "bondXmitHashPolicy",
        "progressDeadlineSeconds",
        "strategy:\n    rollingUpdate",
        "bondLinks",
    ] {
        assert!(!run.documents.contains(old), "{old} is in:\n{}", run.documents);
    }
}
