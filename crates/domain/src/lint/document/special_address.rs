//! An address that no node can have.

use std::net::IpAddr;

use super::super::network_data::{is_static, subnet};

use crate::{
    lint::{Check, Draft, Example, NetworkData, Rule, Severity},
    validation::node::Node,
    wait::Code,
};

pub(in crate::lint) const RULE: Rule = Rule {
    code: Code::new("CAPM3-L040"),
    title: "the address of a network is reserved in its subnet",
    severity: Severity::Error,
    why: "The first address of an IPv4 subnet means the subnet and the last one all nodes of it, and the \
          address of the gateway belongs to the router. A node with such an address does not reach \
          anything, or takes the router's place.",
    mend: "take these addresses out of the range that the pool or the template gives out",
    example: Example {
        wrong: r#"networks:
- {id: n, type: ipv4, link: eno1, ip_address: 10.0.0.255, netmask: 255.255.255.0}"#,
        right: r#"networks:
- {id: n, type: ipv4, link: eno1, ip_address: 10.0.0.5, netmask: 255.255.255.0}"#,
    },
    check: Check::Document(check),
};

fn check(data: &NetworkData<'_>) -> Vec<Draft> {
    data.networks().iter().filter(|network| is_static(network)).filter_map(judge).collect()
}

fn judge(network: &Node<'_>) -> Option<Draft> {
    let subnet = subnet(network)?;
    let address = subnet.addr();
    let routes = network.at("routes").items();
    let mut gateways = routes.filter_map(|route| route.at("gateway").text()?.parse::<IpAddr>().ok());
    let has_ends = address.is_ipv4() && subnet.prefix_len() < 31;
    let what = match address {
        _ if gateways.any(|gateway| gateway == address) => "the address of its gateway".to_owned(),
        _ if has_ends && address == subnet.network() => {
            format!("the address of the subnet {} itself", subnet.trunc())
        }
        _ if has_ends && address == subnet.broadcast() => {
            format!("the broadcast address of {}", subnet.trunc())
        }
        _ => return None,
    };
    Some(Draft::new(network.at("ip_address").path(), format!("{address} is {what}")))
}
