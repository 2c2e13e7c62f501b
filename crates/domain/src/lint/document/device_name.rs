//! A device name that the kernel does not take.

use super::super::network_data::{is_bond, is_vlan};

use crate::{
    lint::{Check, Draft, Example, NetworkData, Rule, Severity},
    validation::node::Node,
    wait::Code,
};

pub(in crate::lint) const RULE: Rule = Rule {
    code: Code::new("CAPM3-L038"),
    title: "the device name of a link is too long",
    severity: Severity::Error,
    why: "Names of network devices have at most 15 letters. A VLAN is named after the device of its \
          parent, a dot and its number, whatever its id; the kernel refuses a longer name, so the VLAN \
          with its addresses is not there.",
    mend: "shorten the name of the parent with `name`, or put the VLAN on a bond with a short name",
    example: Example {
        wrong: r#"ethernets:
- {id: nic, type: phy, name: enp134s0f0np0, macAddress: {fromHostInterface: enp134s0f0np0}}
vlans:
- {id: v, vlanID: 1234, vlanLink: nic}"#,
        right: r#"ethernets:
- {id: nic, type: phy, name: lan0, macAddress: {fromHostInterface: enp134s0f0np0}}
vlans:
- {id: v, vlanID: 1234, vlanLink: nic}"#,
    },
    check: Check::Document(check),
};

/// The kernel's limit.
const LONGEST: usize = 15;

fn check(data: &NetworkData<'_>) -> Vec<Draft> {
    data.links()
        .iter()
        .filter_map(|link| if is_vlan(link) { of_vlan(data, link) } else { of_link(link) })
        .collect()
}

fn of_link(link: &Node<'_>) -> Option<Draft> {
    let node = link.at("name");
    let name = node.text().filter(|name| name.len() > LONGEST)?;
    let message = format!("device name {name} has {} letters, the kernel takes {LONGEST}", name.len());
    Some(Draft::new(node.path(), message).help("choose a shorter name"))
}

fn of_vlan(data: &NetworkData<'_>, vlan: &Node<'_>) -> Option<Draft> {
    let parent = data.link(vlan.at("vlan_link").text()?)?;
    let device = device_of(data, &parent)?;
    let name = format!("{device}.{}", vlan.at("vlan_id").int()?);
    (name.len() > LONGEST).then(|| {
        let message = format!("device name {name} has {} letters, the kernel takes {LONGEST}", name.len());
        Draft::new(vlan.at("vlan_id").path(), message)
    })
}

/// The name of a NIC is its `name`, or else what the kernel of an inspected host calls it. Bonds without names are numbered,
/// which is short.
fn device_of<'a>(data: &'a NetworkData<'_>, parent: &Node<'a>) -> Option<&'a str> {
    let mac = || parent.at("ethernet_mac_address").text().filter(|_| data.nics_are_known && !is_bond(parent));
    parent.at("name").text().or_else(|| data.nics.name(&mac()?.to_lowercase()))
}
