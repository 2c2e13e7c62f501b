//! Statements of the design documents about `capm3 lint`, and no false alarm on what the repository shows as right.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may panic")]

#[allow(dead_code, reason = "only a part is used")]
mod common;

use common::{Run, capm3};
use serde_json::Value;

/// The mistakes of a code, in a file below the root of the repository.
fn mistakes(file: &str, code: &str) -> Vec<Value> {
    of_code(&capm3(&["lint", "-f", file, "-o", "json"], ""), code)
}

fn of_code(run: &Run, code: &str) -> Vec<Value> {
    let report = run.json();
    let mistakes = report["mistakes"].as_array().unwrap();
    mistakes.iter().filter(|mistake| mistake["code"] == code).cloned().collect()
}

fn case(code: &str) -> Vec<Value> {
    mistakes(&format!("crates/capm3/tests/lint/{code}/bad.yaml"), code)
}

fn text<'m>(mistake: &'m Value, member: &str) -> &'m str {
    mistake[member].as_str().unwrap()
}

/// A reference to the infrastructure template of another kind than Metal3MachineTemplate is an error that names kind and path.
#[test]
fn s22_a_template_of_another_kind_is_an_error() {
    let found = case("CAPM3-L011");
    assert_eq!(found.len(), 1, "{found:#?}");
    assert_eq!(text(&found[0], "severity"), "error");
    assert_eq!(text(&found[0], "field"), "spec.template.spec.infrastructureRef.kind");
    assert!(text(&found[0], "message").starts_with("Metal3Machine does not fit here"), "{found:#?}");
}

/// A bootstrap text that reads a metadata key that neither defaults nor template give is warned of with key and place.
#[test]
fn s27_a_key_that_is_not_rendered_is_warned_of() {
    let found = case("CAPM3-L012");
    assert_eq!(found.len(), 2, "{found:#?}");
    for (mistake, key) in found.iter().zip(["host_name", "racks"]) {
        assert_eq!(text(mistake, "severity"), "warning");
        assert!(text(mistake, "message").contains(&format!("metadata key {key} ")), "{mistake}");
        assert!(mistake["line"].as_u64().unwrap() > 20, "{mistake}");
    }
}

/// Given the printed control plane, deployment and templates, every reference that leads nowhere is listed with the nearest name.
#[test]
fn s34_every_dangling_reference_of_the_printed_set_is_listed() {
    let files: Vec<String> =
        ["000-01", "000-02", "000-03", "000-04", "000-05", "000-11", "000-12", "000-13", "000-14"]
            .map(|block| format!("tests/seeds/{block}.yaml"))
            .into();
    let mut arguments = vec!["lint", "-o", "json"];
    arguments.extend(files.iter().flat_map(|file| ["-f", file.as_str()]));
    let found = of_code(&capm3(&arguments, ""), "CAPM3-L010");
    assert!(found.len() > 1, "{found:#?}");
    let nearest = found.iter().filter(|mistake| text(mistake, "help").contains("the nearest is "));
    assert!(nearest.count() >= 1, "{found:#?}");
}

/// A Secret of the user that hangs in no tree of the cluster is warned of: a move leaves it behind.
#[test]
fn s43_a_secret_that_a_move_leaves_behind_is_warned_of() {
    let found = case("CAPM3-L015");
    assert_eq!(found.len(), 1, "{found:#?}");
    assert_eq!(text(&found[0], "object"), "Secret metal3/my-network");
    assert_eq!(case_of_good("CAPM3-L015").len(), 0);
}

fn case_of_good(code: &str) -> Vec<Value> {
    mistakes(&format!("crates/capm3/tests/lint/{code}/good.yaml"), code)
}

/// Network data of the user that is no Nova document is an error; a mistake in a Nova document is named with its path.
#[test]
fn s44_network_data_of_the_user_is_judged_with_paths() {
    let found = case("CAPM3-L014");
    assert_eq!(found.len(), 1, "{found:#?}");
    assert_eq!(text(&found[0], "field"), "stringData.networkData");
    let found = case("CAPM3-L031");
    assert_eq!(found.len(), 1, "{found:#?}");
    assert!(text(&found[0], "message").starts_with("networks[0].ip_address: "), "{found:#?}");
}

/// nmstate is recognised and left alone.
#[test]
fn s44_nmstate_is_not_judged() {
    let secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: my-network, namespace: metal3, labels: {clusterctl.cluster.x-k8s.io/move: ''}}\n\
                  stringData:\n  networkData: |\n    interfaces:\n    - {name: eno1, type: ethernet, state: up, ipv4: {enabled: true, dhcp: true}}\n---\n\
                  apiVersion: infrastructure.cluster.x-k8s.io/v1beta2\nkind: Metal3MachineTemplate\nmetadata: {name: t, namespace: metal3}\n\
                  spec: {template: {spec: {image: {url: 'http://a/b', checksum: 'http://a/c', checksumType: sha256}, networkData: {name: my-network}}}}\n";
    let run = capm3(&["lint", "-f", "-"], secret);
    assert_eq!((run.code, run.stdout.as_str()), (0, "no mistakes found\n"), "{}", run.text());
}

/// Expressions that are one map are an error that shows the corrected text.
#[test]
fn s70_one_expression_is_shown_as_a_list() {
    let found = case("CAPM3-L003");
    assert_eq!(found.len(), 1, "{found:#?}");
    let corrected = r#"matchExpressions: [{"key":"rack","operator":"in","values":["rack1"]}]"#;
    assert!(text(&found[0], "help").contains(corrected), "{found:#?}");
}

/// A key in two lists of metaData is warned of.
#[test]
fn s100_a_key_in_two_lists_is_a_warning_of_lint() {
    let found = case("CAPM3-L013");
    assert_eq!(found.len(), 1, "{found:#?}");
    assert!(text(&found[0], "message").contains("prefixesFromPool wins"), "{found:#?}");
}

/// A bond, VLAN or network that names no link is an error.
#[test]
fn s119_a_dangling_link_is_an_error_of_lint() {
    let found = case("CAPM3-L030");
    assert_eq!(found.len(), 2, "{found:#?}");
    assert!(found.iter().all(|mistake| text(mistake, "severity") == "error"), "{found:#?}");
}

/// Overlapping ranges of two templates without common templateReference are warned of, and so is a range that contains its
/// own gateway.
#[test]
fn s145_overlapping_ranges_are_warnings_of_lint() {
    for code in ["CAPM3-L022", "CAPM3-L023", "CAPM3-L029"] {
        let found = case(code);
        assert_eq!(found.len(), 1, "{found:#?}");
        assert_eq!(text(&found[0], "severity"), "warning", "{found:#?}");
    }
}

/// Kubelets that ask for an external cloud provider where there is none are warned of: their Nodes have no uuid label.
#[test]
fn s202_an_external_cloud_provider_that_is_not_enabled_is_warned_of() {
    let found = case("CAPM3-L017");
    assert_eq!(found.len(), 1, "{found:#?}");
    assert!(text(&found[0], "message").contains("no label metal3.io/uuid"), "{found:#?}");
}

/// A data template as attribute of a failure domain, and network data per domain in a data template, are errors that name the
/// right field.
#[test]
fn s218_data_of_a_failure_domain_in_the_wrong_place_is_an_error() {
    let found = case("CAPM3-L018");
    assert_eq!(found.len(), 1, "{found:#?}");
    assert!(text(&found[0], "help").contains("spec.failureDomainDataTemplates"), "{found:#?}");
    let template = "apiVersion: infrastructure.cluster.x-k8s.io/v1beta2\nkind: Metal3DataTemplate\nmetadata: {name: t}\n\
                    spec: {networkDataPerFailureDomain: {rack1: {}}}\n";
    let found = of_code(&capm3(&["lint", "-f", "-", "-o", "json"], template), "CAPM3-L018");
    assert_eq!(found.len(), 1, "{found:#?}");
    assert!(text(&found[0], "help").contains("spec.failureDomainDataTemplates"), "{found:#?}");
}

/// What the examples show is right, but for those that show troubles.
#[test]
fn examples_have_no_errors() {
    for folder in ["examples/three-racks", "examples/no-cloud-provider", "examples/remediation"] {
        let run = capm3(&["lint", "-f", folder, "-o", "json"], "");
        let report = run.json();
        let errors = report["mistakes"].as_array().unwrap().iter().filter(|it| it["severity"] == "error");
        assert_eq!(errors.collect::<Vec<_>>(), Vec::<&Value>::new(), "{folder}");
    }
}
