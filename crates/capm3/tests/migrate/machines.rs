//! Metal3Machine and Metal3MachineTemplate.

use crate::{machine, manifest, text};

/// Given a file of v1beta2 with `format`, the member gets its name of v1beta2.
#[test]
fn s38_format_is_corrected_in_a_file_of_v1beta2() {
    let machine = machine("automatedCleaningMode: metadata").replace("v1beta1", "v1beta2");
    let machine = machine.replace("  image:\n", "  image:\n    format: raw\n");
    text("s38", &machine, 0).gives(&["diskFormat: raw"]).reports(&["1 document, 1 change,"]);
}

/// Given the printed Metal3Machine with `Name`, one expression instead of a list and typographic quotes, it is correct.
#[test]
fn s52_the_printed_metal3machine_is_corrected() {
    manifest("s52", "000-10", 0).gives(&[
        "name: controlplane-0-metadata-0",
        "name: controlplane-metadata",
        "    - key: key2",
        "- abc",
        "- \"123\"",
    ]);
}

/// Given the Metal3Machine of the first designs with a dataTemplate, it is migrated, its status dropped and the missing
/// image asked for.
#[test]
fn s53_a_machine_with_a_data_template_asks_for_its_image() {
    for file in ["001-01", "003-01"] {
        manifest(&format!("s53-{file}"), file, 1).reports(&[
            "v1alpha4 -> ",
            "status: ",
            "image with url and checksum, or customDeploy with method",
        ]);
    }
}

/// Given the Metal3Machine of the first designs with own Secrets, the name that no Secret can have is reported.
#[test]
fn s54_a_secret_with_a_capital_letter_can_never_exist() {
    for file in ["001-02", "003-02"] {
        manifest(&format!("s54-{file}"), file, 1).reports(&[
            ":11: Metal3Machine machine-1: spec.networkData.name: ",
            "write: machine-1-networkdata",
        ]);
    }
}

/// Given selectors below `spec.providerSpec.value`, they are lifted to `spec`.
#[test]
fn s66_a_wrapped_selector_is_lifted() {
    manifest("s66", "000-06", 0)
        .gives(&["kind: Metal3Machine", "spec:\n  hostSelector:\n    matchLabels:\n      key1: value1\n"])
        .reports(&["spec.providerSpec.value.hostSelector"]);
}

/// Given the second example, both labels are there.
#[test]
fn s67_a_wrapped_selector_with_two_labels_is_lifted() {
    manifest("s67", "000-07", 0).gives(&["      key1: value1\n      key2: value2\n"]);
}

/// Given typographic quotes around values, the values are a, b and c.
#[test]
fn s68_typographic_quotes_are_taken_off() {
    manifest("s68", "000-08", 0).gives(&["      values:\n      - a\n      - b\n      - c\n"]);
}

/// Given labels and an expression, both are there.
#[test]
fn s69_labels_and_expressions_are_lifted_together() {
    manifest("s69", "000-09", 0).gives(&["key2: value2", "    - key: key3\n      operator: in\n"]);
}

/// Given matchExpressions as one map instead of a list, it is a list of one.
#[test]
fn s70_one_expression_is_a_list_of_one() {
    let selector = "hostSelector:\n  matchExpressions:\n    key: rack\n    operator: in\n    values: [a]";
    text("s70", &machine(selector), 0).gives(&["    matchExpressions:\n    - key: rack\n"]);
}

/// Given `values: { a, b }`, the values are the keys.
#[test]
fn s71_values_in_braces_are_a_list() {
    let selector =
        "hostSelector:\n  matchExpressions:\n  - key: rack\n    operator: in\n    values: { a, b }";
    text("s71", &machine(selector), 0).gives(&["      values:\n      - a\n      - b\n"]);
}

/// Given the printed Metal3MachineTemplate, it is corrected as the Metal3Machine is.
#[test]
fn s72_the_printed_machine_template_is_corrected() {
    manifest("s72", "000-13", 0).gives(&["name: m3mt-0-metadata", "diskFormat: raw", "- value2"]);
}

/// Given the machine template with the map of failure domains, it gets v1beta2 and `diskFormat`; the map stays.
#[test]
fn s199_the_machine_template_keeps_its_failure_domains() {
    manifest("s199", "004-03", 0)
        .gives(&["diskFormat: qcow2", "  - failureDomain: rack3\n    dataTemplate:\n"]);
}
