//! Compares what the document asks for with what the files say.

use serde_json::{Map, Value};

use super::{
    convert::{Converted, Device},
    interface::{Configuration, Interface, Kind, route_text},
    loss::{Loss, Lost},
    prefix::{guessed, in_subnet, is_v6_address, is_v6_network, v4_prefix, v6_prefix},
    value::{plain, text, truthy},
};

/// Everything that is lost, link by link, then networks, then what belongs to no link.
pub(super) fn lost(document: &Value, converted: &Converted, configuration: &Configuration) -> Vec<Loss> {
    let links = objects(document, "links");
    let mut losses = Losses { losses: Vec::new(), converted, configuration, links: &links };
    for (at, link) in links.iter().enumerate() {
        losses.link(at, link);
    }
    for network in objects(document, "networks") {
        losses.network(network);
    }
    losses.top_level_dns(document);
    losses.losses
}

fn objects<'d>(owner: &'d Value, key: &str) -> Vec<&'d Map<String, Value>> {
    owner.get(key).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_object).collect()
}

fn member_text(members: &Map<String, Value>, key: &str) -> String {
    members.get(key).filter(|value| !value.is_null()).map(text).unwrap_or_default()
}

struct Losses<'d> {
    losses: Vec<Loss>,
    converted: &'d Converted,
    configuration: &'d Configuration,
    links: &'d [&'d Map<String, Value>],
}

impl Losses<'_> {
    fn add(&mut self, what: Lost, link: &str, key: &str, value: impl Into<String>) {
        self.losses.push(Loss { what, link: link.to_owned(), key: key.to_owned(), value: value.into() });
    }

    fn device(&self, at: usize) -> Option<&Device> {
        self.converted.devices.get(at)
    }

    /// The device of the last link with this id.
    fn device_of(&self, id: &Value) -> Option<&Device> {
        let at = self.links.iter().rposition(|link| link.get("id") == Some(id))?;
        self.device(at)
    }

    fn interface(&self, at: usize) -> Option<&Interface> {
        let name = self.device(at)?.name.clone().unwrap_or_else(|| "None".to_owned());
        self.configuration.interfaces.get(&name)
    }

    fn link(&mut self, at: usize, link: &Map<String, Value>) {
        let id = member_text(link, "id");
        let Some(interface) = self.interface(at).cloned() else {
            self.add(Lost::Device, &id, "", "");
            return;
        };
        match link.get("type").and_then(Value::as_str) {
            Some("bond") => self.bond(link, &id, &interface),
            Some("vlan") => self.vlan(link, &id, &interface),
            _ => {
                let mac = member_text(link, "ethernet_mac_address").to_lowercase();
                let matched = interface.match_mac.as_deref().map(str::to_lowercase);
                if let Some(matched) = matched
                    && !mac.is_empty()
                    && matched != mac
                    && self.is_bond_mac(&matched)
                {
                    self.add(Lost::NicMac, &id, "ethernet_mac_address", mac);
                }
            }
        }
    }

    fn is_bond_mac(&self, mac: &str) -> bool {
        self.links.iter().any(|link| {
            link.get("type").and_then(Value::as_str) == Some("bond")
                && member_text(link, "ethernet_mac_address").to_lowercase() == mac
        })
    }

    fn bond(&mut self, link: &Map<String, Value>, id: &str, interface: &Interface) {
        if interface.kind != Kind::Bond {
            self.add(Lost::BondDevice, id, "", "");
        }
        let ids = link.get("bond_links").and_then(Value::as_array).into_iter().flatten();
        let mut members: Vec<String> = ids.filter_map(|id| self.device_of(id)?.name.clone()).collect();
        members.sort();
        members.dedup();
        if members != interface.members {
            self.add(Lost::BondMembers, id, "bond_links", members.join(", "));
        }
        for (key, value) in
            link.iter().filter(|(key, _)| key.starts_with("bond_") || key.starts_with("bond-"))
        {
            let option = key.get(5..).unwrap_or_default().replace('-', "_");
            if option == "links" || value.is_null() || *value == "" {
                continue;
            }
            match interface.bond.get(&option) {
                None => self.add(Lost::BondOption(option), id, key, text(value)),
                Some(written) if option == "mode" && *written != plain(value) => {
                    self.add(Lost::BondOptionChanged(option), id, key, text(value));
                }
                Some(_) => {}
            }
        }
        let mac = member_text(link, "ethernet_mac_address");
        if !mac.is_empty() && interface.mac.is_none() {
            self.add(Lost::BondMac, id, "ethernet_mac_address", mac);
        }
        if link.get("mtu").is_some_and(truthy) && interface.mtu.is_none() {
            self.add(Lost::BondMtu, id, "mtu", member_text(link, "mtu"));
        }
    }

    fn vlan(&mut self, link: &Map<String, Value>, id: &str, interface: &Interface) {
        let parent = link.get("vlan_link").and_then(|parent| self.device_of(parent)?.name.clone());
        let vlan_id = link.get("vlan_id").map(plain).unwrap_or_default();
        match &interface.vlan {
            _ if interface.kind != Kind::Vlan => self.add(Lost::VlanDevice, id, "", ""),
            Some(vlan)
                if Some(&vlan.link) == parent.as_ref()
                    && vlan.id.as_ref().is_none_or(|id| *id == vlan_id) => {}
            _ => self.add(
                Lost::VlanParentOrId,
                id,
                "vlan_link",
                format!("{} on {}", text(&vlan_id), parent.unwrap_or_default()),
            ),
        }
        let mac = member_text(link, "vlan_mac_address");
        if !mac.is_empty() && interface.mac.is_none() {
            self.add(Lost::VlanMac, id, "vlan_mac_address", mac);
        }
        if link.get("mtu").is_some_and(truthy) && interface.mtu.is_none() {
            self.add(Lost::VlanMtu, id, "mtu", member_text(link, "mtu"));
        }
    }

    fn network(&mut self, network: &Map<String, Value>) {
        let id = member_text(network, "link");
        let at = self.links.iter().rposition(|link| link.get("id") == network.get("link"));
        let Some(at) = at else {
            self.add(Lost::DanglingNetwork, &id, "link", member_text(network, "id"));
            return;
        };
        let Some(interface) = self.interface(at).cloned() else { return };
        let kind = member_text(network, "type");
        match kind.as_str() {
            "ipv4" | "static" | "ipv6" | "static6" => self.address(network, &id, &interface),
            "ipv4_dhcp" | "dhcp" | "dhcp4" => {
                if interface.dhcp4 != Some(true) {
                    self.add(Lost::Dhcp4, &id, "type", "");
                }
            }
            "ipv6_dhcp" | "ipv6_dhcpv6-stateful" | "dhcp6" => {
                if interface.dhcp6 != Some(true) && interface.slaac != Some(true) {
                    self.add(Lost::Dhcp6, &id, "type", "");
                }
                if interface.accept_ra == Some(false) {
                    self.add(Lost::RouterAdvertisements, &id, "type", "");
                }
            }
            "ipv6_slaac" | "ipv6_dhcpv6-stateless" => {
                if interface.accept_ra == Some(false) {
                    self.add(Lost::Slaac, &id, "type", "");
                }
            }
            _ => {
                self.add(Lost::UnknownNetwork, &id, "type", kind.clone());
            }
        }
        let gateway = member_text(network, "gateway");
        if !gateway.is_empty() {
            self.gateway(network, &gateway, &id, &interface);
        }
        for route in objects(&Value::Object(network.clone()), "routes") {
            self.route(network, route, &id, &interface);
        }
        self.own_dns(network, &id, &interface);
    }

    fn address(&mut self, network: &Map<String, Value>, id: &str, interface: &Interface) {
        let address = member_text(network, "ip_address");
        let (address, prefix, is_guess) = with_prefix(&address, network.get("netmask"));
        if is_guess {
            self.add(Lost::GuessedPrefix(prefix), id, "netmask", address.clone());
        }
        let wanted = format!("{address}/{prefix}");
        if !interface.addresses.contains(&wanted) {
            self.add(Lost::Address, id, "ip_address", wanted);
        }
    }

    fn route(
        &mut self,
        network: &Map<String, Value>,
        route: &Map<String, Value>,
        id: &str,
        interface: &Interface,
    ) {
        let (target, prefix, is_guess) = with_prefix(&member_text(route, "network"), route.get("netmask"));
        let gateway = member_text(route, "gateway");
        let is_default = prefix == 0 && matches!(target.as_str(), "0.0.0.0" | "::");
        if is_default {
            if !gateway.is_empty() {
                self.gateway(network, &gateway, id, interface);
            }
            return;
        }
        let gateway = (!gateway.is_empty()).then_some(gateway.as_str());
        let wanted = route_text(Some(&format!("{target}/{prefix}")), gateway, None, false);
        let found = interface.routes.iter().find(|written| written.starts_with(&wanted));
        let same_target =
            interface.routes.iter().find(|written| written.split('/').next() == Some(target.as_str()));
        match (found, same_target) {
            (Some(written), _) if is_guess => {
                self.add(Lost::RouteChanged(written.clone()), id, "routes", target)
            }
            (Some(_), _) => {}
            (None, Some(written)) => self.add(Lost::RouteChanged(written.clone()), id, "routes", wanted),
            (None, None) => self.add(Lost::Route, id, "routes", wanted),
        }
    }

    fn gateway(&mut self, network: &Map<String, Value>, gateway: &str, id: &str, interface: &Interface) {
        let Some(written) = interface.gateways.iter().find(|written| first_word(written) == gateway) else {
            self.add(Lost::Gateway, id, "gateway", gateway);
            return;
        };
        let (address, prefix, _) = with_prefix(&member_text(network, "ip_address"), network.get("netmask"));
        let outside = in_subnet(gateway, &format!("{address}/{prefix}")) == Some(false);
        // A link-local gateway is on the link anyway.
        let same_family = is_v6_address(gateway) == is_v6_address(&address) && !gateway.starts_with("fe80:");
        if outside && same_family && !written.ends_with("onlink") {
            self.add(Lost::OnLink, id, "gateway", gateway);
        }
    }

    fn own_dns(&mut self, network: &Map<String, Value>, id: &str, interface: &Interface) {
        let network_value = Value::Object(network.clone());
        let mut services = objects(&network_value, "services");
        for route in objects(&network_value, "routes") {
            services.extend(
                route
                    .get("services")
                    .and_then(Value::as_array)
                    .into_iter()
                    .flatten()
                    .filter_map(Value::as_object),
            );
        }
        for service in
            services.iter().filter(|service| service.get("type").and_then(Value::as_str) == Some("dns"))
        {
            let server = member_text(service, "address");
            if !server.is_empty()
                && !interface.dns.contains(&server)
                && !self.configuration.name_servers.contains(&server)
            {
                self.add(Lost::Dns, id, "services", server);
            }
        }
    }

    fn top_level_dns(&mut self, document: &Value) {
        for service in objects(document, "services") {
            if service.get("type").and_then(Value::as_str) != Some("dns") {
                continue;
            }
            let server = member_text(service, "address");
            let mut interfaces = self.configuration.interfaces.values();
            let known = self.configuration.name_servers.contains(&server)
                || interfaces.any(|interface| interface.dns.contains(&server));
            if !known && !server.is_empty() {
                self.add(Lost::TopLevelDns, "", "services", server);
            }
        }
    }
}

fn first_word(text: &str) -> &str {
    text.split(' ').next().unwrap_or_default()
}

/// Address, prefix and whether the prefix is a guess.
fn with_prefix(address: &str, netmask: Option<&Value>) -> (String, u8, bool) {
    let v6 = is_v6_network(address).unwrap_or(false);
    let (address, mask) = match address.split_once('/') {
        Some((address, mask)) => (address, Some(mask.to_owned())),
        None => (address, netmask.filter(|mask| truthy(mask)).map(text)),
    };
    let prefix = mask.and_then(|mask| if v6 { v6_prefix(&mask) } else { v4_prefix(&mask) });
    (address.to_owned(), prefix.unwrap_or(guessed(v6)), prefix.is_none())
}
