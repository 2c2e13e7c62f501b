//! A document that cloud-init or netplan gives up on.

use super::outcome;
use crate::{
    lint::{Check, Draft, Example, NetworkData, Rule, Severity, Target},
    wait::Code,
};

pub(in crate::lint) const RULE: Rule = Rule {
    code: Code::new("CAPM3-L060"),
    title: "cloud-init gives up on the network data",
    severity: Severity::Error,
    why: "cloud-init does not check its document: it ends with an error at the first thing that it cannot \
          handle, and netplan refuses a file as a whole. Either way the node gets no network at all, not even \
          of the links that are right.",
    mend: "correct the field; `capm3 render --as RENDERER@VERSION` shows what the image makes of it",
    example: Example {
        wrong: "vlans:\n- {id: storage, vlanID: 100, vlanLink: eno1}",
        right: "vlans:\n- {id: storage, vlanID: 100, vlanLink: eno1, macAddress: {fromHostInterface: eno1}}",
    },
    check: Check::Consumer(check),
};

fn check(data: &NetworkData<'_>, target: Target) -> Vec<Draft> {
    let refused = outcome(data, target).map(|outcome| outcome.refused).unwrap_or_default();
    // Only the first one is met on the node.
    refused
        .first()
        .map(|refusal| Draft::new(place(data, &refusal.reason), refusal.to_string()))
        .into_iter()
        .collect()
}

/// The entry that the reason names by its id; the document if there is none.
fn place(data: &NetworkData<'_>, reason: &str) -> String {
    let names = |id: &str| reason.split([' ', ':', ',']).any(|word| word == id);
    let link = data.links().into_iter().find(|link| {
        let keys = ["id", "name", "ethernet_mac_address", "vlan_link"];
        keys.iter()
            .any(|key| link.at(key).text().is_some_and(|text| names(&text.to_lowercase()) || names(text)))
    });
    link.map_or_else(|| "links".to_owned(), |link| link.path().to_owned())
}
