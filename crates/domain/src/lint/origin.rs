//! From a field of a document to the field of the object that it was rendered from.

use capm3_api::v1beta2::{Metal3DataTemplateSpec, NetworkLinks, Networks, Route, StaticNetwork};

/// Where a document comes from.
#[derive(Debug, Clone, Copy)]
pub enum Origin<'a> {
    /// Rendered from a Metal3DataTemplate.
    Template(&'a Metal3DataTemplateSpec),
    /// A member of a Secret, by its field, such as `stringData.networkData`.
    Secret(&'a str),
    /// From nowhere: fields are those of the document.
    Itself,
}

impl Origin<'_> {
    /// The field of the origin for a field of the document, such as `links[0].vlan_link`.
    pub fn field(&self, field: &str) -> String {
        match self {
            Self::Itself => field.to_owned(),
            Self::Secret(member) => (*member).to_owned(),
            Self::Template(spec) => of_template(spec, field),
        }
    }
}

const DATA: &str = "spec.networkData";

fn of_template(spec: &Metal3DataTemplateSpec, field: &str) -> String {
    let (Some((list, number, rest)), Some(data)) = (item(field), &spec.network_data) else {
        return DATA.to_owned();
    };
    match list {
        "links" => data.links.as_ref().and_then(|links| of_link(links, number, rest)),
        "networks" => data.networks.as_ref().and_then(|networks| of_network(networks, number, rest)),
        _ => Some(service(&format!("{DATA}.services"), number, listed_servers(spec))),
    }
    .unwrap_or_else(|| DATA.to_owned())
}

/// Bonds are rendered first, then ethernets, then VLANs.
fn of_link(links: &NetworkLinks, number: usize, member: &str) -> Option<String> {
    let lists =
        [("bonds", links.bonds.len()), ("ethernets", links.ethernets.len()), ("vlans", links.vlans.len())];
    let (list, index) = nth(&lists, number)?;
    let bond = links.bonds.get(index).filter(|_| list == "bonds");
    let parameter = bond.and_then(|bond| {
        let key = member.strip_prefix("bond_")?;
        let at = bond.parameters.iter().position(|parameter| parameter.name == key)?;
        Some(format!("parameters[{at}].name"))
    });
    let path = format!("{DATA}.links.{list}[{index}]");
    if member.ends_with("_mac_address") {
        let source = match list {
            "bonds" => links.bonds.get(index)?.mac_address.as_ref(),
            "ethernets" => links.ethernets.get(index)?.mac_address.as_ref(),
            _ => links.vlans.get(index)?.mac_address.as_ref(),
        };
        let is_text = source.is_some_and(|source| source.string.is_some());
        return Some(format!("{path}.macAddress{}", if is_text { ".string" } else { "" }));
    }
    Some(join(&path, &parameter.unwrap_or_else(|| link_member(member))))
}

/// Networks are rendered in the order of these lists.
fn of_network(networks: &Networks, number: usize, member: &str) -> Option<String> {
    let lists = [
        ("ipv4", networks.ipv4.len()),
        ("ipv6", networks.ipv6.len()),
        ("ipv4DHCP", networks.ipv4_dhcp.len()),
        ("ipv6DHCP", networks.ipv6_dhcp.len()),
        ("ipv6SLAAC", networks.ipv6_slaac.len()),
    ];
    let (list, index) = nth(&lists, number)?;
    let fixed = match list {
        "ipv4" => networks.ipv4.get(index),
        "ipv6" => networks.ipv6.get(index),
        _ => None,
    };
    let routes = match list {
        "ipv4DHCP" => networks.ipv4_dhcp.get(index).map(|network| &network.routes),
        "ipv6DHCP" => networks.ipv6_dhcp.get(index).map(|network| &network.routes),
        "ipv6SLAAC" => networks.ipv6_slaac.get(index).map(|network| &network.routes),
        _ => fixed.map(|network| &network.routes),
    };
    let path = format!("{DATA}.networks.{list}[{index}]");
    if let Some(("routes", number, rest)) = item(member) {
        return Some(of_route(&format!("{path}.routes[{number}]"), routes?.get(number)?, rest));
    }
    let member = match (member, fixed) {
        ("ip_address" | "netmask", Some(network)) => address_source(network),
        // Each list has one type.
        ("type", _) => "",
        (other, _) => other,
    };
    Some(join(&path, member))
}

/// The member that says where the address comes from.
fn address_source(network: &StaticNetwork) -> &'static str {
    match network {
        _ if network.ip_address.is_some() => "ipAddress",
        _ if network.from_pool_annotation.is_some() => "fromPoolAnnotation",
        _ if network.from_pool_ref.is_some() => "fromPoolRef.name",
        _ => "ipAddressFromIPPool",
    }
}

fn of_route(path: &str, route: &Route, member: &str) -> String {
    match (member, item(member)) {
        ("netmask", _) => format!("{path}.prefix"),
        ("gateway", _) => {
            let gateway = &route.gateway;
            let source = match gateway {
                _ if gateway.string.as_ref().is_some_and(|text| !text.is_empty()) => "string",
                _ if gateway.from_pool_annotation.is_some() => "fromPoolAnnotation",
                _ if gateway.from_pool_ref.is_some() => "fromPoolRef.name",
                _ => "fromIPPool",
            };
            format!("{path}.gateway.{source}")
        }
        (_, Some(("services", number, _))) => {
            let listed = route.services.as_ref().map_or(0, |services| services.dns.len());
            service(&format!("{path}.services"), number, listed)
        }
        (other, _) => join(path, other),
    }
}

/// `links[2].mtu` is item 2 of `links` and its `mtu`.
fn item(field: &str) -> Option<(&str, usize, &str)> {
    let (list, rest) = field.split_once('[')?;
    let (number, rest) = rest.split_once(']')?;
    Some((list, number.parse().ok()?, rest.strip_prefix('.').unwrap_or(rest)))
}

/// The list that holds the item of this number if the lists follow each other, and its number in that list.
fn nth(lists: &[(&'static str, usize)], number: usize) -> Option<(&'static str, usize)> {
    let mut before = 0;
    for (list, length) in lists {
        if number < before + length {
            return Some((*list, number - before));
        }
        before += length;
    }
    None
}

/// A member of a place; the place itself where there is none.
fn join(path: &str, member: &str) -> String {
    if member.is_empty() { path.to_owned() } else { format!("{path}.{member}") }
}

fn link_member(member: &str) -> String {
    let (name, rest) = member.split_at(member.find('[').unwrap_or(member.len()));
    let name = match name {
        "bond_mode" => "bondMode",
        "bond_links" => "bondLinks",
        "bond_xmit_hash_policy" => "bondXmitHashPolicy",
        "vlan_id" => "vlanID",
        "vlan_link" => "vlanLink",
        // What is missing in the document is missing in the template.
        _ if name.starts_with("bond_") => "parameters",
        other => other,
    };
    format!("{name}{rest}")
}

fn listed_servers(spec: &Metal3DataTemplateSpec) -> usize {
    let services = spec.network_data.as_ref().and_then(|data| data.services.as_ref());
    services.map_or(0, |services| services.dns.len())
}

/// Listed servers come first, then those of the pool.
fn service(path: &str, number: usize, listed: usize) -> String {
    if number < listed { format!("{path}.dns[{number}]") } else { format!("{path}.dnsFromIPPool") }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fields_of_a_document_lead_to_those_of_its_template() {
        let spec = serde_json::from_value(json!({"networkData": {
            "links": {
                "ethernets": [{"id": "a"}, {"id": "b"}],
                "bonds": [{"id": "c", "parameters": [{"name": "miimon"}, {"name": "lacp_rate"}]}],
                "vlans": [{"id": "d"}]},
            "networks": {
                "ipv4": [{"id": "n", "ipAddressFromIPPool": "p",
                    "routes": [{"network": "0.0.0.0", "gateway": {"fromIPPool": "p"}, "services": {"dns": ["1.1.1.1"]}}]}],
                "ipv6DHCP": [{"id": "m", "routes": [{"network": "::", "gateway": {"string": "fe80::1"}}]}]},
            "services": {"dns": ["8.8.8.8"], "dnsFromIPPool": "p"}}}))
        .unwrap();
        let origin = Origin::Template(&spec);
        for (field, expected) in [
            ("links[0]", "links.bonds[0]"),
            ("links[0].bond_links[1]", "links.bonds[0].bondLinks[1]"),
            ("links[0].bond_lacp_rate", "links.bonds[0].parameters[1].name"),
            ("links[0].bond_mode", "links.bonds[0].bondMode"),
            ("links[2].ethernet_mac_address", "links.ethernets[1].macAddress"),
            ("links[3].vlan_link", "links.vlans[0].vlanLink"),
            ("networks[0].ip_address", "networks.ipv4[0].ipAddressFromIPPool"),
            ("networks[0].routes[0].gateway", "networks.ipv4[0].routes[0].gateway.fromIPPool"),
            ("networks[0].routes[0].netmask", "networks.ipv4[0].routes[0].prefix"),
            ("networks[0].routes[0].services[0].address", "networks.ipv4[0].routes[0].services.dns[0]"),
            ("networks[1].link", "networks.ipv6DHCP[0].link"),
            ("networks[1].routes[0].gateway", "networks.ipv6DHCP[0].routes[0].gateway.string"),
            ("services[0].address", "services.dns[0]"),
            ("services[1]", "services.dnsFromIPPool"),
        ] {
            assert_eq!(origin.field(field), format!("spec.networkData.{expected}"), "{field}");
        }
        assert_eq!(origin.field("services"), "spec.networkData");
        assert_eq!(origin.field("links[9].mtu"), "spec.networkData");
        assert_eq!(Origin::Secret("data.networkData").field("links[9].mtu"), "data.networkData");
    }
}
