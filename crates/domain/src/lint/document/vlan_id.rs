//! A VLAN number that no switch carries.

use crate::{
    lint::{Check, Draft, Example, NetworkData, Rule, Severity},
    wait::Code,
};

pub(in crate::lint) const RULE: Rule = Rule {
    code: Code::new("CAPM3-L037"),
    title: "a VLAN number is outside of 1 to 4094",
    severity: Severity::Error,
    why: "The schema allows 0 to 4096, but the numbers 0, 4095 and 4096 mean no VLAN of their own: netplan and NetworkManager refuse \
          4095 and 4096 or ignore them, and 0 stands for untagged packets.",
    mend: "use the number that the switch port carries, from 1 to 4094",
    example: Example {
        wrong: "vlans:\n- {id: storage, vlanID: 4096, vlanLink: eno1, macAddress: {fromHostInterface: eno1}}",
        right: "vlans:\n- {id: storage, vlanID: 40, vlanLink: eno1, macAddress: {fromHostInterface: eno1}}",
    },
    check: Check::Document(check),
};

fn check(data: &NetworkData<'_>) -> Vec<Draft> {
    let numbers = data.links().into_iter().map(|link| link.at("vlan_id"));
    let numbers = numbers.filter_map(|node| Some((node.path().to_owned(), node.int()?)));
    numbers
        .filter(|(_, number)| !(1..=4094).contains(number))
        .map(|(path, number)| Draft::new(path, format!("VLAN number {number} is outside of 1 to 4094")))
        .collect()
}
