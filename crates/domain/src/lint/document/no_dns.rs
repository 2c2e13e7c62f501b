//! A node without name servers.

use super::super::network_data::is_static;

use crate::{
    lint::{Check, Draft, Example, NetworkData, Rule, Severity},
    validation::node::Node,
    wait::Code,
};

pub(in crate::lint) const RULE: Rule = Rule {
    code: Code::new("CAPM3-L050"),
    title: "no name server is given although all addresses are static",
    severity: Severity::Warning,
    why: "A node that gets nothing by DHCP or router advertisements has only the name servers of its \
          network data. Without any it cannot resolve the name of a registry.",
    mend: "list name servers in services.dns, or name a pool with dnsServers in services.dnsFromIPPool",
    example: Example {
        wrong: r#"networkData:
  networks:
    ipv4:
    - {id: n, link: eno1, ipAddressFromIPPool: pool}"#,
        right: r#"networkData:
  networks:
    ipv4:
    - {id: n, link: eno1, ipAddressFromIPPool: pool}
  services:
    dnsFromIPPool: pool"#,
    },
    check: Check::Document(check),
};

fn check(data: &NetworkData<'_>) -> Vec<Draft> {
    let networks = data.networks();
    let is_dns = |service: &Node<'_>| service.at("type").text() == Some("dns");
    let of_network = |network: &Node<'_>| {
        let own = network.at("services").items();
        let of_routes = network.at("routes").items().flat_map(|route| route.at("services").items());
        own.chain(of_routes).any(|service| is_dns(&service))
    };
    let has_dns = data.services().iter().any(is_dns) || networks.iter().any(of_network);
    match networks.iter().all(is_static) && !networks.is_empty() && !has_dns {
        true => vec![Draft::new("services", "all addresses are static and no name server is given")],
        false => Vec::new(),
    }
}
