//! A network, bond or VLAN that names no link.

use crate::{
    lint::{Check, Draft, Example, NetworkData, Rule, Severity},
    validation::node::Node,
    wait::Code,
};

pub(in crate::lint) const RULE: Rule = Rule {
    code: Code::new("CAPM3-L030"),
    title: "a network, bond or VLAN names a link that does not exist",
    severity: Severity::Error,
    why: "`link`, `vlanLink` and `bondLinks` name other links by their `id`. cloud-init ends with an error where a bond or VLAN \
          names none, so the node gets no network at all; an address whose network names none is dropped without a word.",
    mend: "write the `id` of a link of the same template, or add the link",
    example: Example {
        wrong: "links:\n  ethernets:\n  - {id: eno1, type: phy, macAddress: {fromHostInterface: eno1}}\n  vlans:\n  \
                - {id: vlan100, vlanID: 100, vlanLink: bond0, macAddress: {fromHostInterface: eno1}}",
        right: "links:\n  ethernets:\n  - {id: eno1, type: phy, macAddress: {fromHostInterface: eno1}}\n  vlans:\n  \
                - {id: vlan100, vlanID: 100, vlanLink: eno1, macAddress: {fromHostInterface: eno1}}",
    },
    check: Check::Document(check),
};

fn check(data: &NetworkData<'_>) -> Vec<Draft> {
    let links = data.links();
    let ids: Vec<&str> = links.iter().filter_map(|link| link.at("id").text()).collect();
    let of_links = links.iter().flat_map(|link| {
        let parent = std::iter::once(link.at("vlan_link"));
        parent.chain(link.at("bond_links").items())
    });
    let names: Vec<Node<'_>> =
        of_links.chain(data.networks().iter().map(|network| network.at("link"))).collect();
    let dangling = names.iter().filter_map(|name| Some((name.path(), name.text()?)));
    dangling.filter(|(_, id)| !ids.contains(id)).map(|(path, id)| draft(path, id, &ids)).collect()
}

fn draft(path: &str, id: &str, ids: &[&str]) -> Draft {
    let draft = Draft::new(path, format!("no link has the id {id:?}"));
    match ids {
        [] => draft.help("add the link: the document has none"),
        ids => draft.help(format!("name one of the links: {}", ids.join(", "))),
    }
}
