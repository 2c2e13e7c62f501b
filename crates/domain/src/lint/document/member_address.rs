//! A member of a bond that is used otherwise too.

use std::collections::BTreeMap;

use super::super::network_data::is_bond;

use crate::{
    lint::{Check, Draft, Example, NetworkData, Rule, Severity},
    wait::Code,
};

pub(in crate::lint) const RULE: Rule = Rule {
    code: Code::new("CAPM3-L051"),
    title: "a member of a bond has an address, a VLAN or a second bond",
    severity: Severity::Error,
    why: "A NIC in a bond carries the traffic of the bond only. Addresses and VLANs on it are not \
          reached, and the kernel takes it into one bond only.",
    mend: "move the address or the VLAN to the bond, and name each NIC in one bond",
    example: Example {
        wrong: r#"links:
  bonds:
  - {id: bond0, bondMode: 802.3ad, bondLinks: [eno1, eno2]}
networks:
  ipv4:
  - {id: n, link: eno1, ipAddressFromIPPool: pool}"#,
        right: r#"links:
  bonds:
  - {id: bond0, bondMode: 802.3ad, bondLinks: [eno1, eno2]}
networks:
  ipv4:
  - {id: n, link: bond0, ipAddressFromIPPool: pool}"#,
    },
    check: Check::Document(check),
};

fn check(data: &NetworkData<'_>) -> Vec<Draft> {
    let (links, networks) = (data.links(), data.networks());
    let mut bond_of: BTreeMap<&str, &str> = BTreeMap::new();
    let mut drafts = Vec::new();
    for bond in links.iter().filter(|link| is_bond(link)) {
        let id = bond.at("id").text_or_empty();
        for member in bond.at("bond_links").items() {
            let Some(name) = member.text() else { continue };
            let first = *bond_of.entry(name).or_insert(id);
            if first != id {
                drafts.push(Draft::new(member.path(), format!("{name} is in bond {first} already")));
            }
        }
    }
    let parents = links.iter().map(|link| (link.at("vlan_link"), "a VLAN is on"));
    let uses = parents.chain(networks.iter().map(|network| (network.at("link"), "a network is on")));
    drafts.extend(uses.filter_map(|(node, what)| {
        let name = node.text()?;
        let bond = bond_of.get(name)?;
        Some(Draft::new(node.path(), format!("{what} {name}, which is a member of bond {bond}")))
    }));
    drafts
}
