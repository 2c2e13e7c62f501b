//! The first step: a network_data document becomes a list of devices and name servers.
//!
//! Links are matched with networks by `id` and `link`. Devices get their names here: a NIC by `name` or by
//! its MAC among the NICs of the host, a bond by its number (its `name` in newer versions), a VLAN by its
//! parent and id. References between links are by id and become device names. Here fail documents whose
//! references lead nowhere, whose NICs are not in the host, and whose lists are null: cloud-init does not
//! check the document, so an error is that of the statement which meets the gap.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::{
    Nics,
    behaviour::Behaviour,
    refusal::{Refusal, Stage},
    value::{text, truthy},
    version::Version,
};

/// What a device is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Physical,
    Bond,
    Vlan,
    /// A port of InfiniBand, which the document names by the six bytes of its MAC that look like Ethernet.
    Infiniband,
}

/// A network of a link, as far as cloud-init keeps it.
#[derive(Debug, Clone)]
pub(super) struct Network {
    /// `static`, `static6`, `dhcp4`, `dhcp6`, or the type as it is in the document.
    pub kind: Value,
    pub address: Value,
    pub netmask: Value,
    pub gateway: Value,
    pub metric: Value,
    pub name_servers: Value,
    pub search: Value,
    pub routes: Value,
    /// The type in the document is `ipv4`.
    pub v4: bool,
    /// The type in the document is `ipv6`.
    pub v6: bool,
}

/// A device, as cloud-init's own format has it.
#[derive(Debug, Clone)]
pub(super) struct Device {
    pub kind: Kind,
    /// None where the document says `name: null`.
    pub name: Option<String>,
    pub mac: Option<String>,
    pub mtu: Value,
    pub accept_ra: Option<bool>,
    pub networks: Vec<Network>,
    /// Bond options under the keys that cloud-init gives them.
    pub options: Vec<(String, Value)>,
    pub members: Vec<String>,
    pub vlan_id: Value,
    pub parent: String,
}

/// The document in cloud-init's own format.
#[derive(Debug, Clone)]
pub(super) struct Converted {
    /// One per link, in their order.
    pub devices: Vec<Device>,
    /// Top-level services, whatever their type.
    pub services: Vec<Map<String, Value>>,
}

/// Names that a link's dependents refer to.
struct LinkName {
    name: Option<String>,
    mac: Option<String>,
}

/// A reference to fill in when all names are known.
enum Reference {
    Members(usize, Value),
    Parent(usize, Value),
}

/// Converts the document.
pub(super) fn convert(document: &Value, nics: &Nics, version: Version) -> Result<Converted, Refusal> {
    let Some(document) = document.as_object() else {
        return Stage::Convert.refuses("the document is no object");
    };
    let (links, services) = (entries(document, "links")?, entries(document, "services")?);
    let mut converter = Converter {
        version,
        devices: Vec::new(),
        names: BTreeMap::new(),
        references: Vec::new(),
        unnamed: Vec::new(),
        bonds: 0,
    };
    for link in &links {
        // Networks are read once per link, so a document without links has no error in its networks.
        converter.link(link, &entries(document, "networks")?)?;
    }
    converter.fill_in(nics)?;
    Ok(Converted { devices: converter.devices, services })
}

/// A list of objects of the document; empty where the key is absent.
fn entries(document: &Map<String, Value>, key: &str) -> Result<Vec<Map<String, Value>>, Refusal> {
    objects(document.get(key), &format!("`{key}`"))
}

fn objects(list: Option<&Value>, what: &str) -> Result<Vec<Map<String, Value>>, Refusal> {
    let items = match list {
        None => return Ok(Vec::new()),
        Some(Value::Array(items)) => items,
        Some(Value::Object(members)) if members.is_empty() => return Ok(Vec::new()),
        Some(Value::String(text)) if text.is_empty() => return Ok(Vec::new()),
        Some(Value::Null) => return Stage::Convert.refuses(format!("{what} is null")),
        Some(_) => return Stage::Convert.refuses(format!("{what} is no list of objects")),
    };
    let mut objects = Vec::new();
    for item in items {
        match item {
            Value::Object(members) => objects.push(members.clone()),
            _ => return Stage::Convert.refuses(format!("an entry of {what} is no object")),
        }
    }
    Ok(objects)
}

fn required<'m>(members: &'m Map<String, Value>, key: &str, whose: &str) -> Result<&'m Value, Refusal> {
    members.get(key).map_or_else(|| Stage::Convert.refuses(format!("{whose} has no `{key}`")), Ok)
}

struct Converter {
    version: Version,
    devices: Vec<Device>,
    names: BTreeMap<String, LinkName>,
    references: Vec<Reference>,
    /// NICs without `name`, which are named after their MAC.
    unnamed: Vec<usize>,
    bonds: usize,
}

impl Converter {
    fn link(&mut self, link: &Map<String, Value>, networks: &[Map<String, Value>]) -> Result<(), Refusal> {
        let mac = match link.get("ethernet_mac_address") {
            Some(Value::String(mac)) if !mac.is_empty() => Some(mac.to_lowercase()),
            Some(mac) if truthy(mac) => return Stage::Convert.refuses("`ethernet_mac_address` is no text"),
            _ => None,
        };
        let id = required(link, "id", "a link")?;
        let whose = format!("link {}", text(id));
        let kind = required(link, "type", &whose)?;
        let (networks, accept_ra) = self.networks(id, networks)?;
        let mut device = Device {
            kind: Kind::Physical,
            name: link.get("name").filter(|name| !name.is_null()).map(text),
            mac: mac.clone(),
            mtu: link.get("mtu").cloned().unwrap_or_default(),
            accept_ra,
            networks,
            options: Vec::new(),
            members: Vec::new(),
            vlan_id: Value::Null,
            parent: String::new(),
        };
        let at = self.devices.len();
        let mut known = LinkName { name: device.name.clone(), mac };
        match kind.as_str() {
            Some("bond") => {
                self.bond(&mut device, link);
                known.name.clone_from(&device.name);
                self.references.push(Reference::Members(at, required(link, "bond_links", &whose)?.clone()));
            }
            Some("vlan") => {
                let parent = required(link, "vlan_link", &whose)?;
                device.kind = Kind::Vlan;
                device.vlan_id = required(link, "vlan_id", &whose)?.clone();
                let mac = match required(link, "vlan_mac_address", &whose)? {
                    Value::Null => None,
                    mac => Some(text(mac)),
                };
                known = LinkName {
                    name: Some(format!("{}.{}", text(parent), text(&device.vlan_id))),
                    mac: mac.clone(),
                };
                device.mac = mac.filter(|_| !self.version.has(Behaviour::VlanMacIsDropped));
                if self.version.has(Behaviour::VlanMacIsLowered) {
                    device.mac = device.mac.map(|mac| mac.to_lowercase());
                }
                self.references.push(Reference::Parent(at, parent.clone()));
            }
            // A null or empty `name` is a name too.
            _ if link.contains_key("name") => {}
            _ => self.unnamed.push(at),
        }
        self.devices.push(device);
        self.names.insert(id.to_string(), known);
        Ok(())
    }

    fn bond(&mut self, device: &mut Device, link: &Map<String, Value>) {
        device.kind = Kind::Bond;
        let numbered = format!("bond{}", self.bonds);
        self.bonds += 1;
        let named = self.version.has(Behaviour::BondNames)
            && device.name.as_ref().is_some_and(|name| !name.is_empty());
        if !named {
            device.name = Some(numbered);
        }
        if self.version.has(Behaviour::BondMacIsAnOption) {
            let mac = device.mac.take();
            device.options.extend(mac.map(|mac| ("mac_address".to_owned(), Value::String(mac))));
        }
        for (key, value) in link.iter().filter(|(key, _)| key.starts_with("bond") && *key != "bond_links") {
            let key = match key.split_once("bond_") {
                Some((_, option)) if self.version.has(Behaviour::BondKeysAreTranslated) => {
                    format!("bond-{option}")
                }
                None if self.version.has(Behaviour::BondKeysAreTranslated) => format!("bond-{key}"),
                _ => key.clone(),
            };
            device.options.push((key, value.clone()));
        }
    }

    /// The networks of a link, and whether the link accepts router advertisements.
    fn networks(
        &self,
        id: &Value,
        networks: &[Map<String, Value>],
    ) -> Result<(Vec<Network>, Option<bool>), Refusal> {
        let (mut own, mut accept_ra) = (Vec::new(), None);
        for network in networks {
            if required(network, "link", "a network")? != id {
                continue;
            }
            let whose = format!("a network of link {}", text(id));
            let kind = required(network, "type", &whose)?;
            let member = |key: &str| network.get(key).cloned().unwrap_or_default();
            let is = |names: &[&str]| kind.as_str().is_some_and(|kind| names.contains(&kind));
            if is(&["ipv6", "static6"]) {
                accept_ra = Some(false);
            } else if is(&["ipv6_dhcpv6-stateful", "ipv6_dhcp"]) {
                accept_ra = Some(true);
            }
            let (fixed, address) = match kind.as_str() {
                Some("ipv4" | "static") => (Value::from("static"), member("ip_address")),
                Some("ipv6" | "static6") => (Value::from("static6"), member("ip_address")),
                Some("ipv4_dhcp") => (Value::from("dhcp4"), member("address")),
                Some("ipv6_dhcp") => (Value::from("dhcp6"), member("address")),
                Some("dhcp") if self.version.has(Behaviour::DhcpIsIpv4) => {
                    (Value::from("dhcp4"), member("address"))
                }
                _ => (kind.clone(), member("address")),
            };
            let servers = self.name_servers(network)?;
            own.push(Network {
                kind: fixed,
                address,
                netmask: member("netmask"),
                gateway: member("gateway"),
                metric: member("metric"),
                name_servers: if servers.is_empty() {
                    member("dns_nameservers")
                } else {
                    Value::Array(servers)
                },
                search: member("dns_search"),
                routes: network.get("routes").cloned().unwrap_or_else(|| Value::Array(Vec::new())),
                v4: is(&["ipv4"]),
                v6: is(&["ipv6"]),
            });
        }
        Ok((own, accept_ra))
    }

    /// DNS among the services of the routes and of the network.
    fn name_servers(&self, network: &Map<String, Value>) -> Result<Vec<Value>, Refusal> {
        let mut servers = Vec::new();
        if self.version.has(Behaviour::DnsOfRoutes) {
            for route in objects(network.get("routes"), "`routes` of a network")? {
                dns(&route, "a route", &mut servers)?;
            }
        }
        if self.version.has(Behaviour::DnsOfNetworks) {
            dns(network, "a network", &mut servers)?;
        }
        Ok(servers)
    }

    /// Names of NICs by MAC, then references by these names.
    fn fill_in(&mut self, nics: &Nics) -> Result<(), Refusal> {
        let name_of = |mac: &Option<String>| mac.as_ref().and_then(|mac| nics.name(mac)).map(str::to_owned);
        for known in self.names.values_mut() {
            if known.name.as_ref().is_none_or(String::is_empty) {
                known.name = name_of(&known.mac).or_else(|| known.name.take());
            }
        }
        for at in &self.unnamed {
            let Some(device) = self.devices.get_mut(*at) else { continue };
            let Some(mac) = &device.mac else {
                return Stage::Convert.refuses("a NIC has neither MAC nor name");
            };
            device.name = name_of(&device.mac);
            if device.name.is_none() {
                return Stage::Convert.refuses(format!("no NIC of the host has the MAC {mac}"));
            }
        }
        for device in &mut self.devices {
            if let Some(mac) = device.name.as_deref().and_then(|name| nics.infiniband_mac(name)) {
                device.kind = Kind::Infiniband;
                device.mac = Some(mac.to_owned());
            }
        }
        let named = |id: &Value| match self.names.get(&id.to_string()) {
            Some(known) => Ok(known.name.clone().unwrap_or_else(|| "None".to_owned())),
            None => Stage::Convert.refuses(format!("no link has the id {}", text(id))),
        };
        for reference in &self.references {
            match reference {
                Reference::Members(at, ids) => {
                    let members = match ids {
                        Value::Array(ids) => ids.iter().map(named).collect::<Result<_, _>>()?,
                        // A single id is taken for a list of its device's letters.
                        id => named(id)?.chars().map(String::from).collect(),
                    };
                    if let Some(device) = self.devices.get_mut(*at) {
                        device.members = members;
                    }
                }
                Reference::Parent(at, id) => {
                    let parent = named(id)?;
                    if let Some(device) = self.devices.get_mut(*at) {
                        device.name = Some(format!("{parent}.{}", text(&device.vlan_id)));
                        device.parent = parent;
                    }
                }
            }
        }
        Ok(())
    }
}

/// The servers among the `services` of a network or route.
fn dns(owner: &Map<String, Value>, what: &str, servers: &mut Vec<Value>) -> Result<(), Refusal> {
    for service in objects(owner.get("services"), &format!("`services` of {what}"))? {
        if service.get("type").and_then(Value::as_str) == Some("dns") {
            servers.push(required(&service, "address", "a dns service")?.clone());
        }
    }
    Ok(())
}
