//! sysconfig: one `ifcfg` file an interface, `route` files and `resolv.conf`.
//!
//! IPv4 stands before IPv6 whatever the order of networks. The default gateway is a key of the interface, so
//! there is one a family; other routes stand in files of their own. For SUSE cloud-init writes neither routes
//! nor gateways nor name servers of an interface.

use crate::cloud_init::{
    behaviour::Behaviour,
    convert,
    interface::{Configuration, Interface, Kind, Vlan, route_text},
    prefix::is_v6_address,
    refusal::{Refusal, Stage},
    state::{self, Route, State},
    value::{digits, plain, text, truthy},
    version::Version,
};

use super::bond_options::{self, Spelling};

/// Whose `ifcfg` files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flavor {
    Rhel,
    Suse,
}

/// Options of two words are found in their oldest or newest spelling, not in the one that cloud-init itself
/// gives them.
const BOND_OPTIONS: [&str; 15] = [
    "mode",
    "xmit_hash_policy",
    "miimon",
    "min_links",
    "arp_interval",
    "arp_ip_target",
    "arp_validate",
    "ad_select",
    "num_grat_arp",
    "downdelay",
    "updelay",
    "lacp_rate",
    "fail_over_mac",
    "primary",
    "primary_reselect",
];
const SPELLINGS: [Spelling; 2] = [Spelling::Underscores, Spelling::Dashes];

/// Name servers that `resolv.conf` and an interface take.
const FEW: usize = 3;

/// What the files say.
pub(super) fn render(state: &State, version: Version, flavor: Flavor) -> Result<Configuration, Refusal> {
    let mut configuration =
        Configuration { name_servers: state.name_servers.clone(), ..Configuration::default() };
    for interface in &state.interfaces {
        let mut written = written(interface, state, flavor)?;
        // Static IPv6 turns it off below.
        let accept_ra = interface.accept_ra.filter(|_| flavor == Flavor::Rhel);
        let mut file = File { accept_ra, ..File::default() };
        file.read_types(interface, version, flavor)?;
        if flavor == Flavor::Rhel {
            file.routes(interface)?;
        }
        file.write(&mut written, interface, flavor);
        configuration.interfaces.insert(interface.written_name(), written);
        if version.has(Behaviour::SysconfigLinkDnsIsGlobal) {
            let servers = interface.subnets.iter().flat_map(|subnet| &subnet.name_servers);
            configuration.name_servers.extend(servers.cloned());
        }
    }
    let mut seen = std::collections::BTreeSet::new();
    configuration.name_servers.retain(|server| seen.insert(server.clone()));
    if !version.has(Behaviour::SysconfigManyNameServers) {
        configuration.name_servers.truncate(FEW);
    }
    Ok(configuration)
}

fn written(interface: &state::Interface, state: &State, flavor: Flavor) -> Result<Interface, Refusal> {
    let mut written =
        Interface { mtu: (!interface.mtu.is_null()).then(|| plain(&interface.mtu)), ..Interface::default() };
    match interface.kind {
        convert::Kind::Physical | convert::Kind::Infiniband if flavor == Flavor::Suse => {
            written.mac.clone_from(&interface.mac);
        }
        convert::Kind::Physical => written.match_mac.clone_from(&interface.mac),
        convert::Kind::Infiniband => {
            written.kind = Kind::Infiniband;
            written.match_mac.clone_from(&interface.mac);
        }
        convert::Kind::Bond => {
            written.kind = Kind::Bond;
            written.mac = interface.mac.clone().filter(|mac| !mac.is_empty());
            written.bond =
                bond_options::known(&interface.options, &BOND_OPTIONS, &SPELLINGS, |value| match value {
                    serde_json::Value::Array(items) => {
                        Some(digits(&items.iter().map(text).collect::<Vec<_>>().join(" ")))
                    }
                    other => Some(plain(other)),
                });
            written.members = state.members(interface);
        }
        convert::Kind::Vlan => {
            written.kind = Kind::Vlan;
            let name = interface.written_name();
            let (link, id) = name.rsplit_once('.').unwrap_or((&name, ""));
            let (link, mut id) = (link.to_owned(), Some(digits(id)));
            if flavor == Flavor::Rhel && text(&interface.vlan_id).trim().parse::<i64>().is_err() {
                return Stage::Render
                    .refuses(format!("the VLAN id {} is no number", text(&interface.vlan_id)));
            }
            if flavor == Flavor::Suse {
                id = truthy(&interface.vlan_id).then(|| plain(&interface.vlan_id));
            }
            written.vlan = Some(Vlan { id, link });
        }
    }
    Ok(written)
}

/// Keys of an `ifcfg` file that several networks write, where the last one counts.
#[derive(Default)]
struct File {
    dhcp4: bool,
    dhcp6: bool,
    slaac: Option<bool>,
    accept_ra: Option<bool>,
    gateway: Option<String>,
    ipv6_gateway: Option<String>,
    metric: Option<i64>,
    routes: Vec<Route>,
}

impl File {
    /// What the types of the networks turn on and off.
    fn read_types(
        &mut self,
        interface: &state::Interface,
        version: Version,
        flavor: Flavor,
    ) -> Result<(), Refusal> {
        for subnet in &interface.subnets {
            match (subnet.kind.as_str(), flavor) {
                ("dhcp" | "dhcp4", Flavor::Rhel) => self.dhcp4 = true,
                ("dhcp", Flavor::Suse) => (self.dhcp4, self.dhcp6) = (true, true),
                // SUSE has one key for both families. A third network of this kind takes one of them back.
                ("dhcp4", Flavor::Suse) => (self.dhcp4, self.dhcp6) = (true, self.dhcp6 && !self.dhcp4),
                ("dhcp6" | "ipv6_dhcpv6-stateful" | "ipv6_dhcpv6-stateless" | "ipv6_slaac", Flavor::Suse) => {
                    (self.dhcp4, self.dhcp6) = (self.dhcp4 && !self.dhcp6, true);
                }
                ("dhcp6", Flavor::Rhel) => self.dhcp6 = true,
                ("ipv6_dhcpv6-stateful", Flavor::Rhel) => {
                    self.dhcp6 = true;
                    self.slaac = Some(false);
                    self.dhcp4 |= !version.has(Behaviour::SysconfigStatefulIsIpv6);
                }
                ("ipv6_dhcpv6-stateless", Flavor::Rhel) => {
                    self.dhcp6 = true;
                    self.slaac = Some(true);
                }
                ("ipv6_slaac", Flavor::Rhel) => self.slaac = Some(true),
                ("static" | "static6", Flavor::Rhel) if subnet.is_ipv6() => {
                    self.accept_ra = Some(false);
                    self.slaac = Some(false);
                }
                ("static" | "static6", _) => {}
                (other, _) => return Stage::Render.refuses(format!("the network type {other} is unknown")),
            }
        }
        if flavor == Flavor::Suse && interface.bond.is_some() {
            // The key of a member says that it has no network of its own.
            (self.dhcp4, self.dhcp6) = (false, false);
        }
        Ok(())
    }

    fn routes(&mut self, interface: &state::Interface) -> Result<(), Refusal> {
        let (mut has_default4, mut has_default6) = (false, false);
        for subnet in &interface.subnets {
            if let Some(gateway) = subnet.gateway.as_ref().filter(|_| subnet.is_static()) {
                self.set_gateway(gateway, is_v6_address(gateway));
            }
            if let Some(metric) = &subnet.metric {
                self.metric = text(metric).parse().ok().or(self.metric);
            }
        }
        for subnet in &interface.subnets {
            for route in &subnet.routes {
                if route.gateway.is_none() && !subnet.v6 {
                    return no_gateway(route);
                }
                if !route.is_default() || subnet.is_ipv6_dynamic() {
                    self.routes.push(route.clone());
                    continue;
                }
                if subnet.v4 && has_default4 || subnet.v6 && has_default6 {
                    let name = interface.written_name();
                    return Stage::Render.refuses(format!("{name} has two default routes of one family"));
                }
                if let Some(gateway) = &route.gateway {
                    let v6 = subnet.v6 || is_v6_address(gateway);
                    self.set_gateway(gateway, v6);
                    has_default6 |= v6;
                    has_default4 |= !v6;
                }
                self.metric = route.metric.or(self.metric);
            }
        }
        match self.routes.iter().find(|route| route.gateway.is_none()) {
            Some(route) => no_gateway(route),
            None => Ok(()),
        }
    }

    fn set_gateway(&mut self, gateway: &str, v6: bool) {
        let slot = if v6 { &mut self.ipv6_gateway } else { &mut self.gateway };
        *slot = Some(gateway.to_owned());
    }

    fn write(self, written: &mut Interface, interface: &state::Interface, flavor: Flavor) {
        written.dhcp4 = self.dhcp4.then_some(true);
        written.dhcp6 = self.dhcp6.then_some(true);
        written.slaac = self.slaac;
        written.accept_ra = self.accept_ra;
        let of_family = |v6: bool| {
            interface.subnets.iter().filter(move |subnet| subnet.is_static() && subnet.is_ipv6() == v6)
        };
        for subnet in of_family(false).chain(of_family(true)) {
            written.addresses.extend(subnet.address.as_ref().map(state::Address::with_prefix));
        }
        if flavor == Flavor::Suse {
            return;
        }
        for gateway in self.gateway.iter().chain(&self.ipv6_gateway) {
            written.gateways.push(route_text(None, Some(gateway), self.metric, false));
        }
        for v6 in [false, true] {
            let mut numbered: Vec<_> =
                self.routes.iter().enumerate().filter(|(_, route)| route.v6 == v6).collect();
            // Keys of the file are sorted as text, with the number of the route at their end.
            numbered.sort_by_key(|(at, _)| (at + 1).to_string());
            for (_, route) in numbered {
                let target = route.target();
                written.routes.push(route_text(Some(&target), route.gateway.as_deref(), route.metric, false));
            }
        }
        write_dns(written, interface);
    }
}

/// `DNS1` to `DNS3`: a later network overwrites what an earlier one wrote.
fn write_dns(written: &mut Interface, interface: &state::Interface) {
    let mut slots: Vec<String> = Vec::new();
    for subnet in interface.subnets.iter().filter(|subnet| subnet.is_static()) {
        for (at, server) in subnet.name_servers.iter().take(FEW).enumerate() {
            match slots.get_mut(at) {
                Some(slot) => slot.clone_from(server),
                None => slots.push(server.clone()),
            }
        }
        if !subnet.search.is_empty() {
            written.dns_search.clone_from(&subnet.search);
        }
    }
    written.dns = slots;
}

fn no_gateway<T>(route: &Route) -> Result<T, Refusal> {
    Stage::Render.refuses(format!("the route to {} has no gateway", route.target()))
}
