//! What Talos makes of a document, by its platform `openstack`.
//!
//! Talos finds a NIC by its permanent MAC, numbers bonds itself, and fails as a whole on a word or address that it does not
//! know. It reads few bond options and sets others to values of its own.

use std::{collections::BTreeMap, net::IpAddr};

use serde_json::Value;

use super::{Fault, Outcome, items, kind, own_dns, with_prefix};
use crate::{
    cloud_init::{Interface, InterfaceKind, Nics, Vlan},
    validation::node::Node,
};

const NIC_TYPES: [&str; 3] = ["phy", "vif", "ovs"];
const BOND_MODES: [&str; 7] =
    ["balance-rr", "active-backup", "balance-xor", "broadcast", "802.3ad", "balance-tlb", "balance-alb"];
const HASH_POLICIES: [&str; 6] = ["layer2", "layer2+3", "layer3+4", "encap2+3", "encap3+4", "vlan+srcmac"];
/// Bond options that it reads.
const BOND_OPTIONS: [&str; 3] = ["mode", "xmit_hash_policy", "miimon"];
/// Bond options that it sets to values of its own.
const OWN_OPTIONS: [(&str, &str); 3] = [("downdelay", "200"), ("lacp_rate", "fast"), ("updelay", "200")];

/// What Talos makes of the document on a host with these NICs.
pub fn configure(document: &Value, nics: &Nics) -> Outcome {
    let links = items(document, "links");
    let mut reader = Reader { nics, links: &links, names: BTreeMap::new(), outcome: Outcome::default() };
    reader.name_links();
    for (at, link) in links.iter().enumerate() {
        reader.link(at, link);
    }
    for network in items(document, "networks") {
        reader.network(&network);
    }
    for service in items(document, "services") {
        reader.service(&service);
    }
    reader.outcome.settled()
}

struct Reader<'n, 'd> {
    nics: &'n Nics,
    links: &'n [Node<'d>],
    /// Devices by the id of their link.
    names: BTreeMap<String, String>,
    outcome: Outcome,
}

impl Reader<'_, '_> {
    fn lost(&mut self, node: &Node<'_>, message: impl Into<String>) {
        self.outcome.faults.push(Fault::lost(node, message));
    }

    fn fatal(&mut self, node: &Node<'_>, message: impl Into<String>) {
        self.outcome.faults.push(Fault::fatal(node, message));
    }

    /// Names first: a link may refer to a later one. VLANs are named after their parents, so they come last.
    fn name_links(&mut self) {
        let (links, mut bonds) = (self.links, 0);
        for (at, link) in links.iter().enumerate().filter(|(_, link)| kind(link) != "vlan") {
            let name = if kind(link) == "bond" {
                bonds += 1;
                format!("bond{}", bonds - 1)
            } else {
                let mac = link.at("ethernet_mac_address").text_or_empty().to_lowercase();
                self.nics.name(&mac).map_or_else(|| format!("eth{at}"), str::to_owned)
            };
            self.names.insert(link.at("id").text_or_empty().to_owned(), name);
        }
        for link in links.iter().filter(|link| kind(link) == "vlan") {
            let Some(parent) = self.names.get(link.at("vlan_link").text_or_empty()) else { continue };
            let name = format!("{parent}.{}", link.at("vlan_id").int().unwrap_or_default());
            self.names.insert(link.at("id").text_or_empty().to_owned(), name);
        }
    }

    fn link(&mut self, at: usize, link: &Node<'_>) {
        let id = link.at("id").text_or_empty();
        let name = self.names.get(id).cloned().unwrap_or_default();
        let mtu = link.at("mtu").value().cloned();
        let mut interface = Interface { mtu, ..Interface::default() };
        let is_taken = match kind(link) {
            "bond" => self.bond(link, &mut interface),
            "vlan" => self.vlan(link, &mut interface),
            _ => self.nic(at, link, &name, &mut interface),
        };
        self.outcome.devices.push(if is_taken { name.clone() } else { String::new() });
        if is_taken {
            self.outcome.configuration.interfaces.insert(name, interface);
        } else {
            self.names.remove(id);
        }
    }

    fn nic(&mut self, at: usize, link: &Node<'_>, name: &str, interface: &mut Interface) -> bool {
        if !NIC_TYPES.contains(&kind(link)) {
            let message = format!("Talos knows no NIC of type {}: the link is dropped", kind(link));
            self.lost(&link.at("type"), message);
            return false;
        }
        let mac = link.at("ethernet_mac_address");
        match mac.text() {
            Some(text) if self.nics.have(&text.to_lowercase()) => {
                interface.match_mac = Some(text.to_lowercase())
            }
            _ => {
                self.lost(&mac, format!("no NIC of the host has this MAC: Talos takes eth{at} instead"));
                interface.match_name = Some(name.to_owned());
            }
        }
        if link.at("name").text().is_some_and(|wanted| wanted != name) {
            self.lost(&link.at("name"), format!("Talos does not rename NICs: the device is {name}"));
        }
        true
    }

    fn bond(&mut self, link: &Node<'_>, interface: &mut Interface) -> bool {
        interface.kind = InterfaceKind::Bond;
        interface.mac = link.at("ethernet_mac_address").text().map(str::to_lowercase);
        for member in link.at("bond_links").items() {
            match self.names.get(member.text_or_empty()) {
                Some(name) => interface.members.push(name.clone()),
                None => self.fatal(&member, "Talos knows no such link"),
            }
        }
        for (key, option) in link.members() {
            let Some(name) = key.strip_prefix("bond_").filter(|name| *name != "links") else { continue };
            self.bond_option(name, &option, interface);
        }
        let own = OWN_OPTIONS.map(|(option, value)| (option.to_owned(), Value::from(value)));
        interface.bond.extend(own);
        true
    }

    fn bond_option(&mut self, name: &str, option: &Node<'_>, interface: &mut Interface) {
        let known: &[&str] = match name {
            "mode" => &BOND_MODES,
            "xmit_hash_policy" => &HASH_POLICIES,
            _ => &[],
        };
        let wanted = option.shown().to_string();
        if let Some((_, own)) = OWN_OPTIONS.iter().find(|(known, _)| *known == name) {
            if wanted.trim_matches('"') != *own {
                self.lost(option, format!("Talos sets bond option {name} to {own}, not to {wanted}"));
            }
        } else if !BOND_OPTIONS.contains(&name) {
            self.lost(option, format!("Talos drops bond option {name}"));
        } else if wanted == "\"\"" {
            self.lost(option, format!("nobody knows how Talos takes an empty {name}"));
        } else if !known.is_empty() && !option.text().is_some_and(|value| known.contains(&value)) {
            self.fatal(option, format!("Talos knows no {name} {}", option.shown()));
        } else {
            interface.bond.insert(name.to_owned(), option.shown());
        }
    }

    fn vlan(&mut self, link: &Node<'_>, interface: &mut Interface) -> bool {
        let parent = link.at("vlan_link");
        let Some(name) = self.names.get(parent.text_or_empty()).cloned() else {
            self.lost(&parent, "Talos knows no such link: the VLAN is dropped");
            return false;
        };
        interface.kind = InterfaceKind::Vlan;
        interface.vlan = Some(Vlan { id: link.at("vlan_id").value().cloned(), link: name });
        true
    }

    fn network(&mut self, network: &Node<'_>) {
        if network.at("id").text().is_none() {
            self.lost(&network.at("id"), "Talos drops a network without id");
            return;
        }
        let link = network.at("link");
        let name = self.names.get(link.text_or_empty()).cloned().unwrap_or_default();
        let Some(mut interface) = self.outcome.configuration.interfaces.remove(&name) else {
            self.lost(&link, "Talos has no such link: the network is dropped");
            return;
        };
        match kind(network) {
            "ipv4" | "ipv6" | "ipv6_slaac" => self.address(network, &mut interface),
            "ipv4_dhcp" => interface.dhcp4 = Some(true),
            "ipv6_dhcp" | "ipv6_dhcpv6-stateless" | "ipv6_dhcpv6-stateful" => interface.dhcp6 = Some(true),
            other => {
                self.lost(&network.at("type"), format!("Talos knows no type {other}: the network is dropped"))
            }
        }
        for route in network.at("routes").items() {
            self.route(&route, &mut interface);
        }
        for service in own_dns(network) {
            let server = service.at("address").text_or_empty();
            self.lost(
                &service,
                format!("Talos drops the name server {server}: it reads those at the top level only"),
            );
        }
        self.outcome.configuration.interfaces.insert(name, interface);
    }

    fn address(&mut self, network: &Node<'_>, interface: &mut Interface) {
        let address = network.at("ip_address");
        match address.text() {
            Some(text) => interface.addresses.push(with_prefix(text, network.at("netmask").text_or_empty())),
            // SLAAC is the kernel's affair.
            None if kind(network) == "ipv6_slaac" => {}
            None => self.lost(&address, "Talos gets no address here"),
        }
    }

    fn route(&mut self, route: &Node<'_>, interface: &mut Interface) {
        let gateway = route.at("gateway");
        if gateway.text_or_empty().parse::<IpAddr>().is_err() {
            self.fatal(&gateway, format!("Talos cannot read the gateway {}", gateway.shown()));
            return;
        }
        let via = gateway.text_or_empty();
        let target = with_prefix(route.at("network").text_or_empty(), route.at("netmask").text_or_empty());
        if target.ends_with("/0") {
            interface.gateways.push(via.to_owned());
        } else {
            interface.routes.push(format!("{target} via {via}"));
        }
    }

    fn service(&mut self, service: &Node<'_>) {
        if kind(service) != "dns" {
            return;
        }
        let address = service.at("address");
        match address.text().filter(|text| text.parse::<IpAddr>().is_ok()) {
            Some(text) => self.outcome.configuration.name_servers.push(text.to_owned()),
            None => self.fatal(&address, format!("Talos cannot read the name server {}", address.shown())),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn nics() -> Nics {
        Nics::new([
            ("52:54:00:aa:00:01".to_owned(), "enp1s0".to_owned()),
            ("52:54:00:aa:00:02".to_owned(), "enp2s0".to_owned()),
        ])
    }

    fn bonded() -> Value {
        json!({
            "links": [
                {"id": "lag", "type": "bond", "bond_mode": "802.3ad", "bond_miimon": 100, "bond_links": ["a", "b"]},
                {"id": "a", "type": "phy", "ethernet_mac_address": "52:54:00:AA:00:01"},
                {"id": "b", "type": "phy", "ethernet_mac_address": "52:54:00:aa:00:02"},
                {"id": "v", "type": "vlan", "vlan_link": "lag", "vlan_id": 7, "vlan_mac_address": "52:54:00:aa:00:01"},
            ],
            "networks": [{"id": "n", "link": "v", "type": "ipv4", "ip_address": "10.0.0.5", "netmask": "255.255.255.0",
                "routes": [{"network": "0.0.0.0", "netmask": "0.0.0.0", "gateway": "10.0.0.1"}]}],
            "services": [{"type": "dns", "address": "192.0.2.53"}],
        })
    }

    #[test]
    fn a_bond_is_numbered_and_carries_its_vlan() {
        let outcome = configure(&bonded(), &nics());
        assert_eq!(outcome.faults, []);
        assert_eq!(outcome.devices, ["bond0", "enp1s0", "enp2s0", "bond0.7"]);
        let shown = serde_json::to_value(&outcome.configuration).unwrap();
        let vlan = json!({"kind": "vlan", "addresses": ["10.0.0.5/24"], "gateways": ["10.0.0.1"], "vlan": {"id": 7, "link": "bond0"}});
        assert_eq!(shown["interfaces"]["bond0.7"], vlan);
        assert_eq!(shown["interfaces"]["bond0"]["members"], json!(["enp1s0", "enp2s0"]));
        assert_eq!(shown["name_servers"], json!(["192.0.2.53"]));
    }

    #[test]
    fn one_unknown_word_costs_the_whole_configuration() {
        let rows = [
            ("/links/0/bond_mode", json!("turbo"), "links[0].bond_mode", true),
            ("/links/0/bond_links/1", json!("c"), "links[0].bond_links[1]", true),
            ("/links/1/type", json!("hw_veb"), "links[1].type", false),
            ("/networks/0/routes/0/gateway", json!(""), "networks[0].routes[0].gateway", true),
            ("/networks/0/type", json!("wifi"), "networks[0].type", false),
            ("/networks/0/id", json!(null), "networks[0].id", false),
            ("/services/0/address", json!("ns1"), "services[0].address", true),
        ];
        for (pointer, value, place, is_fatal) in rows {
            let mut document = bonded();
            *document.pointer_mut(pointer).unwrap() = value;
            let outcome = configure(&document, &nics());
            let fault = outcome.faults.iter().find(|fault| fault.place == place);
            assert_eq!(fault.map(|fault| fault.is_fatal), Some(is_fatal), "{pointer}: {:?}", outcome.faults);
            assert_eq!(outcome.configuration.interfaces.is_empty(), is_fatal, "{pointer}");
        }
    }
}
