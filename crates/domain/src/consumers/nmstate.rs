//! The document as desired state of nmstate, which applies all of it or nothing.
//!
//! nmstate finds a NIC by its name or by its MAC, and names bonds and VLANs as the document does. Its DNS belongs to the node. Values
//! that it does not know make it refuse the state as a whole.

use std::{collections::BTreeMap, net::IpAddr};

use serde_json::Value;

use super::{Fault, Outcome, items, kind, own_dns, with_prefix};
use crate::{
    cloud_init::{Interface, InterfaceKind, Nics, Vlan},
    validation::node::Node,
};

/// What nmstate configures of the document on a host with these NICs.
pub fn configure(document: &Value, nics: &Nics) -> Outcome {
    let links = items(document, "links");
    let mut state = State { names: names(&links, nics), outcome: Outcome::default() };
    for link in &links {
        state.link(link, nics);
    }
    for network in items(document, "networks") {
        state.network(&network);
    }
    for service in items(document, "services").iter().filter(|service| kind(service) == "dns") {
        state.server(service);
    }
    state.outcome.settled()
}

/// Devices by the id of their link: its name, the NIC of its MAC, or the id itself.
fn names(links: &[Node<'_>], nics: &Nics) -> BTreeMap<String, String> {
    let id = |link: &Node<'_>| link.at("id").text_or_empty().to_owned();
    let mut names: BTreeMap<String, String> = BTreeMap::new();
    for link in links.iter().filter(|link| kind(link) != "vlan") {
        let mac = link.at("ethernet_mac_address").text_or_empty().to_lowercase();
        let of_mac = || nics.name(&mac).filter(|_| kind(link) != "bond").map(str::to_owned);
        let name = link.at("name").text().map(str::to_owned).or_else(of_mac);
        names.insert(id(link), name.unwrap_or_else(|| id(link)));
    }
    for link in links.iter().filter(|link| kind(link) == "vlan") {
        let Some(parent) = names.get(link.at("vlan_link").text_or_empty()) else { continue };
        let numbered = || format!("{parent}.{}", link.at("vlan_id").int().unwrap_or_default());
        let name = link.at("name").text().map_or_else(numbered, str::to_owned);
        names.insert(id(link), name);
    }
    names
}

struct State {
    names: BTreeMap<String, String>,
    outcome: Outcome,
}

impl State {
    fn lost(&mut self, node: &Node<'_>, message: impl Into<String>) {
        self.outcome.faults.push(Fault::lost(node, message));
    }

    fn fatal(&mut self, node: &Node<'_>, message: impl Into<String>) {
        self.outcome.faults.push(Fault::fatal(node, message));
    }

    fn link(&mut self, link: &Node<'_>, nics: &Nics) {
        let mtu = link.at("mtu").value().cloned();
        let mut interface = Interface { mtu, ..Interface::default() };
        match kind(link) {
            "bond" => self.bond(link, &mut interface),
            "vlan" => self.vlan(link, &mut interface),
            _ => {
                let mac = link.at("ethernet_mac_address");
                interface.match_mac = mac.text().map(str::to_lowercase);
                if interface.match_mac.as_ref().is_some_and(|mac| !nics.have(mac)) {
                    self.fatal(&mac, "no NIC of the host has this MAC");
                }
            }
        }
        let name = self.names.get(link.at("id").text_or_empty()).cloned().unwrap_or_default();
        self.outcome.devices.push(name.clone());
        if !name.is_empty() {
            self.outcome.configuration.interfaces.insert(name, interface);
        }
    }

    fn bond(&mut self, link: &Node<'_>, interface: &mut Interface) {
        interface.kind = InterfaceKind::Bond;
        interface.mac = link.at("ethernet_mac_address").text().map(str::to_lowercase);
        for member in link.at("bond_links").items() {
            match self.names.get(member.text_or_empty()) {
                Some(name) => interface.members.push(name.clone()),
                None => self.fatal(&member, "nmstate has no such interface"),
            }
        }
        for (key, option) in link.members() {
            let Some(name) = key.strip_prefix("bond_").filter(|name| *name != "links") else { continue };
            match option.value().filter(|value| **value != "") {
                Some(value) => drop(interface.bond.insert(name.to_owned(), value.clone())),
                None => self.lost(&option, format!("bond option {name} is empty")),
            }
        }
        if !interface.bond.contains_key("mode") {
            self.fatal(&link.at("bond_mode"), "nmstate needs the mode of a new bond");
        }
    }

    fn vlan(&mut self, link: &Node<'_>, interface: &mut Interface) {
        let (parent, id) = (link.at("vlan_link"), link.at("vlan_id"));
        interface.kind = InterfaceKind::Vlan;
        interface.mac = link.at("vlan_mac_address").text().map(str::to_lowercase);
        match self.names.get(parent.text_or_empty()).cloned() {
            Some(link) => interface.vlan = Some(Vlan { id: id.value().cloned(), link }),
            None => self.fatal(&parent, "nmstate has no such interface"),
        }
        if !id.int().is_some_and(|id| (0..=4094).contains(&id)) {
            self.fatal(&id, format!("{} is no VLAN id", id.shown()));
        }
    }

    fn network(&mut self, network: &Node<'_>) {
        let link = network.at("link");
        let name = self.names.get(link.text_or_empty()).cloned().unwrap_or_default();
        let Some(mut interface) = self.outcome.configuration.interfaces.remove(&name) else {
            self.lost(&link, "the document has no such link: the network is dropped");
            return;
        };
        match kind(network) {
            "ipv4" | "ipv6" => {
                let address = network.at("ip_address");
                match address.text() {
                    Some(text) => {
                        interface.addresses.push(with_prefix(text, network.at("netmask").text_or_empty()))
                    }
                    None => self.fatal(&address, "a static network has no address"),
                }
            }
            "ipv4_dhcp" => interface.dhcp4 = Some(true),
            // DHCPv6 gets its routes from router advertisements.
            "ipv6_dhcp" | "ipv6_dhcpv6-stateful" => {
                (interface.dhcp6, interface.slaac) = (Some(true), Some(true))
            }
            "ipv6_slaac" | "ipv6_dhcpv6-stateless" => interface.slaac = Some(true),
            other => {
                self.lost(&network.at("type"), format!("there is no type {other}: the network is dropped"))
            }
        }
        for route in network.at("routes").items() {
            self.route(&route, &mut interface);
        }
        self.outcome.configuration.interfaces.insert(name, interface);
        for service in own_dns(network) {
            self.server(&service);
        }
    }

    fn route(&mut self, route: &Node<'_>, interface: &mut Interface) {
        let target = with_prefix(route.at("network").text_or_empty(), route.at("netmask").text_or_empty());
        let gateway = route.at("gateway");
        match gateway.text() {
            Some(via) if via.parse::<IpAddr>().is_err() => {
                self.fatal(&gateway, format!("{via} is no address"))
            }
            Some(via) if target.ends_with("/0") => interface.gateways.push(via.to_owned()),
            Some(via) => interface.routes.push(format!("{target} via {via}")),
            None => interface.routes.push(target),
        }
    }

    fn server(&mut self, service: &Node<'_>) {
        let address = service.at("address");
        match address.text().filter(|text| text.parse::<IpAddr>().is_ok()) {
            Some(text) => {
                let servers = &mut self.outcome.configuration.name_servers;
                if !servers.iter().any(|known| known == text) {
                    servers.push(text.to_owned());
                }
            }
            None => self.fatal(&address, format!("{} is no address of a name server", address.shown())),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn names_are_those_of_the_document_and_all_of_it_or_nothing_is_applied() {
        let nics = Nics::new([("52:54:00:aa:00:01".to_owned(), "enp1s0".to_owned())]);
        let document = json!({
            "links": [
                {"id": "lag", "name": "team0", "type": "bond", "bond_mode": "802.3ad", "bond_links": ["a"], "bond_xmit_hash_policy": ""},
                {"id": "a", "type": "phy", "ethernet_mac_address": "52:54:00:aa:00:01"},
                {"id": "v", "type": "vlan", "vlan_link": "lag", "vlan_id": 7},
            ],
            "networks": [{"id": "n", "link": "v", "type": "ipv4", "ip_address": "10.0.0.5", "netmask": "255.255.255.0",
                "routes": [{"network": "0.0.0.0", "netmask": "0.0.0.0", "gateway": "10.0.0.1", "services": [{"type": "dns", "address": "192.0.2.53"}]}]}],
            "services": [{"type": "dns", "address": "192.0.2.53"}],
        });
        let outcome = configure(&document, &nics);
        assert_eq!(outcome.devices, ["team0", "enp1s0", "team0.7"]);
        let lost: Vec<&str> = outcome.faults.iter().map(|fault| fault.place.as_str()).collect();
        assert_eq!(lost, ["links[0].bond_xmit_hash_policy"]);
        assert_eq!(outcome.configuration.name_servers, ["192.0.2.53"]);
        assert_eq!(outcome.configuration.interfaces["team0.7"].addresses, ["10.0.0.5/24"]);
        for (pointer, value) in [
            ("/links/0/bond_links/0", json!("b")),
            ("/links/1/ethernet_mac_address", json!("52:54:00:aa:00:09")),
            ("/links/2/vlan_id", json!(4095)),
            ("/networks/0/ip_address", json!(null)),
        ] {
            let mut bad = document.clone();
            *bad.pointer_mut(pointer).unwrap() = value;
            let outcome = configure(&bad, &nics);
            assert!(outcome.configuration.interfaces.is_empty(), "{pointer}: {:?}", outcome.faults);
        }
    }
}
