//! NetworkManager: one keyfile an interface, with a section a family.
//!
//! A family has a method: `manual`, `auto` (DHCP, and SLAAC for IPv6), `dhcp` or `disabled`. The first
//! network of a link makes its section, so sections stand in the order of networks. MAC and MTU of a VLAN and
//! the MAC of a bond have no place in what cloud-init writes. What NetworkManager itself makes of the keyfiles is in
//! [`accept`].

mod accept;
mod bond_rules;

use crate::cloud_init::{
    behaviour::Behaviour,
    convert,
    interface::{Interface, Kind, Vlan},
    prefix::is_v6_address,
    refusal::{Refusal, Stage},
    state::{self, State, Subnet},
    value::plain,
    version::Version,
};

use super::{
    Written,
    bond_options::{self, ANY, Spelling},
};

/// Options that every version knows; before they were all looked for in every spelling, each had one.
const OLD_BOND_OPTIONS: [(&str, Spelling); 9] = [
    ("mode", Spelling::Dashes),
    ("miimon", Spelling::Underscores),
    ("xmit_hash_policy", Spelling::Dashes),
    ("num_grat_arp", Spelling::Dashes),
    ("downdelay", Spelling::Dashes),
    ("updelay", Spelling::Dashes),
    ("fail_over_mac", Spelling::Dashes),
    ("primary_reselect", Spelling::Dashes),
    ("primary", Spelling::Dashes),
];

const BOND_OPTIONS: [&str; 28] = [
    "mode",
    "miimon",
    "xmit_hash_policy",
    "num_grat_arp",
    "downdelay",
    "updelay",
    "fail_over_mac",
    "primary",
    "primary_reselect",
    "active_slave",
    "ad_actor_sys_prio",
    "ad_actor_system",
    "ad_select",
    "ad_user_port_key",
    "all_slaves_active",
    "arp_all_targets",
    "arp_interval",
    "arp_ip_target",
    "arp_validate",
    "lacp_rate",
    "lp_interval",
    "min_links",
    "num_unsol_na",
    "packets_per_slave",
    "peer_notif_delay",
    "resend_igmp",
    "tlb_dynamic_lb",
    "use_carrier",
];

/// A `[ipv4]` or `[ipv6]` section.
struct Section {
    v6: bool,
    method: &'static str,
    addresses: Vec<String>,
    /// Value of the key `gateway`.
    gateway: Option<String>,
    routes: Vec<(state::Route, Option<i64>)>,
    dns: Vec<String>,
    search: Vec<String>,
    /// Addresses and routes go where their own family belongs, whatever the type of the network says.
    is_by_address: bool,
}

impl Section {
    fn family(&self) -> &'static str {
        if self.v6 { "ipv6" } else { "ipv4" }
    }
}

/// The sections of a keyfile, in their order.
struct Sections {
    list: Vec<Section>,
    is_by_address: bool,
}

impl Sections {
    fn find(&mut self, v6: bool) -> Option<&mut Section> {
        self.list.iter_mut().find(|section| section.v6 == v6)
    }

    fn ensure(&mut self, v6: bool) -> &mut Section {
        let at = self.list.iter().position(|section| section.v6 == v6).unwrap_or_else(|| {
            self.list.push(Section {
                v6,
                method: "disabled",
                addresses: Vec::new(),
                gateway: None,
                routes: Vec::new(),
                dns: Vec::new(),
                search: Vec::new(),
                is_by_address: self.is_by_address,
            });
            self.list.len() - 1
        });
        self.list.get_mut(at).expect("the section was found or added")
    }

    /// The method of a network, which never takes automatic configuration back.
    fn set_method(&mut self, v6: bool, kind: &str, version: Version) {
        let new = version.has(Behaviour::ManagerIpv6Methods);
        let method = match kind {
            "static" => "manual",
            "static6" if new => "manual",
            "ipv6_dhcpv6-stateful" if new => "dhcp",
            _ => "auto",
        };
        let section = self.ensure(v6);
        if section.method == "dhcp" || section.method == "auto" && method == "manual" {
            return;
        }
        section.method = method;
        if new && matches!(kind, "ipv6_slaac" | "ipv6_dhcpv6-stateless" | "ipv6_dhcpv6-stateful") {
            self.ensure(false);
        }
    }

    /// A server goes to the section of its family, if it may.
    fn add_name_server(&mut self, server: &str, version: Version) {
        let v6 = is_v6_address(server);
        let section =
            if version.has(Behaviour::ManagerTopLevelDns) { self.find(v6) } else { Some(self.ensure(v6)) };
        let enabled_only = version.has(Behaviour::ManagerDnsOfEnabledFamilies);
        if let Some(section) = section.filter(|section| !enabled_only || section.method != "disabled") {
            section.dns.push(server.to_owned());
        }
    }
}

/// What the files say.
pub(super) fn render(state: &State, version: Version) -> Result<Written, Refusal> {
    let mut all = Written::default();
    for interface in &state.interfaces {
        let Some(name) = &interface.name else {
            return Stage::Render.refuses("an interface has no name");
        };
        let mut written = written(interface, name, state, version);
        let sections = sections(interface, state, version);
        all.profile_faults.extend(accept::faults(interface, name, &written, &sections.list));
        write_sections(&mut written, sections);
        all.configuration.interfaces.insert(name.clone(), written);
    }
    Ok(all)
}

fn written(interface: &state::Interface, name: &str, state: &State, version: Version) -> Interface {
    let mut written = Interface::default();
    let mtu = (!interface.mtu.is_null()).then(|| plain(&interface.mtu));
    match interface.kind {
        convert::Kind::Physical | convert::Kind::Infiniband => {
            if interface.kind == convert::Kind::Infiniband {
                written.kind = Kind::Infiniband;
            }
            written.match_mac = interface.mac.as_ref().map(|mac| mac.replace('-', ":").to_lowercase());
            written.match_name = written.match_mac.is_none().then(|| name.to_owned());
            written.mtu = mtu;
        }
        convert::Kind::Bond => {
            written.kind = Kind::Bond;
            written.mtu = mtu.filter(|_| version.has(Behaviour::ManagerBonds));
            let write = |value: &serde_json::Value| match value {
                serde_json::Value::Null => None,
                serde_json::Value::Bool(truth) => Some(truth.to_string().into()),
                other => Some(plain(other)),
            };
            if version.has(Behaviour::ManagerBondOptions) {
                written.bond = bond_options::known(&interface.options, &BOND_OPTIONS, ANY, write);
            } else {
                for (option, spelling) in OLD_BOND_OPTIONS {
                    written.bond.extend(bond_options::known(
                        &interface.options,
                        &[option],
                        &[spelling],
                        write,
                    ));
                }
            }
            written.members = state.members(interface);
        }
        convert::Kind::Vlan => {
            written.kind = Kind::Vlan;
            let link = interface.parent.clone().unwrap_or_default();
            let id = (!interface.vlan_id.is_null()).then(|| plain(&interface.vlan_id));
            written.vlan = Some(Vlan { id, link });
        }
    }
    written
}

fn sections(interface: &state::Interface, state: &State, version: Version) -> Sections {
    let mut sections =
        Sections { list: Vec::new(), is_by_address: version.has(Behaviour::ManagerTopLevelDns) };
    if interface.kind == convert::Kind::Bond
        && interface.subnets.is_empty()
        && version.has(Behaviour::ManagerBonds)
    {
        sections.ensure(false);
        sections.ensure(true);
    }
    for subnet in &interface.subnets {
        add(&mut sections, subnet, version);
    }
    let own_dns = interface.subnets.iter().any(|subnet| !subnet.name_servers.is_empty());
    if version.has(Behaviour::ManagerTopLevelDns) && !own_dns {
        for server in &state.name_servers {
            sections.add_name_server(server, version);
        }
    }
    sections
}

fn add(sections: &mut Sections, subnet: &Subnet, version: Version) {
    let v6 = subnet.is_ipv6();
    sections.set_method(v6, &subnet.kind, version);
    let section = sections.ensure(v6);
    section.addresses.extend(subnet.address.as_ref().map(state::Address::with_prefix));
    if subnet.gateway.is_some() {
        section.gateway.clone_from(&subnet.gateway);
    }
    section.search.extend(subnet.search.iter().cloned());
    for route in &subnet.routes {
        let metric = route.metric.filter(|_| version.has(Behaviour::ManagerRouteMetric));
        section.routes.push((route.clone(), metric));
    }
    for server in &subnet.name_servers {
        sections.add_name_server(server, version);
    }
}

fn write_sections(written: &mut Interface, sections: Sections) {
    for section in sections.list {
        if section.v6 {
            written.ipv6_method = Some(section.method);
            match section.method {
                "auto" => written.slaac = Some(true),
                "dhcp" => written.dhcp6 = Some(true),
                _ => {}
            }
        } else {
            written.ipv4_method = Some(section.method);
            written.dhcp4 = (section.method == "auto").then_some(true);
        }
        written.addresses.extend(section.addresses);
        written.gateways.extend(section.gateway);
        for (route, metric) in &section.routes {
            written.add_route(route, route.gateway.as_deref(), *metric);
        }
        written.dns.extend(section.dns);
        written.dns_search.extend(section.search);
    }
}
