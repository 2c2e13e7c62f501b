//! Links, networks, routes and services of a data template.

use crate::{network_data, text};

/// Given bond mode `802.1ad`, it becomes `802.3ad` with a warning.
#[test]
fn s115_the_bond_mode_that_is_none_is_corrected_with_a_warning() {
    let bond =
        "links:\n  bonds:\n  - id: bond0\n    bondMode: 802.1ad\n    macAddress: {fromHostInterface: eth0}";
    text("s115", &network_data(bond), 0).gives(&["bondMode: 802.3ad"]).reports(&["warning: "]);
}

/// Given `vlanId`, it becomes `vlanID`.
#[test]
fn s118_vlan_id_is_written_with_capitals() {
    let vlan = "links:\n  vlans:\n  - id: v\n    vlanId: 7\n    vlanLink: eth0\n    macAddress: {fromHostInterface: eth0}";
    text("s118", &network_data(vlan), 0).gives(&["vlanID: 7"]);
}

/// Given `IPAddressFromIPPool`, its case is corrected.
#[test]
fn s121_the_case_of_the_pool_of_an_address_is_corrected() {
    let network = "networks:\n  ipv4:\n  - id: net\n    link: eth0\n    IPAddressFromIPPool: pool-1";
    text("s121", &network_data(network), 0).gives(&["ipAddressFromIPPool: pool-1"]);
}

/// Given `ipv4Dhcp`, `ipv6Dhcp` and `ipv6Slaac`, their case is corrected.
#[test]
fn s123_the_case_of_automatic_networks_is_corrected() {
    let networks = "networks:\n  ipv4Dhcp: [{id: a, link: l}]\n  ipv6Dhcp: [{id: b, link: l}]\n  ipv6Slaac: [{id: c, link: l}]";
    text("s123", &network_data(networks), 0).gives(&["ipv4DHCP:", "ipv6DHCP:", "ipv6SLAAC:"]);
}

pub fn routed(route: &str) -> String {
    network_data(&format!(
        "networks:\n  ipv4DHCP:\n  - id: net\n    link: l\n    routes:\n    - network: 10.0.0.0\n      {route}"
    ))
}

/// Given a route with `netmask`, as a number or as text, it has a prefix; a prefix that says something else is for the
/// user to decide.
#[test]
fn s125_the_mask_of_a_route_becomes_its_prefix() {
    text("s125-number", &routed("netmask: 24"), 0).gives(&["prefix: 24"]);
    text("s125-text", &routed("netmask: 255.255.0.0"), 0).gives(&["prefix: 16"]);
    text("s125-both", &routed("netmask: 24\n      prefix: 16"), 1).reports(&[
        "says 24 but",
        "says 16",
        "write: keep one of the two as ",
    ]);
    text("s125-same", &routed("netmask: 24\n      prefix: 24"), 0).gives(&["prefix: 24"]);
}

/// Given a gateway as plain text, it is wrapped.
#[test]
fn s127_a_gateway_as_text_is_wrapped() {
    text("s127", &routed("gateway: 10.0.0.1"), 0).gives(&["gateway:\n            string: \"10.0.0.1\"\n"]);
}

/// Given services as a list in every form of the designs, they are one list of servers without duplicates.
#[test]
fn s130_services_are_merged() {
    let services = "services:\n      - type: dns\n        address: 8.8.8.8\n      - dns: 8.8.4.4\n      - dns: [8.8.8.8, 1.1.1.1]";
    text("s130", &routed(services), 0)
        .gives(&["dns:\n            - \"8.8.8.8\"\n            - \"8.8.4.4\"\n            - \"1.1.1.1\"\n"]);
    text("s130-unknown", &routed("services: [{type: ntp, address: 8.8.8.8}]"), 1)
        .reports(&["is not a service that can be read"]);
}

/// Given a network with `netmask: 24`, it has a prefix.
#[test]
fn s141_the_mask_of_a_network_becomes_its_prefix() {
    let network = "networks:\n  ipv4:\n  - id: net\n    link: eth0\n    ipAddress: {start: 10.0.0.10, end: 10.0.0.20}\n    netmask: 24";
    text("s141", &network_data(network), 0).gives(&["prefix: 24"]);
}

/// Given a pool beside a mask, the pool says the prefix: an equal one in the input makes the mask superfluous, a different
/// one or none is for the user to decide, for an API server takes no prefix beside a pool.
#[test]
fn a_mask_beside_a_pool_is_asked_for_unless_the_pool_says_it() {
    let network = network_data("networks:\n  ipv4: [{id: q, link: e, ipAddressFromIPPool: p, netmask: 24}]");
    let pool = |prefix: i32| {
        format!(
            "{network}---\napiVersion: ipam.metal3.io/v1alpha1\nkind: IPPool\nmetadata: {{name: p}}\nspec: {{namePrefix: p, prefix: {prefix}, pools: [{{start: 10.0.0.1, end: 10.0.0.9}}]}}\n"
        )
    };
    text("prefix-beside-pool", &network, 1).reports(&[
        "stdin:8: ",
        "a network with a pool has no prefix of its own",
        "write: remove it, and make sure that pool p has prefix: 24",
    ]);
    let dropped = text("prefix-of-pool", &pool(24), 0);
    dropped.reports(&["24 -> removed (pool p says it"]);
    text("prefix-unlike-pool", &pool(16), 1).reports(&["says 24, but pool p, whose prefix is used, says 16"]);
}
