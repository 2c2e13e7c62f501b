//! Packet sizes that do not fit into each other.

use super::super::network_data::is_bond;

use crate::{
    lint::{Check, Draft, Example, NetworkData, Rule, Severity},
    validation::node::Node,
    wait::Code,
};

pub(in crate::lint) const RULE: Rule = Rule {
    code: Code::new("CAPM3-L045"),
    title: "the MTU of a link does not fit that of another",
    severity: Severity::Warning,
    why: "A VLAN cannot send larger packets than its parent, and a bond sets its MTU on its members. \
          IPv6 needs at least 1280. The kernel refuses the value, or packets are lost.",
    mend: "give the parent and the members of a bond the largest MTU that is used on top of them",
    example: Example {
        wrong: r#"ethernets:
- {id: eno1, type: phy, mtu: 1500}
vlans:
- {id: storage, vlanID: 40, vlanLink: eno1, mtu: 9000}"#,
        right: r#"ethernets:
- {id: eno1, type: phy, mtu: 9000}
vlans:
- {id: storage, vlanID: 40, vlanLink: eno1, mtu: 9000}"#,
    },
    check: Check::Document(check),
};

fn check(data: &NetworkData<'_>) -> Vec<Draft> {
    let links = data.links();
    let mut drafts: Vec<Draft> = links.iter().filter_map(|link| of_vlan(data, link)).collect();
    drafts.extend(links.iter().filter(|link| is_bond(link)).flat_map(|bond| of_bond(data, bond)));
    drafts
}

fn of_vlan(data: &NetworkData<'_>, vlan: &Node<'_>) -> Option<Draft> {
    let name = vlan.at("vlan_link").text()?;
    let (own, parent) = (vlan.at("mtu"), data.link(name)?.at("mtu").int()?);
    let mtu = own.int().filter(|mtu| *mtu > parent)?;
    Some(Draft::new(own.path(), format!("MTU {mtu} is larger than that of the parent {name}, {parent}")))
}

fn of_bond(data: &NetworkData<'_>, bond: &Node<'_>) -> Vec<Draft> {
    let Some(mtu) = bond.at("mtu").int() else { return Vec::new() };
    let members = bond.at("bond_links").items().filter_map(|id| data.link(id.text()?));
    let other = members.filter_map(|member| Some((member.at("mtu"), member.at("mtu").int()?)));
    let id = bond.at("id").text_or_empty();
    let message = |of: i64| format!("MTU {of} differs from that of the bond {id}, {mtu}");
    other.filter(|(_, of)| *of != mtu).map(|(node, of)| Draft::new(node.path(), message(of))).collect()
}
