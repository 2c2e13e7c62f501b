//! VLANs that exclude each other, or that stand on a VLAN.

use std::collections::BTreeMap;

use super::super::network_data::is_vlan;

use crate::{
    lint::{Check, Draft, Example, NetworkData, Rule, Severity},
    validation::node::Node,
    wait::Code,
};

pub(in crate::lint) const RULE: Rule = Rule {
    code: Code::new("CAPM3-L036"),
    title: "a VLAN hides another one, or is on a VLAN",
    severity: Severity::Error,
    why: "cloud-init names a VLAN after its parent and its number. A second VLAN of the same number on \
          the same parent replaces the first, whose addresses are lost. For a VLAN on a VLAN it takes \
          the id of the parent for its device, which does not exist.",
    mend: "use each number once for a parent, and only NICs and bonds as parents",
    example: Example {
        wrong: r#"vlans:
- {id: a, vlanID: 100, vlanLink: bond0}
- {id: b, vlanID: 100, vlanLink: bond0}"#,
        right: r#"vlans:
- {id: a, vlanID: 100, vlanLink: bond0}
- {id: b, vlanID: 101, vlanLink: bond0}"#,
    },
    check: Check::Document(check),
};

fn check(data: &NetworkData<'_>) -> Vec<Draft> {
    let links = data.links();
    let mut seen = BTreeMap::new();
    links.iter().filter(|link| is_vlan(link)).filter_map(|vlan| judge(data, vlan, &mut seen)).collect()
}

fn judge<'a>(
    data: &NetworkData<'a>,
    vlan: &Node<'a>,
    seen: &mut BTreeMap<(&'a str, i64), &'a str>,
) -> Option<Draft> {
    let (parent, number) = (vlan.at("vlan_link"), vlan.at("vlan_id"));
    let name = parent.text()?;
    if data.link(name).is_some_and(|parent| is_vlan(&parent)) {
        return Some(Draft::new(parent.path(), format!("the parent {name} is a VLAN itself")));
    }
    let first = *seen.entry((name, number.int()?)).or_insert(vlan.at("id").text_or_empty());
    (first != vlan.at("id").text_or_empty()).then(|| {
        let number = number.int().unwrap_or_default();
        Draft::new(vlan.at("vlan_id").path(), format!("VLAN {first} has the number {number} on {name} too"))
    })
}
