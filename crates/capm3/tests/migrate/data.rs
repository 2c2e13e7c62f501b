//! Metal3Data, its claim and its Secrets.

use std::fs;

use crate::{manifest, seeds, text};

/// Given the printed Metal3DataClaim, its owner without uid and its status are dropped.
#[test]
fn s146_the_printed_claim_is_migrated() {
    for file in ["000-15", "003-03"] {
        manifest(&format!("s146-{file}"), file, 0).gives(&["  template:\n    name: nodepool-1\n"]);
    }
}

/// Given the Metal3Data whose name and namespace contradict its references, both are reported, with the name of the owner.
#[test]
fn s147_data_that_contradicts_itself_is_reported() {
    manifest("s147", "000-16", 1)
        .reports(&["write: spec.template.name: nodepool-1", "the object is in namespace default, but"]);
}

/// Given Metal3Data with `metal3Machine`, it has a claim, its template is the owner, and one Secret for both is reported.
#[test]
fn s148_data_of_a_machine_becomes_data_of_a_claim() {
    for file in ["001-04", "002-01"] {
        manifest(&format!("s148-{file}"), file, 0)
            .gives(&["  claim:\n    name: machine-1\n", "  template:\n    name: nodepool-1\n"])
            .reports(&["one Secret, machine-1-metadata, for both", "write: machine-1-networkdata"]);
    }
}

/// Given the Metal3Data that no YAML parser reads, the line, the column and the correction are reported; corrected, it is
/// migrated.
#[test]
fn s149_a_wrong_indentation_is_reported_with_its_correction() {
    manifest("s149", "003-05", 1).reports(&["003-05.yaml:20: ", "column 2", "column 3", "\"  claim:\""]);
    let corrected =
        fs::read_to_string(seeds().join("003-05.yaml")).unwrap().replace("\n claim:", "\n  claim:");
    text("s149-corrected", &corrected, 0)
        .gives(&["  template:\n    name: nodepool-1\n    namespace: default\n"]);
}

/// Given the Secret with its content under `spec`, it is a Secret that can be used.
#[test]
fn s175_the_printed_secret_becomes_a_secret() {
    for file in ["001-05", "003-06"] {
        manifest(&format!("s175-{file}"), file, 0).gives(&[
            "type: infrastructure.cluster.x-k8s.io/secret",
            "stringData:\n  metaData: |\n    abc: def\n",
        ]);
    }
}
