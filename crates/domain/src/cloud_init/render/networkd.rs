//! systemd-networkd: one `.network` file an interface and, in new versions, one `.netdev` file a bond or
//! VLAN.
//!
//! Lines of a section are sorted and each is written once, so the order of addresses is that of the alphabet.
//! Older versions write no `.netdev`: bonds and VLANs are expected to exist, and everything that makes them
//! is lost.

use crate::cloud_init::{
    behaviour::Behaviour,
    convert,
    interface::{Configuration, Interface, Kind, Vlan, route_text},
    prefix::in_subnet,
    refusal::{Refusal, Stage},
    state::{self, Route, State, Subnet},
    value::{plain, truthy},
    version::Version,
};

use super::bond_options::{self, Spelling};

/// Options of one word only: the others are looked for under keys that no document leads to.
const BOND_OPTIONS: [&str; 4] = ["mode", "miimon", "downdelay", "updelay"];

/// What the files say.
pub(super) fn render(state: &State, version: Version) -> Result<Configuration, Refusal> {
    let mut configuration = Configuration::default();
    for interface in &state.interfaces {
        if interface.name.is_none() && !version.has(Behaviour::NetworkdSetsMacs) {
            return Stage::Render.refuses("an interface has no name");
        }
        configuration.interfaces.insert(interface.written_name(), written(interface, state, version));
    }
    Ok(configuration)
}

fn written(interface: &state::Interface, state: &State, version: Version) -> Interface {
    let mut written = Interface::default();
    let mac = interface.mac.clone().filter(|mac| !mac.is_empty());
    let is_virtual = matches!(interface.kind, convert::Kind::Bond | convert::Kind::Vlan);
    if is_virtual && version.has(Behaviour::NetworkdSetsMacs) {
        written.mac = mac;
    } else {
        written.match_mac = mac;
    }
    written.mtu = truthy(&interface.mtu).then(|| plain(&interface.mtu));
    if version.has(Behaviour::NetworkdNetdevs) {
        netdev(&mut written, interface, state);
    }
    let routes: Vec<RouteLines> =
        interface.subnets.iter().flat_map(|subnet| routes(subnet, version)).collect();
    write_routes(&mut written, routes, version);
    networks(&mut written, interface, state, version);
    written
}

fn netdev(written: &mut Interface, interface: &state::Interface, state: &State) {
    match interface.kind {
        convert::Kind::Physical | convert::Kind::Infiniband => {}
        convert::Kind::Bond => {
            let members = state.members(interface);
            // A bond without members is skipped with a warning.
            if !members.is_empty() {
                written.kind = Kind::Bond;
                written.members = members;
                let spellings = [Spelling::DashThenUnderscores];
                written.bond = bond_options::known(&interface.options, &BOND_OPTIONS, &spellings, |value| {
                    truthy(value).then(|| plain(value)).or_else(|| value.is_number().then(|| value.clone()))
                });
            }
        }
        convert::Kind::Vlan if interface.vlan_id.is_null() => {}
        convert::Kind::Vlan => {
            written.kind = Kind::Vlan;
            let link = interface.parent.clone().unwrap_or_default();
            written.vlan = Some(Vlan { id: Some(plain(&interface.vlan_id)), link });
        }
    }
}

/// A `[Route]` section.
struct RouteLines {
    /// The route of a network's `gateway` key, which has no destination and stands before the others.
    of_gateway_key: bool,
    destination: Option<String>,
    is_default: bool,
    gateway: Option<String>,
    metric: Option<i64>,
    on_link: bool,
}

fn routes(subnet: &Subnet, version: Version) -> Vec<RouteLines> {
    let line = |route: &Route| RouteLines {
        of_gateway_key: false,
        destination: Some(route.target()),
        is_default: route.is_default(),
        gateway: route.gateway.clone(),
        metric: route.metric,
        on_link: false,
    };
    let mut lines: Vec<RouteLines> = subnet.routes.iter().map(line).collect();
    if let (Some(address), Some(gateway)) = (&subnet.address, &subnet.gateway) {
        let outside = in_subnet(gateway, &address.with_prefix()) == Some(false);
        lines.push(RouteLines {
            of_gateway_key: true,
            destination: None,
            is_default: true,
            gateway: Some(gateway.clone()),
            metric: None,
            on_link: outside && version.has(Behaviour::NetworkdOnLink),
        });
    }
    lines
}

fn write_routes(written: &mut Interface, mut lines: Vec<RouteLines>, version: Version) {
    if version.has(Behaviour::NetworkdRouteSections) {
        // Sections are sorted by a name that ends in the number of the route, as text.
        let mut numbered: Vec<_> = lines.drain(..).enumerate().collect();
        numbered.sort_by_key(|(at, line)| (!line.of_gateway_key, at.to_string()));
        lines = numbered.into_iter().map(|(_, line)| line).collect();
    } else if !lines.is_empty() {
        // One section for all, and of lines with one key the last in the order of the alphabet counts.
        let destination = lines.iter().filter_map(|line| line.destination.clone()).max();
        let is_default = matches!(destination.as_deref(), None | Some("0.0.0.0/0" | "::/0"));
        let metric = lines.iter().filter_map(|line| line.metric).max_by_key(i64::to_string);
        let gateway = lines.iter().filter_map(|line| line.gateway.clone()).max();
        lines = vec![RouteLines {
            of_gateway_key: false,
            destination,
            is_default,
            gateway,
            metric,
            on_link: false,
        }];
    }
    for line in lines {
        let gateway = line.gateway.as_deref();
        if line.is_default {
            let v6 = line.destination.as_deref().is_some_and(|destination| destination.starts_with("::"));
            let none = if v6 { "v6 none" } else { "v4 none" };
            written.gateways.push(route_text(None, gateway.or(Some(none)), line.metric, line.on_link));
        } else {
            let target = line.destination.as_deref();
            written.routes.push(route_text(target, gateway, line.metric, line.on_link));
        }
    }
}

fn networks(written: &mut Interface, interface: &state::Interface, state: &State, version: Version) {
    let (mut server_lines, mut search_lines) = (Vec::new(), Vec::new());
    for subnet in &interface.subnets {
        match subnet.kind.as_str() {
            "dhcp" | "dhcp4" => written.dhcp4 = Some(true),
            "dhcp6" => written.dhcp6 = Some(true),
            "ipv6_dhcpv6-stateful" if version.has(Behaviour::NetworkdStatefulDhcp) => {
                written.dhcp6 = Some(true)
            }
            _ => {}
        }
        let Some(address) = &subnet.address else { continue };
        written.addresses.push(address.with_prefix());
        server_lines.push(subnet.name_servers.clone());
        search_lines.push(subnet.search.clone());
    }
    server_lines.push(state.name_servers.clone());
    search_lines.push(state.search.clone());
    written.addresses.sort();
    written.addresses.dedup();
    written.dns = sorted_lines(server_lines);
    written.dns_search = sorted_lines(search_lines);
    if version.has(Behaviour::NetworkdAcceptRa) || written.dhcp6 == Some(true) {
        written.accept_ra = interface.accept_ra;
    }
}

/// Lines of one key, each a list of words: sorted as text, each once.
fn sorted_lines(lines: Vec<Vec<String>>) -> Vec<String> {
    let mut lines: Vec<String> =
        lines.into_iter().filter(|words| !words.is_empty()).map(|words| words.join(" ")).collect();
    lines.sort();
    lines.dedup();
    lines.iter().flat_map(|line| line.split(' ')).map(str::to_owned).collect()
}
