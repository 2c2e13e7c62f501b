//! Bond options that the mode does not have.

use super::super::network_data::is_bond;

use crate::{
    lint::{Check, Draft, Example, NetworkData, Rule, Severity},
    validation::node::Node,
    wait::Code,
};

pub(in crate::lint) const RULE: Rule = Rule {
    code: Code::new("CAPM3-L047"),
    title: "a bond option has no effect in the mode of the bond",
    severity: Severity::Warning,
    why: "The kernel ignores an option that its mode does not have, or refuses it: then the bond does \
          not come up.",
    mend: "remove the option, or choose the mode that it belongs to",
    example: Example {
        wrong: r#"bonds:
- {id: bond0, bondMode: active-backup, bondXmitHashPolicy: layer3+4, bondLinks: [eno1, eno2]}"#,
        right: r#"bonds:
- {id: bond0, bondMode: 802.3ad, bondXmitHashPolicy: layer3+4, bondLinks: [eno1, eno2]}"#,
    },
    check: Check::Document(check),
};

/// Options and the modes that have them.
const MODES: &[(&str, &[&str])] = &[
    ("xmit_hash_policy", &["802.3ad", "balance-xor", "balance-tlb"]),
    ("lacp_rate", &["802.3ad"]),
    ("ad_select", &["802.3ad"]),
    ("ad_actor_system", &["802.3ad"]),
    ("ad_actor_sys_prio", &["802.3ad"]),
    ("ad_user_port_key", &["802.3ad"]),
    ("min_links", &["802.3ad"]),
    ("primary", &["active-backup", "balance-tlb", "balance-alb"]),
    ("primary_reselect", &["active-backup", "balance-tlb", "balance-alb"]),
    ("fail_over_mac", &["active-backup"]),
    ("packets_per_slave", &["balance-rr"]),
    ("arp_interval", &["balance-rr", "active-backup", "balance-xor", "broadcast"]),
    ("arp_ip_target", &["balance-rr", "active-backup", "balance-xor", "broadcast"]),
];

fn check(data: &NetworkData<'_>) -> Vec<Draft> {
    data.links().iter().filter(|link| is_bond(link)).flat_map(of_bond).collect()
}

fn of_bond(bond: &Node<'_>) -> Vec<Draft> {
    // A number or an unknown word is for the rules about what agents read.
    let Some(mode) = bond.at("bond_mode").text().filter(|mode| is_known(mode)) else { return Vec::new() };
    let set = MODES.iter().map(|(option, modes)| (option, modes, bond.at(&format!("bond_{option}"))));
    set.filter(|(_, modes, node)| node.value().is_some() && !modes.contains(&mode))
        .map(|(option, modes, node)| {
            let message =
                format!("option {option} has no effect in mode {mode}, only in {}", modes.join(", "));
            Draft::new(node.path(), message)
        })
        .collect()
}

fn is_known(mode: &str) -> bool {
    const KNOWN: [&str; 7] =
        ["802.3ad", "balance-rr", "active-backup", "balance-xor", "broadcast", "balance-tlb", "balance-alb"];
    KNOWN.contains(&mode)
}
