//! A MAC that no NIC of the host has, or that agents do not understand.

use super::super::network_data::{is_bond, is_vlan};

use crate::{
    lint::{Check, Draft, Example, Fix, NetworkData, Rule, Severity},
    render::is_mac,
    validation::node::Node,
    wait::Code,
};

pub(in crate::lint) const RULE: Rule = Rule {
    code: Code::new("CAPM3-L034"),
    title: "a NIC cannot be found by its MAC",
    severity: Severity::Error,
    why: "Agents compare the MAC with those of the kernel, which are written with colons. One with \
          dashes is never found although API servers accept it, nor is one that no NIC of the host has: \
          cloud-init waits, then ends with an error, and the node gets no network.",
    mend: "write the MAC of a NIC of the host with colons, or use `fromHostInterface`",
    example: Example {
        wrong: r#"macAddress: {string: 52-54-00-AA-00-01}"#,
        right: r#"macAddress: {string: "52:54:00:aa:00:01"}"#,
    },
    check: Check::Document(check),
};

fn check(data: &NetworkData<'_>) -> Vec<Draft> {
    let links = data.links();
    let nics = links.iter().filter(|link| !is_bond(link) && !is_vlan(link));
    nics.filter_map(|nic| judge(data, &nic.at("ethernet_mac_address"))).collect()
}

fn judge(data: &NetworkData<'_>, node: &Node<'_>) -> Option<Draft> {
    let mac = node.text()?;
    if mac.contains('-') && is_mac(mac) {
        let plain = mac.replace('-', ":").to_lowercase();
        let draft = Draft::new(node.path(), format!("MAC {mac} has dashes, with which no agent finds a NIC"));
        return Some(draft.help(format!("write it as {plain}")).fix(Fix::Replace(format!("\"{plain}\""))));
    }
    (data.nics_are_known && !data.nics.have(&mac.to_lowercase()))
        .then(|| Draft::new(node.path(), format!("no NIC of the host has the MAC {mac}")))
}
