//! A NIC that nothing identifies.

use super::super::network_data::{is_bond, is_vlan};

use crate::{
    lint::{Check, Draft, Example, NetworkData, Rule, Severity},
    wait::Code,
};

pub(in crate::lint) const RULE: Rule = Rule {
    code: Code::new("CAPM3-L033"),
    title: "a NIC has neither a MAC nor a name",
    severity: Severity::Error,
    why: "Agents on the node find a NIC by its MAC, cloud-init also by its name. Without both cloud-init \
          ends with an error, and the node gets no network.",
    mend: "set `macAddress`, for example `fromHostInterface` with the name that the inspection of the \
          host found",
    example: Example {
        wrong: r#"links:
  ethernets:
  - {id: eno1, type: phy}"#,
        right: r#"links:
  ethernets:
  - {id: eno1, type: phy, macAddress: {fromHostInterface: eno1}}"#,
    },
    check: Check::Document(check),
};

fn check(data: &NetworkData<'_>) -> Vec<Draft> {
    let links = data.links();
    let nics = links.iter().filter(|link| link.value().is_some() && !is_bond(link) && !is_vlan(link));
    let unknown =
        nics.filter(|nic| nic.at("ethernet_mac_address").text().or(nic.at("name").text()).is_none());
    unknown.map(|nic| Draft::new(nic.path(), "the NIC has neither a MAC nor a name")).collect()
}
