//! netplan: one YAML file, which netplan's own parser may refuse as a whole.
//!
//! Only static networks bring addresses, routes and name servers; DHCP and SLAAC networks are reduced to
//! `dhcp4` and `dhcp6`. InfiniBand is left out. Top-level name servers go to every interface that has
//! addresses and no name servers of its own.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::cloud_init::{
    behaviour::Behaviour,
    convert,
    interface::{Configuration, Interface, Kind, Vlan, route_text},
    prefix::{in_subnet, is_mac},
    refusal::{Refusal, Stage},
    state::{self, State, Subnet},
    value::{plain, text},
    version::Version,
};

const BOND_OPTIONS: [&str; 15] = [
    "ad_select",
    "arp_interval",
    "arp_ip_target",
    "arp_validate",
    "downdelay",
    "fail_over_mac",
    "lacp_rate",
    "miimon",
    "min_links",
    "mode",
    "num_grat_arp",
    "primary",
    "primary_reselect",
    "updelay",
    "xmit_hash_policy",
];

const MORE_BOND_OPTIONS: [&str; 4] =
    ["all_slaves_active", "arp_all_targets", "learn_packet_interval", "packets_per_slave"];

/// What the file says.
pub(super) fn render(state: &State, version: Version) -> Configuration {
    let mut configuration = Configuration::default();
    for interface in state.interfaces.iter().filter(|interface| interface.kind != convert::Kind::Infiniband) {
        let mut written = written(interface, state, version);
        if written.dns.is_empty() && written.dns_search.is_empty() && !written.addresses.is_empty() {
            written.dns.clone_from(&state.name_servers);
            written.dns_search.clone_from(&state.search);
        }
        configuration.interfaces.insert(interface.written_name(), written);
    }
    configuration
}

fn written(interface: &state::Interface, state: &State, version: Version) -> Interface {
    let mut written = Interface { accept_ra: interface.accept_ra, ..Interface::default() };
    let mac = interface.mac.as_ref().map(|mac| mac.to_lowercase());
    match interface.kind {
        convert::Kind::Physical | convert::Kind::Infiniband => written.match_mac = mac,
        convert::Kind::Bond => {
            written.kind = Kind::Bond;
            written.mac = mac.filter(|mac| !mac.is_empty());
            written.bond = bond(interface, version);
            if interface.is_bond {
                written.members = state.members(interface);
            }
        }
        convert::Kind::Vlan => {
            written.kind = Kind::Vlan;
            written.mac = mac;
            let id = (!interface.vlan_id.is_null()).then(|| plain(&interface.vlan_id));
            written.vlan = Some(Vlan { id, link: interface.parent.clone().unwrap_or_default() });
        }
    }
    written.mtu = (!interface.mtu.is_null()).then(|| plain(&interface.mtu));
    for subnet in &interface.subnets {
        add(&mut written, subnet, version);
    }
    written
}

/// Options in every mixture of dashes and underscores. Keys that begin with `bond-` come last, so they count.
fn bond(interface: &state::Interface, version: Version) -> BTreeMap<String, Value> {
    let more: &[&str] = if version.has(Behaviour::NetplanMoreBondOptions) { &MORE_BOND_OPTIONS } else { &[] };
    let mut written = BTreeMap::new();
    for prefix in ["bond_", "bond-"] {
        for (key, value) in &interface.options {
            let Some(option) = key.strip_prefix(prefix).map(|option| option.replace('-', "_")) else {
                continue;
            };
            if !BOND_OPTIONS.iter().chain(more).any(|known| *known == option) {
                continue;
            }
            match option_value(value) {
                Some(value) => drop(written.insert(option, value)),
                None => drop(written.remove(&option)),
            }
        }
    }
    written
}

fn option_value(value: &Value) -> Option<Value> {
    match value {
        Value::Null => None,
        Value::Bool(truth) => Some(truth.to_string().into()),
        Value::Array(_) | Value::Object(_) => Some(value.clone()),
        scalar => Some(plain(scalar)),
    }
}

fn add(written: &mut Interface, subnet: &Subnet, version: Version) {
    match subnet.kind.as_str() {
        "dhcp" | "dhcp4" => written.dhcp4 = Some(true),
        "dhcp6" | "ipv6_slaac" | "ipv6_dhcpv6-stateless" | "ipv6_dhcpv6-stateful" => {
            written.dhcp6 = Some(true)
        }
        _ => {}
    }
    let Some(address) = &subnet.address else { return };
    if let Some(gateway) = &subnet.gateway {
        let outside = in_subnet(gateway, &address.with_prefix()) == Some(false);
        written.gateways.push(route_text(
            None,
            Some(gateway),
            None,
            outside && version.has(Behaviour::NetplanOnLink),
        ));
    }
    for route in &subnet.routes {
        written.add_route(route, Some(route.gateway.as_deref().unwrap_or("null")), route.metric);
    }
    written.addresses.push(address.with_prefix());
    written.dns.extend(subnet.name_servers.iter().cloned());
    written.dns_search.extend(subnet.search.iter().cloned());
}

/// Bond modes that netplan knows.
const MODES: [&str; 7] =
    ["balance-rr", "active-backup", "balance-xor", "broadcast", "802.3ad", "balance-tlb", "balance-alb"];

/// Whether netplan accepts the file. It stops at the first thing that it does not understand, and then
/// configures nothing.
pub(in crate::cloud_init) fn accept(state: &State, configuration: &Configuration) -> Result<(), Refusal> {
    for (name, interface) in &configuration.interfaces {
        if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Stage::Generate.refuses(format!("{name:?} is no name of an interface"));
        }
        for mac in interface.match_mac.iter().chain(&interface.mac) {
            if !is_mac(mac) {
                return Stage::Generate.refuses(format!("{name}: {mac:?} is no MAC with colons"));
            }
        }
        if let Some(mtu) = interface.mtu.as_ref().filter(|mtu| !is_number(mtu)) {
            return Stage::Generate.refuses(format!("{name}: the MTU {} is no number", text(mtu)));
        }
        accept_addresses(name, interface)?;
        accept_vlan(name, interface, configuration)?;
        accept_bond(name, interface, configuration)?;
    }
    accept_routes(state)
}

fn accept_addresses(name: &str, interface: &Interface) -> Result<(), Refusal> {
    if let Some(address) = interface.addresses.iter().find(|address| address.ends_with("/0")) {
        return Stage::Generate.refuses(format!("{name}: {address} has the prefix 0"));
    }
    match interface.dns.iter().find(|server| server.parse::<std::net::IpAddr>().is_err()) {
        Some(server) => Stage::Generate.refuses(format!("{name}: the name server {server:?} is no address")),
        None => Ok(()),
    }
}

fn accept_vlan(name: &str, interface: &Interface, configuration: &Configuration) -> Result<(), Refusal> {
    let Some(vlan) = &interface.vlan else { return Ok(()) };
    let id = vlan.id.clone().unwrap_or_default();
    if number(&id).is_none_or(|id| id > 4094) {
        return Stage::Generate.refuses(format!("{name}: VLAN id {} is not within 0 and 4094", text(&id)));
    }
    if !configuration.interfaces.contains_key(&vlan.link) {
        return Stage::Generate.refuses(format!("{name}: its parent {} is not defined", vlan.link));
    }
    Ok(())
}

fn accept_bond(name: &str, interface: &Interface, configuration: &Configuration) -> Result<(), Refusal> {
    for (option, value) in &interface.bond {
        let text = text(value);
        let accepted = match option.as_str() {
            // netplan's key ends in `targets`.
            "arp_ip_target" => false,
            "mode" => MODES.contains(&text.as_str()),
            "min_links" | "num_grat_arp" | "packets_per_slave" => is_number(value),
            "all_slaves_active" => is_boolean(&text),
            "primary" => configuration.interfaces.contains_key(&text),
            _ => !value.is_array() && !value.is_object(),
        };
        if !accepted {
            return Stage::Generate.refuses(format!("{name}: bond option {option} with the value {text}"));
        }
    }
    Ok(())
}

fn accept_routes(state: &State) -> Result<(), Refusal> {
    for interface in &state.interfaces {
        for subnet in interface.subnets.iter().filter(|subnet| subnet.address.is_some()) {
            for route in &subnet.routes {
                let gateway = route.gateway.clone().unwrap_or_default();
                let family = gateway.parse::<std::net::IpAddr>().ok().map(|gateway| gateway.is_ipv6());
                if family != Some(route.v6) {
                    let name = interface.written_name();
                    let target = route.target();
                    return Stage::Generate
                        .refuses(format!("{name}: the route to {target} has the gateway {gateway:?}"));
                }
            }
            if let Some(gateway) = &subnet.gateway
                && gateway.parse::<std::net::IpAddr>().is_err()
            {
                return Stage::Generate
                    .refuses(format!("{}: the gateway {gateway:?}", interface.written_name()));
            }
        }
    }
    Ok(())
}

fn is_number(value: &Value) -> bool {
    number(value).is_some()
}

/// A number as the parser reads it: spaces before it are skipped, and no digits are 0.
fn number(value: &Value) -> Option<u32> {
    match value {
        Value::String(text) if text.is_empty() => Some(0),
        Value::String(text) => text.trim_start().parse().ok(),
        value => value.as_u64().and_then(|number| u32::try_from(number).ok()),
    }
}

fn is_boolean(text: &str) -> bool {
    ["true", "on", "yes", "y", "false", "off", "no", "n"].contains(&text.to_lowercase().as_str())
}
