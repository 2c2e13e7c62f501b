//! Metadata, which is no part of the kinds' own schemas.

use crate::{is_expected, run, text};

fn template(metadata: &str) -> String {
    format!(
        "apiVersion: infrastructure.cluster.x-k8s.io/v1beta2\nkind: Metal3DataTemplate\nmetadata:\n{metadata}spec: {{}}\n"
    )
}

/// A member that no object has, and values that YAML does not take for text, are reported with their lines; only the member
/// can be pruned.
#[test]
fn metadata_has_known_members_and_text_in_them() {
    let input =
        template("  name: a\n  namespace: no\n  foo: bar\n  labels: {x: 1, y: }\n  annotations: {z: true}\n");
    let reported = text("metadata", &input, 1);
    reported.reports(&[
        "stdin:5: Metal3DataTemplate a: metadata.namespace: is false for YAML where text is expected; write: quotes around it",
        "stdin:6: Metal3DataTemplate a: metadata.foo: unknown field; write: ",
        "stdin:7: Metal3DataTemplate a: metadata.labels.x: is 1 for YAML where text is expected; write: quotes around it",
        "stdin:7: Metal3DataTemplate a: metadata.labels.y: is empty where text is expected",
        "stdin:8: Metal3DataTemplate a: metadata.annotations.z: is true for YAML",
    ]);
    let pruned = is_expected("metadata-pruned", run(&["-f", "-", "--prune"], &input));
    assert_eq!(pruned.code, 1);
    assert!(!pruned.documents.contains("foo"), "{}", pruned.documents);
}

/// What `kubectl get -o yaml` writes into metadata is known; the case of a member is corrected.
#[test]
fn metadata_as_servers_write_it_passes() {
    let input = template(
        "  Name: a\n  uid: u\n  resourceVersion: \"5\"\n  generation: 3\n  creationTimestamp: 2026-01-01T00:00:00Z\n  finalizers: [a/b]\n  managedFields:\n  - manager: kubectl\n    fieldsV1: {\"f:spec\": {}}\n",
    );
    text("metadata-server", &input, 0).gives(&["  name: a\n"]).reports(&["1 document, 1 change, 0 warnings"]);
}

/// Kinds of others that pass as they are have metadata too.
#[test]
fn metadata_of_neighbours_is_looked_at() {
    let pool = "apiVersion: ipam.metal3.io/v1alpha1\nkind: IPPool\nmetadata: {name: p, namespace: on}\nspec: {namePrefix: p, prefix: 24, pools: [{start: 10.0.0.1, end: 10.0.0.9}]}\n";
    text("metadata-pool", pool, 1).reports(&["stdin:3: IPPool p: metadata.namespace: is true for YAML"]);
}
