//! A gateway that the node cannot reach.

use std::net::IpAddr;

use ipnet::IpNet;

use super::super::network_data::{destination, is_static, subnet};

use crate::{
    lint::{Check, Draft, Example, NetworkData, Rule, Severity},
    validation::node::Node,
    wait::Code,
};

pub(in crate::lint) const RULE: Rule = Rule {
    code: Code::new("CAPM3-L039"),
    title: "a gateway is outside of the subnet of its network",
    severity: Severity::Error,
    why: "The kernel refuses a route whose gateway is in no subnet of the device. A node without its \
          default route does not reach the API server or the registry.",
    mend: "use a gateway of the subnet, or correct address and prefix of the network",
    example: Example {
        wrong: r#"networks:
- id: n
  type: ipv4
  link: eno1
  ip_address: 10.0.0.5
  netmask: 255.255.255.0
  routes: [{network: 0.0.0.0, netmask: 0.0.0.0, gateway: 10.0.1.1}]"#,
        right: r#"networks:
- id: n
  type: ipv4
  link: eno1
  ip_address: 10.0.0.5
  netmask: 255.255.255.0
  routes: [{network: 0.0.0.0, netmask: 0.0.0.0, gateway: 10.0.0.1}]"#,
    },
    check: Check::Document(check),
};

fn check(data: &NetworkData<'_>) -> Vec<Draft> {
    let networks = data.networks();
    let mut drafts = Vec::new();
    for network in networks.iter().filter(|network| is_static(network)) {
        let Some(subnet) = subnet(network) else { continue };
        // Another network of the same link may have the gateway, and a route may make it reachable.
        let link = network.at("link").text();
        let of_link = networks.iter().filter(|other| other.at("link").text() == link);
        let reached: Vec<IpNet> = of_link.flat_map(|other| subnet_and_device_routes(other)).collect();
        for route in network.at("routes").items() {
            let node = route.at("gateway");
            let Some(gateway) = node.text().and_then(|text| text.parse::<IpAddr>().ok()) else { continue };
            let is_reached = reached.iter().any(|net| net.contains(&gateway)) || is_link_local(gateway);
            if gateway.is_ipv4() == subnet.addr().is_ipv4() && !is_reached {
                let message = format!("gateway {gateway} is outside of {}", subnet.trunc());
                drafts.push(Draft::new(node.path(), message));
            }
        }
    }
    drafts
}

fn subnet_and_device_routes(network: &Node<'_>) -> Vec<IpNet> {
    let device = network.at("routes").items().filter(|route| route.at("gateway").text().is_none());
    subnet(network).into_iter().chain(device.filter_map(|route| destination(&route))).collect()
}

/// Every device reaches its link-local neighbours.
fn is_link_local(address: IpAddr) -> bool {
    matches!(address, IpAddr::V6(v6) if v6.is_unicast_link_local())
}
