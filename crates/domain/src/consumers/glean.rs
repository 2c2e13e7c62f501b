//! What glean does not take of a document.
//!
//! glean finds NICs by their MAC only and names bonds after the id of their link. What it configures depends on the family of
//! the image; said is what at least one family lacks.

use serde_json::Value;

use super::{Fault, items, kind, own_dns};
use crate::validation::node::Node;

/// Types of networks that glean configures on some image. Of these, SLAAC is configured by Red Hat, SUSE and networkd only.
const TYPES: [&str; 4] = ["ipv4", "ipv4_dhcp", "ipv6", "ipv6_slaac"];
/// Bond options that one of its writers looks at.
const BOND_OPTIONS: [&str; 4] = ["mode", "miimon", "lacp_rate", "xmit_hash_policy"];

/// Everything that glean does not take.
pub fn faults(document: &Value) -> Vec<Fault> {
    let (links, networks) = (items(document, "links"), items(document, "networks"));
    let mut faults = Vec::new();
    if links.is_empty() || networks.is_empty() {
        let root = Node::root(document);
        let missing = if links.is_empty() { "links" } else { "networks" };
        faults.push(Fault::lost(
            &root.at(missing),
            "glean needs links and networks; without them it uses DHCP on every NIC",
        ));
        return faults;
    }
    for link in &links {
        of_link(link, &links, &mut faults);
    }
    for network in &networks {
        of_network(network, &links, &networks, &mut faults);
    }
    faults
}

/// The last link of this id.
fn find<'n, 'd>(links: &'n [Node<'d>], id: Option<&str>) -> Option<&'n Node<'d>> {
    links.iter().rev().find(|link| id.is_some() && link.at("id").text() == id)
}

fn of_link(link: &Node<'_>, links: &[Node<'_>], faults: &mut Vec<Fault>) {
    let mac = link.at("ethernet_mac_address");
    if kind(link) != "vlan" && mac.text().is_none() {
        faults.push(Fault::fatal(
            &mac,
            "glean finds NICs and bonds by their MAC, this link has none: it ends with an error",
        ));
    }
    if kind(link) == "bond" {
        of_bond(link, links, faults);
    } else if let Some(name) = link.at("name").text() {
        let message =
            format!("glean ignores the name {name}: the device keeps the name that the kernel gives it");
        faults.push(Fault::lost(&link.at("name"), message));
    }
    if kind(link) == "vlan" && find(links, link.at("vlan_link").text()).is_none() {
        faults.push(Fault::fatal(
            &link.at("vlan_link"),
            "glean knows no such link: the VLAN has no MAC, and its networks end with an error",
        ));
    }
    if link.at("mtu").int().is_some_and(|mtu| mtu != 1500) {
        faults.push(Fault::lost(&link.at("mtu"), "glean does not set the MTU"));
    }
}

fn of_bond(link: &Node<'_>, links: &[Node<'_>], faults: &mut Vec<Fault>) {
    for member in link.at("bond_links").items() {
        if find(links, member.text()).is_none() {
            faults.push(Fault::fatal(&member, "glean knows no such link: it ends with an error"));
        }
    }
    let (id, name) = (link.at("id").text_or_empty(), link.at("name"));
    if name.text().is_some_and(|name| name != id) {
        let message = format!("glean names the bond after its id {id}, cloud-init after its name");
        faults.push(Fault::lost(&name, message));
    }
    for (key, option) in link.members() {
        let Some(name) = key.strip_prefix("bond_").filter(|name| *name != "links") else { continue };
        if !BOND_OPTIONS.contains(&name) {
            faults.push(Fault::lost(&option, format!("glean drops bond option {name}")));
        }
    }
}

fn of_network(network: &Node<'_>, links: &[Node<'_>], networks: &[Node<'_>], faults: &mut Vec<Fault>) {
    let (link, kind_node) = (network.at("link"), network.at("type"));
    if find(links, link.text()).is_none() {
        faults.push(Fault::lost(&link, "glean knows no such link: the network is dropped"));
        return;
    }
    let kind = kind(network);
    if !TYPES.contains(&kind) {
        faults.push(Fault::lost(&kind_node, format!("glean knows no type {kind}: the network is dropped")));
    }
    if kind == "ipv6" {
        let is_v4 = |other: &&Node<'_>| matches!(super::kind(other), "ipv4" | "ipv4_dhcp");
        if !networks.iter().filter(is_v4).any(|other| other.at("link").text() == link.text()) {
            let message = "on Red Hat and SUSE glean needs an IPv4 network on the link of an IPv6 one: it ends with an error";
            faults.push(Fault::fatal(&kind_node, message));
        }
    }
    if matches!(kind, "ipv4" | "ipv6") {
        for key in ["ip_address", "netmask"] {
            if network.at(key).text().is_none() {
                faults.push(Fault::fatal(
                    &network.at(key),
                    format!("glean needs {key}: it ends with an error"),
                ));
            }
        }
    }
    for route in network.at("routes").items() {
        for key in ["network", "netmask", "gateway"] {
            if route.at(key).value().is_none() {
                faults.push(Fault::fatal(
                    &route.at(key),
                    format!("glean needs {key} of a route: it ends with an error"),
                ));
            }
        }
    }
    for service in own_dns(network) {
        let message = format!(
            "glean drops the name server {}: it reads those at the top level only",
            service.at("address").text_or_empty()
        );
        faults.push(Fault::lost(&service, message));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_glean_does_not_take_is_named_by_its_place() {
        let good = json!({
            "links": [
                {"id": "nic1", "type": "phy", "ethernet_mac_address": "52:54:00:aa:00:01", "mtu": 1500},
                {"id": "v", "type": "vlan", "vlan_link": "nic1", "vlan_id": 7},
            ],
            "networks": [{"id": "n", "link": "v", "type": "ipv4", "ip_address": "10.0.0.5", "netmask": "255.255.255.0"}],
        });
        assert_eq!(faults(&good), []);
        let rows = [
            ("/links", json!([]), "links", false),
            ("/links/0/ethernet_mac_address", json!(null), "links[0].ethernet_mac_address", true),
            ("/links/0/mtu", json!(9000), "links[0].mtu", false),
            ("/links/1/vlan_link", json!("bnd0"), "links[1].vlan_link", true),
            ("/networks/0/link", json!("bnd0"), "networks[0].link", false),
            ("/networks/0/type", json!("ipv6_dhcp"), "networks[0].type", false),
            ("/networks/0/type", json!("ipv6"), "networks[0].type", true),
            ("/networks/0/netmask", json!(""), "networks[0].netmask", true),
        ];
        for (pointer, value, place, is_fatal) in rows {
            let mut bad = good.clone();
            *bad.pointer_mut(pointer).unwrap() = value;
            let found: Vec<_> = faults(&bad).into_iter().map(|fault| (fault.place, fault.is_fatal)).collect();
            assert_eq!(found, [(place.to_owned(), is_fatal)], "{pointer}");
        }
    }
}
