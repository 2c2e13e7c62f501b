//! Numbers and truth values in the forms in which people write them.

use crate::{network_data, text};

const TEMPLATE: &str = "apiVersion: infrastructure.cluster.x-k8s.io/v1beta1\nkind: Metal3DataTemplate\nmetadata: {name: t}\nspec:\n";

/// A number in quotes, or with a fraction of nothing, is that number, and it is reported.
#[test]
fn a_number_in_quotes_is_a_number() {
    let indexes =
        format!("{TEMPLATE}  metaData:\n    indexes:\n    - {{key: a, offset: \"5\", step: \"0\"}}\n");
    text("number-quoted", &indexes, 0)
        .gives(&["offset: 5\n", "step: 1\n"])
        .reports(&["metaData.indexes[0].offset: \"5\" -> 5 (a number, which needs no quotes)"]);
    let vlan = "links:\n  vlans:\n  - id: v\n    vlanId: \"5\"\n    mtu: 1500.0\n    vlanLink: eth0\n    macAddress: {fromHostInterface: eth0}";
    text("number-vlan", &network_data(vlan), 0).gives(&["vlanID: 5\n", "mtu: 1500\n"]);
}

/// A fraction, a number that no field can hold, and text that is no number are reported with their lines and stay.
#[test]
fn a_value_that_is_no_whole_number_is_reported() {
    let ethernet = "links:\n  ethernets:\n  - id: e\n    type: phy\n    mtu: 1500.5\n    macAddress: {fromHostInterface: eth0}";
    text("number-fraction", &network_data(ethernet), 1)
        .reports(&["stdin:11: ", "links.ethernets[0].mtu: is 1500.5, which is not a whole number"]);
    let step =
        |step: &str| format!("{TEMPLATE}  metaData:\n    indexes:\n    - key: a\n      step: {step}\n");
    text("number-huge", &step("99999999999999999999999"), 1)
        .reports(&["stdin:8: ", "larger than the field can hold; write: a whole number"]);
    text("number-text", &step("\"1 \""), 1).reports(&["is the text \"1 \" where a whole number is expected"]);
}

/// A truth value in quotes is one; another word is not.
#[test]
fn a_truth_value_in_quotes_is_a_truth_value() {
    let cluster = |value: &str| {
        format!(
            "apiVersion: infrastructure.cluster.x-k8s.io/v1beta2\nkind: Metal3Cluster\nmetadata: {{name: c}}\nspec:\n  controlPlaneEndpoint: {{host: a, port: 6443}}\n  cloudProviderEnabled: {value}\n"
        )
    };
    text("truth-quoted", &cluster("\"true\""), 0).gives(&["cloudProviderEnabled: true\n"]);
    text("truth-word", &cluster("\"enabled\""), 1)
        .reports(&["stdin:6: ", "where a boolean is expected; write: true or false"]);
}
