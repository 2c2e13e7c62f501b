//! The second step: devices become interfaces, with addresses, masks and routes read and completed.
//!
//! A device of a name that is known already replaces what was there, except for what a bond left: bond
//! options are copied to the members that come before the bond, and a member that comes after it, or never,
//! stands as an empty interface of type bond until then. Therefore the order of links matters.

use serde_json::Value;

use super::{
    convert::{Converted, Device, Kind, Network},
    prefix::{guessed, is_v6_address, is_v6_network, v4_prefix, v6_prefix},
    refusal::{Refusal, Stage},
    value::{text, truthy},
};

/// A route as read.
#[derive(Debug, Clone)]
pub(super) struct Route {
    pub network: String,
    pub prefix: u8,
    /// Of the network.
    pub v6: bool,
    pub gateway: Option<String>,
    pub metric: Option<i64>,
}

impl Route {
    /// Whether it is the route to everywhere.
    pub fn is_default(&self) -> bool {
        self.prefix == 0 && matches!(self.network.as_str(), "0.0.0.0" | "::")
    }

    pub fn target(&self) -> String {
        format!("{}/{}", self.network, self.prefix)
    }
}

/// A static address as read.
#[derive(Debug, Clone)]
pub(super) struct Address {
    pub address: String,
    pub prefix: u8,
    pub v6: bool,
}

impl Address {
    pub fn with_prefix(&self) -> String {
        format!("{}/{}", self.address, self.prefix)
    }
}

/// A network as read.
#[derive(Debug, Clone)]
pub(super) struct Subnet {
    pub kind: String,
    pub address: Option<Address>,
    pub gateway: Option<String>,
    pub metric: Option<Value>,
    pub name_servers: Vec<String>,
    pub search: Vec<String>,
    pub routes: Vec<Route>,
    pub v4: bool,
    pub v6: bool,
}

/// Types that get their address from a server or router of IPv6.
const IPV6_DYNAMIC: [&str; 4] = ["dhcp6", "ipv6_slaac", "ipv6_dhcpv6-stateless", "ipv6_dhcpv6-stateful"];

impl Subnet {
    pub fn is_static(&self) -> bool {
        matches!(self.kind.as_str(), "static" | "static6")
    }

    pub fn is_ipv6_dynamic(&self) -> bool {
        IPV6_DYNAMIC.contains(&self.kind.as_str())
    }

    /// Whether cloud-init takes it for IPv6: by its type; `static` by its address.
    pub fn is_ipv6(&self) -> bool {
        self.kind.ends_with('6')
            || self.is_ipv6_dynamic()
            || self.kind == "static"
                && self.address.as_ref().is_some_and(|address| is_v6_address(&address.address))
    }
}

/// An interface as renderers see it.
#[derive(Debug, Clone)]
pub(super) struct Interface {
    pub name: Option<String>,
    pub kind: Kind,
    pub mac: Option<String>,
    pub mtu: Value,
    pub accept_ra: Option<bool>,
    pub subnets: Vec<Subnet>,
    /// Bond options, of its own or copied from the bond whose member it is.
    pub options: Vec<(String, Value)>,
    /// It is a bond that the document has, no stand-in for a member.
    pub is_bond: bool,
    /// The bond that it is a member of.
    pub bond: Option<String>,
    pub vlan_id: Value,
    pub parent: Option<String>,
}

impl Interface {
    /// The name where text is written.
    pub fn written_name(&self) -> String {
        self.name.clone().unwrap_or_else(|| "None".to_owned())
    }

    fn set_option(&mut self, key: &str, value: &Value) {
        if key == "mac_address" {
            self.mac = (!value.is_null()).then(|| text(value));
            return;
        }
        match self.options.iter_mut().find(|(known, _)| known == key) {
            Some((_, known)) => known.clone_from(value),
            None => self.options.push((key.to_owned(), value.clone())),
        }
    }
}

/// All interfaces and the name servers that belong to none of them.
#[derive(Debug, Clone, Default)]
pub(super) struct State {
    pub interfaces: Vec<Interface>,
    pub name_servers: Vec<String>,
    pub search: Vec<String>,
}

impl State {
    /// Members of the bond, by name.
    pub fn members(&self, bond: &Interface) -> Vec<String> {
        let mut members: Vec<String> = self
            .interfaces
            .iter()
            .filter(|interface| interface.bond.is_some() && interface.bond == bond.name)
            .map(Interface::written_name)
            .collect();
        members.sort();
        members
    }

    fn interface(&mut self, name: &Option<String>) -> &mut Interface {
        let at = self.interfaces.iter().position(|known| known.name == *name).unwrap_or_else(|| {
            self.interfaces.push(Interface {
                name: name.clone(),
                kind: Kind::Bond,
                mac: None,
                mtu: Value::Null,
                accept_ra: None,
                subnets: Vec::new(),
                options: Vec::new(),
                is_bond: false,
                bond: None,
                vlan_id: Value::Null,
                parent: None,
            });
            self.interfaces.len() - 1
        });
        self.interfaces.get_mut(at).expect("the interface was found or added")
    }
}

/// Reads the converted document.
pub(super) fn parse(converted: &Converted) -> Result<State, Refusal> {
    let mut state = State::default();
    for device in &converted.devices {
        add(&mut state, device)?;
    }
    for service in &converted.services {
        // A service without address is skipped with a warning.
        if let Some(address) = service.get("address") {
            state.name_servers.extend(texts(address));
            state.search.extend(service.get("search").map(texts).unwrap_or_default());
        }
    }
    Ok(state)
}

fn add(state: &mut State, device: &Device) -> Result<(), Refusal> {
    let subnets = device.networks.iter().map(subnet).collect::<Result<_, _>>()?;
    let interface = state.interface(&device.name);
    interface.kind = device.kind;
    interface.mac.clone_from(&device.mac);
    interface.mtu.clone_from(&device.mtu);
    interface.accept_ra = device.accept_ra;
    interface.subnets = subnets;
    if device.kind == Kind::Vlan {
        interface.vlan_id.clone_from(&device.vlan_id);
        interface.parent = Some(device.parent.clone());
    }
    if device.kind == Kind::Bond {
        interface.is_bond = true;
        for (key, value) in &device.options {
            interface.set_option(key, value);
        }
        for member in &device.members {
            let member = state.interface(&Some(member.clone()));
            member.bond.clone_from(&device.name);
            for (key, value) in &device.options {
                member.set_option(key, value);
            }
        }
    }
    Ok(())
}

fn texts(value: &Value) -> Vec<String> {
    match value {
        Value::Array(items) => items.iter().map(text).collect(),
        other => vec![text(other)],
    }
}

/// A list, or the words of a text.
fn words(value: &Value) -> Vec<String> {
    match value {
        Value::Array(items) => items.iter().map(text).collect(),
        Value::String(text) => text.split_whitespace().map(str::to_owned).collect(),
        _ => Vec::new(),
    }
}

fn subnet(network: &Network) -> Result<Subnet, Refusal> {
    let Some(kind) = network.kind.as_str().filter(|kind| !kind.is_empty()) else {
        return Stage::Parse.refuses("the type of a network is no text");
    };
    let address = match kind {
        "static" | "static6" => Some(address(&network.address, &network.netmask)?),
        _ => None,
    };
    let routes = match &network.routes {
        Value::Array(routes) => routes.iter().map(route).collect::<Result<_, _>>()?,
        Value::Null => return Stage::Parse.refuses("`routes` of a network is null"),
        _ => return Stage::Parse.refuses("`routes` of a network is no list"),
    };
    let filled = |value: &Value| truthy(value).then(|| value.clone());
    Ok(Subnet {
        kind: kind.to_owned(),
        address,
        gateway: filled(&network.gateway).map(|gateway| text(&gateway)),
        metric: filled(&network.metric),
        name_servers: words(&network.name_servers),
        search: words(&network.search),
        routes,
        v4: network.v4,
        v6: network.v6,
    })
}

/// An address with the prefix behind its slash, of the netmask, or a guessed one, in this order.
fn address(address: &Value, netmask: &Value) -> Result<Address, Refusal> {
    if !truthy(address) {
        return Stage::Parse.refuses("a static network has no ip_address");
    }
    let address = text(address);
    let Some(v6) = is_v6_network(&address) else {
        return Stage::Parse.refuses(format!("{address} is no IP address"));
    };
    let (address, mask) = match address.split_once('/') {
        Some((address, mask)) => (address.to_owned(), Some(mask.to_owned())),
        None => (address, truthy(netmask).then(|| text(netmask))),
    };
    let prefix = match mask {
        None => Some(guessed(v6)),
        Some(ref mask) if v6 => v6_prefix(mask),
        Some(ref mask) => v4_prefix(mask),
    };
    match prefix {
        Some(prefix) => Ok(Address { address, prefix, v6 }),
        None => Stage::Parse.refuses(format!("{} is no netmask", mask.unwrap_or_default())),
    }
}

fn route(route: &Value) -> Result<Route, Refusal> {
    let Some(route) = route.as_object() else {
        return Stage::Parse.refuses("a route is no object");
    };
    let member = |key: &str| route.get(key).cloned().unwrap_or_default();
    if !truthy(&member("network")) {
        return Stage::Parse.refuses("a route has no network");
    }
    let target = address(&member("network"), &member("netmask"))?;
    let metric = match member("metric") {
        Value::Number(number) => number.as_i64(),
        Value::String(text) if !text.is_empty() => match text.trim().parse() {
            Ok(metric) => Some(metric),
            Err(_) => return Stage::Parse.refuses(format!("the metric {text} of a route is no number")),
        },
        _ => None,
    };
    let gateway = member("gateway");
    let given = !gateway.is_null() && gateway != "";
    Ok(Route {
        network: target.address,
        prefix: target.prefix,
        v6: target.v6,
        gateway: given.then(|| text(&gateway)),
        metric,
    })
}
