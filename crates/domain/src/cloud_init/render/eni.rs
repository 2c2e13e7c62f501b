//! eni: `/etc/network/interfaces`, one stanza per network.
//!
//! What concerns the whole interface (MTU, MAC, bond, VLAN) stands in its first stanza, and empty values are
//! left out. Top-level name servers stand at `lo`.

use std::net::IpAddr;

use crate::cloud_init::{
    behaviour::Behaviour,
    convert,
    interface::{Configuration, Interface, Kind, Vlan, route_text},
    refusal::{Refusal, Stage},
    state::{self, State, Subnet},
    value::{digits, plain, text, truthy},
    version::Version,
};

/// What the file says.
pub(super) fn render(state: &State, version: Version) -> Result<Configuration, Refusal> {
    let mut configuration = Configuration {
        name_servers: of_family(&state.name_servers, false, version),
        ..Configuration::default()
    };
    for interface in &state.interfaces {
        let mut written = written(interface, state);
        for (at, subnet) in interface.subnets.iter().enumerate() {
            let says = matches!(subnet.kind.as_str(), "static6" | "dhcp4" | "dhcp6" | "ipv6_dhcpv6-stateful")
                || subnet.kind == "static" && subnet.is_ipv6();
            if at == 0 && says {
                written.accept_ra = interface.accept_ra;
            }
            add(&mut written, subnet, version)?;
        }
        configuration.interfaces.insert(interface.written_name(), written);
    }
    Ok(configuration)
}

fn of_family(servers: &[String], v6: bool, version: Version) -> Vec<String> {
    let any = !version.has(Behaviour::EniDnsByFamily);
    let fits = |server: &str| server.parse().is_ok_and(|server: IpAddr| server.is_ipv6() == v6);
    servers.iter().filter(|server| any || fits(server)).cloned().collect()
}

fn written(interface: &state::Interface, state: &State) -> Interface {
    let mut written =
        Interface { mtu: truthy(&interface.mtu).then(|| plain(&interface.mtu)), ..Interface::default() };
    let mac = interface.mac.clone().filter(|mac| !mac.is_empty());
    if interface.kind != convert::Kind::Physical {
        written.mac = mac;
    }
    if interface.is_bond {
        written.kind = Kind::Bond;
        written.members = state.members(interface);
        for (key, value) in interface.options.iter().filter(|(_, value)| truthy(value)) {
            let option = key.strip_prefix("bond").unwrap_or(key).trim_start_matches(['-', '_']);
            written.bond.insert(option.replace('-', "_"), option_value(value));
        }
    }
    if let Some(parent) = &interface.parent {
        written.kind = Kind::Vlan;
        let id = truthy(&interface.vlan_id).then(|| plain(&interface.vlan_id));
        written.vlan = Some(Vlan { id, link: parent.clone() });
    }
    written
}

fn option_value(value: &serde_json::Value) -> serde_json::Value {
    match value {
        serde_json::Value::Bool(true) => "on".into(),
        serde_json::Value::Array(items) => digits(&items.iter().map(text).collect::<Vec<_>>().join(" ")),
        other => plain(other),
    }
}

fn add(written: &mut Interface, subnet: &Subnet, version: Version) -> Result<(), Refusal> {
    match subnet.kind.as_str() {
        "dhcp" | "dhcp4" => written.dhcp4 = Some(true),
        "dhcp6" | "ipv6_dhcpv6-stateful" => written.dhcp6 = Some(true),
        "ipv6_slaac" | "ipv6_dhcpv6-stateless" => written.slaac = Some(true),
        _ => {}
    }
    written.addresses.extend(subnet.address.as_ref().map(state::Address::with_prefix));
    if let Some(gateway) = &subnet.gateway {
        written.gateways.push(route_text(None, Some(gateway), None, false));
    }
    for route in &subnet.routes {
        if route.gateway.is_none() {
            return Stage::Render.refuses(format!("the route to {} has no gateway", route.target()));
        }
        written.add_route(route, route.gateway.as_deref(), route.metric);
    }
    written.dns.extend(of_family(&subnet.name_servers, subnet.is_ipv6(), version));
    written.dns_search.extend(subnet.search.iter().cloned());
    Ok(())
}
