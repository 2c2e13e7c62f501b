//! A bond that protects from nothing.

use serde_json::Value;

use super::super::network_data::is_bond;

use crate::{
    lint::{Check, Draft, Example, NetworkData, Rule, Severity},
    validation::node::Node,
    wait::Code,
};

pub(in crate::lint) const RULE: Rule = Rule {
    code: Code::new("CAPM3-L046"),
    title: "a bond has fewer than two members, or does not notice failures",
    severity: Severity::Warning,
    why: "A bond of one NIC fails with it. Without `miimon` or ARP monitoring it does not notice that a \
          member has lost its link, and goes on sending through it; wicked refuses such a bond.",
    mend: "name two members, and set parameter miimon, for example to 100",
    example: Example {
        wrong: r#"bonds:
- {id: bond0, bondMode: active-backup, bondLinks: [eno1, eno2]}"#,
        right: r#"bonds:
- {id: bond0, bondMode: active-backup, bondLinks: [eno1, eno2], parameters: [{name: miimon, value: 100}]}"#,
    },
    check: Check::Document(check),
};

fn check(data: &NetworkData<'_>) -> Vec<Draft> {
    data.links().iter().filter(|link| is_bond(link)).flat_map(of_bond).collect()
}

fn of_bond(bond: &Node<'_>) -> Vec<Draft> {
    let mut drafts = Vec::new();
    let members = bond.at("bond_links");
    let few = match members.items().count() {
        0 => "the bond has no member",
        1 => "the bond has one member only",
        _ => "",
    };
    if !few.is_empty() {
        drafts.push(Draft::new(members.path(), few).help("name at least two links"));
    }
    let interval = |key: &str| match bond.at(key).value() {
        Some(Value::Number(number)) => number.as_f64().is_some_and(|number| number > 0.0),
        Some(Value::String(text)) => !matches!(text.as_str(), "" | "0"),
        _ => false,
    };
    if !interval("bond_miimon") && !interval("bond_arp_interval") {
        let message = "the bond does not notice that a member has lost its link: neither miimon nor arp_interval is set";
        drafts.push(Draft::new(bond.path(), message).help("set parameter miimon, for example to 100"));
    }
    drafts
}
