//! Metal3DataTemplate and its pools.

use crate::{manifest, text};

/// Given the printed Metal3DataTemplate of v1beta1 with pools, the owner without uid, the capital letters and the masks
/// are corrected, and the placeholder MAC addresses and the key in two lists are reported.
#[test]
fn s80_the_printed_data_template_with_pools_is_corrected() {
    manifest("s80", "000-14", 0)
        .gives(&["ipAddressFromIPPool: pool6-1", "prefix: 0"])
        .reports(&["XX:XX:XX:XX:XX:XX is not a MAC address", "key ip is in ipAddressesFromPool too"]);
}

/// Given the data template of the first design, with inline ranges, it becomes v1beta2 with inline ranges.
#[test]
fn s81_the_data_template_with_inline_ranges_keeps_them() {
    manifest("s81", "001-03", 0).gives(&[
        "    ipAddresses:\n    - key: ip\n",
        "        prefix: 24\n",
        "        prefix: 64\n",
        "step: 10",
    ]);
}

/// Given the data template of the second design, its key and its cluster stay, and a key that is no name is reported.
#[test]
fn s82_the_data_template_with_a_shared_key_keeps_it() {
    manifest("s82", "003-04", 0)
        .gives(&["templateReference: SharedRef", "clusterName: cluster-1"])
        .reports(&["SharedRef is not a valid object name"]);
}

/// Given `kind: Template`, as a heading calls it, the right kind is proposed.
#[test]
fn s83_a_kind_that_does_not_exist_gets_a_proposal() {
    let template = "apiVersion: infrastructure.cluster.x-k8s.io/v1alpha4\nkind: Template\nmetadata: {name: t}\nspec:\n  metaData:\n    strings: [{key: a, value: b}]\n";
    text("s83", template, 1)
        .reports(&["stdin:2: ", "there is no kind Template; write: kind: Metal3DataTemplate"]);
}

/// Given an owner without uid, it is dropped with a note; a complete one is kept; one that is in the input is filled in.
#[test]
fn s85_an_owner_without_uid_is_dropped_kept_or_filled_in() {
    let owned = |uid: &str| {
        format!(
            "apiVersion: infrastructure.cluster.x-k8s.io/v1beta2\nkind: Metal3DataTemplate\nmetadata:\n  name: t\n  ownerReferences:\n  - apiVersion: infrastructure.cluster.x-k8s.io/v1beta1\n    kind: Metal3Cluster\n    name: c\n{uid}spec: {{}}\n"
        )
    };
    let owner = "---\napiVersion: infrastructure.cluster.x-k8s.io/v1beta2\nkind: Metal3Cluster\nmetadata: {name: c, uid: u-1}\nspec: {}\n";
    let dropped = text("s85-dropped", &owned(""), 0);
    assert!(!dropped.documents.contains("ownerReferences"), "{}", dropped.documents);
    text("s85-kept", &owned("    uid: u-2\n"), 0)
        .gives(&["uid: u-2", "infrastructure.cluster.x-k8s.io/v1beta2"]);
    text("s85-filled", &format!("{}{owner}", owned("")), 0).gives(&["    name: c\n    uid: u-1\n"]);
}

/// Given `ipAddesses`, the spelling is corrected.
#[test]
fn s132_the_spelling_of_inline_addresses_is_corrected() {
    let template = "apiVersion: infrastructure.cluster.x-k8s.io/v1alpha4\nkind: Metal3DataTemplate\nmetadata: {name: t}\nspec:\n  metaData:\n    ipAddesses: [{key: ip, subnet: 10.0.0.0/24}]\n";
    text("s132", template, 0).gives(&["ipAddresses:"]).reports(&["ipAddesses -> ipAddresses (misspelt)"]);
}

/// Given three data templates without apiVersion, each gets v1beta2 and nothing else changes.
#[test]
fn s197_data_templates_without_version_get_one() {
    manifest("s197", "004-01", 0)
        .reports(&["3 documents, 3 changes, 3 warnings, 0 errors", "004-01.yaml:33: "]);
}

/// Given the printed pools, nothing is changed.
#[test]
fn s198_the_printed_pools_pass_as_they_are() {
    manifest("s198", "004-02", 0).reports(&["3 documents, 0 changes, 0 warnings, 0 errors"]);
}
