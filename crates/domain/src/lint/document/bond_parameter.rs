//! A bond parameter whose prefix is written by hand.

use super::super::network_data::is_bond;

use crate::{
    lint::{Check, Draft, Example, Fix, NetworkData, Rule, Severity},
    validation::node::Node,
    wait::Code,
};

pub(in crate::lint) const RULE: Rule = Rule {
    code: Code::new("CAPM3-L042"),
    title: "a bond parameter has the prefix bond_ twice",
    severity: Severity::Error,
    why: "`bond_` is put before the name of each parameter, so `bond_miimon` becomes `bond_bond_miimon`, \
          which no agent knows: the option is lost.",
    mend: "write the name without bond_",
    example: Example {
        wrong: r#"parameters:
- {name: bond_miimon, value: 100}"#,
        right: r#"parameters:
- {name: miimon, value: 100}"#,
    },
    check: Check::Document(check),
};

fn check(data: &NetworkData<'_>) -> Vec<Draft> {
    let links = data.links();
    let members = links.iter().filter(|link| is_bond(link)).flat_map(Node::members);
    let twice = members.filter_map(|(key, node)| Some((key.strip_prefix("bond_")?, node)));
    twice
        .filter(|(name, _)| name.starts_with("bond_") || name.starts_with("bond-"))
        .map(|(name, node)| {
            let plain = name.get("bond_".len()..).unwrap_or_default();
            Draft::new(node.path(), format!("parameter {name} is rendered as bond_{name}"))
                .help(format!("write it as {plain}"))
                .fix(Fix::Replace(plain.to_owned()))
        })
        .collect()
}
