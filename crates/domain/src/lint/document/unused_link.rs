//! A link that nothing uses.

use std::collections::BTreeSet;

use crate::{
    lint::{Check, Draft, Example, NetworkData, Rule, Severity},
    wait::Code,
};

pub(in crate::lint) const RULE: Rule = Rule {
    code: Code::new("CAPM3-L049"),
    title: "a link is used by no network, bond or VLAN",
    severity: Severity::Warning,
    why: "The node gets no address on it. NetworkManager and glean start DHCP on such a NIC, so that it \
          may get an address that nobody meant.",
    mend: "give the link a network, or remove it",
    example: Example {
        wrong: r#"links:
  ethernets:
  - {id: eno1, type: phy, macAddress: {fromHostInterface: eno1}}
  - {id: eno2, type: phy, macAddress: {fromHostInterface: eno2}}
networks:
  ipv4DHCP:
  - {id: n, link: eno1}"#,
        right: r#"links:
  ethernets:
  - {id: eno1, type: phy, macAddress: {fromHostInterface: eno1}}
networks:
  ipv4DHCP:
  - {id: n, link: eno1}"#,
    },
    check: Check::Document(check),
};

fn check(data: &NetworkData<'_>) -> Vec<Draft> {
    let (links, networks) = (data.links(), data.networks());
    let mut used: BTreeSet<&str> = networks.iter().filter_map(|network| network.at("link").text()).collect();
    for link in &links {
        used.extend(link.at("vlan_link").text());
        used.extend(link.at("bond_links").items().filter_map(|member| member.text()));
    }
    let ids = links.iter().map(|link| link.at("id"));
    let unused =
        ids.filter_map(|node| Some((node.path().to_owned(), node.text().filter(|id| !used.contains(id))?)));
    unused.map(|(path, id)| Draft::new(path, format!("no network, bond or VLAN uses link {id}"))).collect()
}
