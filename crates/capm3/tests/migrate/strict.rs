//! What is reported instead of guessed, and every manifest of the designs at once.

use crate::networks::routed;
use crate::{is_expected, machine, run, text};

/// Every manifest of the designs at once, so that each block goes through; only those blocks fail whose rows say so.
#[test]
fn every_manifest_of_the_designs_goes_through() {
    let run = run(&["-f", ".", "-o", "json"], "");
    let migration: serde_json::Value = serde_json::from_str(&run.documents).unwrap();
    let errors =
        migration["problems"].as_array().unwrap().iter().filter(|problem| problem["severity"] == "error");
    let mut files: Vec<&str> = errors.map(|problem| problem["file"].as_str().unwrap()).collect();
    files.dedup();
    let expected = ["003-05", "000-16", "001-01", "001-02", "003-01", "003-02", "004-05"]
        .map(|file| format!("./{file}.yaml"));
    assert_eq!(files, expected);
    assert_eq!(migration["documents"].as_array().unwrap().len(), 38);
    assert_eq!(run.code, 1);
}

/// Members that no version knows are errors, unless the user wants them removed.
#[test]
fn unknown_members_are_errors_unless_pruned() {
    let input = machine("dataTempalte: {name: x}\nzzz: 1");
    let found = text("unknown", &input, 1);
    found.reports(&["spec.dataTempalte: unknown field; write: dataTemplate", "spec.zzz: unknown field"]);
    let pruned = is_expected("pruned", run(&["-f", "-", "--prune"], &input));
    assert_eq!(pruned.code, 0);
    assert!(!pruned.documents.contains("zzz"), "{}", pruned.documents);
}

/// A word that YAML takes for a truth value is reported: what the user wrote would be lost.
#[test]
fn text_that_yaml_reads_as_something_else_is_reported() {
    text("not-text", &routed("gateway: 10.0.0.1").replace("id: net", "id: n"), 1).reports(&[
        "networks.ipv4DHCP[0].id: is false for YAML where text is expected; write: quotes around it",
    ]);
}

/// Wrong calls end with 2.
#[test]
fn wrong_usage_ends_with_2() {
    assert_eq!(run(&[], "").code, 2);
    assert_eq!(run(&["-f", "no-such-file.yaml"], "").code, 2);
}

/// What the provider's own admission would refuse is reported with its line, and never passes as done.
#[test]
fn what_an_api_server_would_refuse_is_reported() {
    let template = "apiVersion: infrastructure.cluster.x-k8s.io/v1beta2\nkind: Metal3DataTemplate\nmetadata: {name: t}\nspec:\n  metaData:\n    fromHostInterfaces:\n    - key: mac\n  networkData:\n    networks:\n      ipv4:\n      - id: net\n        link: e\n";
    text("refused", template, 1).reports(&[
        "stdin:7: Metal3DataTemplate t: spec.metaData.fromHostInterfaces[0]: an API server refuses it: ",
        "stdin:11: Metal3DataTemplate t: spec.networkData.networks.ipv4[0]: an API server refuses it: ",
    ]);
}

/// A key that occurs twice is reported with both lines, and no other indentation is proposed for it.
#[test]
fn a_key_that_stands_twice_is_reported_with_both_lines() {
    let cluster = "apiVersion: infrastructure.cluster.x-k8s.io/v1beta1\nkind: Metal3Cluster\nmetadata: {name: c}\nspec:\n  cloudProviderEnabled: true\n  controlPlaneEndpoint: {host: a, port: 6443}\n  cloudProviderEnabled: false\n";
    let run = run(&["-f", "-"], cluster);
    assert_eq!(run.code, 1);
    assert_eq!(
        run.report.lines().next().unwrap(),
        "error: stdin:7: not valid YAML: duplicate mapping key: cloudProviderEnabled occurs twice, in lines 5 and 7; write: one of the two alone"
    );
}
