//! A static network that lacks its address or its mask.

use super::super::network_data::is_static;

use crate::{
    lint::{Check, Draft, Example, NetworkData, Rule, Severity},
    validation::node::Node,
    wait::Code,
};

pub(in crate::lint) const RULE: Rule = Rule {
    code: Code::new("CAPM3-L031"),
    title: "a static network has no address or no netmask",
    severity: Severity::Error,
    why: "Without an address cloud-init ends with an error and the node gets no network. Without a \
          netmask it assumes /24 or /64 without a word, and glean fails.",
    mend: "give the network an address and a netmask; in a template, give the pool addresses and a prefix",
    example: Example {
        wrong: r#"networks:
- {id: n, type: ipv4, link: eno1, ip_address: 10.0.0.5}"#,
        right: r#"networks:
- {id: n, type: ipv4, link: eno1, ip_address: 10.0.0.5, netmask: 255.255.255.0}"#,
    },
    check: Check::Document(check),
};

fn check(data: &NetworkData<'_>) -> Vec<Draft> {
    let networks = data.networks();
    let fixed = networks.iter().filter(|network| is_static(network));
    fixed.filter_map(judge).collect()
}

fn judge(network: &Node<'_>) -> Option<Draft> {
    let address = network.at("ip_address").text();
    let has_prefix = address.is_some_and(|address| address.contains('/'));
    match address {
        None => Some(Draft::new(network.path(), "the network has no address")),
        Some(_) if has_prefix || network.at("netmask").text().is_some() => None,
        Some(address) => {
            Some(Draft::new(network.at("ip_address").path(), format!("address {address} has no netmask")))
        }
    }
}
