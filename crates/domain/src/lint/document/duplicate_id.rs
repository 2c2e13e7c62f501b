//! Two links with one id.

use std::collections::BTreeSet;

use crate::{
    lint::{Check, Draft, Example, NetworkData, Rule, Severity},
    wait::Code,
};

pub(in crate::lint) const RULE: Rule = Rule {
    code: Code::new("CAPM3-L035"),
    title: "two links have the same id",
    severity: Severity::Error,
    why: "Networks and other links refer to links by id. cloud-init gives the networks to both links, so \
          one address is on two NICs, and a VLAN or bond takes the last of them.",
    mend: "give each link an id of its own, also across ethernets, bonds and vlans",
    example: Example {
        wrong: r#"links:
  bonds:
  - {id: net0, bondMode: 802.3ad, bondLinks: [eno1, eno2]}
  vlans:
  - {id: net0, vlanID: 100, vlanLink: net0}"#,
        right: r#"links:
  bonds:
  - {id: bond0, bondMode: 802.3ad, bondLinks: [eno1, eno2]}
  vlans:
  - {id: vlan100, vlanID: 100, vlanLink: bond0}"#,
    },
    check: Check::Document(check),
};

fn check(data: &NetworkData<'_>) -> Vec<Draft> {
    let links = data.links();
    let mut seen = BTreeSet::new();
    let ids = links
        .iter()
        .map(|link| link.at("id"))
        .filter_map(|node| Some((node.path().to_owned(), node.text()?)));
    ids.filter(|(_, id)| !seen.insert(*id))
        .map(|(path, id)| Draft::new(path, format!("another link has the id {id:?} too")))
        .collect()
}
