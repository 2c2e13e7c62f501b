//! An address of the other family.

use std::net::IpAddr;

use crate::{
    lint::{Check, Draft, Example, NetworkData, Rule, Severity},
    validation::node::Node,
    wait::Code,
};

pub(in crate::lint) const RULE: Rule = Rule {
    code: Code::new("CAPM3-L041"),
    title: "an address is not of the family of its network",
    severity: Severity::Error,
    why: "A network of type ipv4 has IPv4 addresses, one of type ipv6 has IPv6 addresses, and so have \
          its routes. Agents ignore the others, or end with an error.",
    mend: "use an address of the family, or move it to a network of the other type",
    example: Example {
        wrong: r#"networks:
- {id: n, type: ipv4, link: eno1, ip_address: "2001:db8::5", netmask: "ffff:ffff:ffff:ffff::"}"#,
        right: r#"networks:
- {id: n, type: ipv6, link: eno1, ip_address: "2001:db8::5", netmask: "ffff:ffff:ffff:ffff::"}"#,
    },
    check: Check::Document(check),
};

fn check(data: &NetworkData<'_>) -> Vec<Draft> {
    data.networks().iter().flat_map(of_network).collect()
}

fn of_network(network: &Node<'_>) -> Vec<Draft> {
    let type_ = network.at("type").text_or_empty();
    let (family, other): (&str, fn(IpAddr) -> bool) = match type_ {
        _ if type_.starts_with("ipv4") => ("IPv4", |address| address.is_ipv6()),
        _ if type_.starts_with("ipv6") => ("IPv6", |address| address.is_ipv4()),
        _ => return Vec::new(),
    };
    let mut addresses = vec![network.at("ip_address"), network.at("netmask")];
    for route in network.at("routes").items() {
        addresses.extend(["network", "netmask", "gateway"].map(|member| route.at(member)));
    }
    let wrong = addresses.iter().filter_map(|node| {
        let text = node.text()?;
        let address = text.split('/').next()?.parse::<IpAddr>().ok()?;
        other(address).then(|| Draft::new(node.path(), format!("{text} is not an {family} address")))
    });
    wrong.collect()
}
