//! Network data of a Metal3DataTemplate: what v1beta1 writes as empty text or an empty object is absent in v1beta2, and
//! is left out of v1beta1 too, whose schema refuses most of it on writing back.

use serde_json::{Value, json};

use super::json::{Object, child, drop_zero, each, ensured, set_default, take};

const LINKS: [&str; 3] = ["ethernets", "bonds", "vlans"];
const NETWORKS: [&str; 5] = ["ipv4", "ipv6", "ipv4DHCP", "ipv6DHCP", "ipv6SLAAC"];

/// v1beta1 to v1beta2.
pub(super) fn up(network_data: &mut Object) {
    normalise(network_data);
    if let Some(links) = child(network_data, "links") {
        for bond in each(links, "bonds") {
            parameters_up(bond);
        }
        drop_zero(links, &LINKS);
    }
    if let Some(networks) = child(network_data, "networks") {
        for route in routes(networks) {
            fold_netmask(route);
            drop_zero(route, &["prefix"]);
        }
        drop_zero(networks, &NETWORKS);
    }
    drop_zero(network_data, &["links", "networks", "services"]);
}

/// v1beta2 to v1beta1.
pub(super) fn down(network_data: &mut Object) {
    normalise(network_data);
    if let Some(links) = ensured(network_data, "links") {
        for bond in each(links, "bonds") {
            parameters_down(bond);
        }
    }
    if let Some(networks) = ensured(network_data, "networks") {
        for route in routes(networks) {
            drop_zero(route, &["prefix"]);
        }
    }
    ensured(network_data, "services");
}

/// What holds in both directions.
fn normalise(network_data: &mut Object) {
    if let Some(links) = child(network_data, "links") {
        for kind in LINKS {
            for link in each(links, kind) {
                normalise_link(link);
            }
        }
        for vlan in each(links, "vlans") {
            set_default(vlan, "vlanID", 0);
        }
    }
    if let Some(networks) = child(network_data, "networks") {
        for kind in NETWORKS {
            for network in each(networks, kind) {
                normalise_pool_sources(network);
                drop_zero(network, &["ipAddressFromIPPool", "routes"]);
                if let Some(range) = child(network, "ipAddress") {
                    drop_zero(range, &["start", "end", "subnet", "step"]);
                }
            }
        }
        for route in routes(networks) {
            if let Some(gateway) = child(route, "gateway") {
                normalise_pool_sources(gateway);
                drop_zero(gateway, &["string", "fromIPPool"]);
            }
            normalise_services(route);
        }
    }
    normalise_services(network_data);
}

fn normalise_link(link: &mut Object) {
    if let Some(mac) = child(link, "macAddress") {
        normalise_annotation(mac, "fromAnnotation");
        drop_zero(mac, &["string", "fromHostInterface"]);
    }
    drop_zero(link, &["name", "mtu", "bondXmitHashPolicy", "bondLinks", "parameters"]);
}

fn normalise_pool_sources(holder: &mut Object) {
    if let Some(pool) = child(holder, "fromPoolRef") {
        drop_zero(pool, &["apiGroup", "kind", "name"]);
    }
    drop_zero(holder, &["fromPoolRef"]);
    normalise_annotation(holder, "fromPoolAnnotation");
}

fn normalise_annotation(holder: &mut Object, name: &str) {
    if let Some(annotation) = child(holder, name) {
        drop_zero(annotation, &["object", "annotation"]);
    }
    drop_zero(holder, &[name]);
}

fn normalise_services(holder: &mut Object) {
    if let Some(services) = child(holder, "services") {
        drop_zero(services, &["dns", "dnsFromIPPool"]);
    }
    drop_zero(holder, &["services"]);
}

/// The routes of every network.
fn routes(networks: &mut Object) -> impl Iterator<Item = &mut Object> {
    let known = networks.iter_mut().filter(|(kind, _)| NETWORKS.contains(&kind.as_str()));
    let items = known.filter_map(|(_, list)| list.as_array_mut()).flatten().filter_map(Value::as_object_mut);
    items
        .filter_map(|network| network.get_mut("routes")?.as_array_mut())
        .flatten()
        .filter_map(Value::as_object_mut)
}

/// `netmask` was the name of `prefix` in older documents; given both, `prefix` counts.
fn fold_netmask(route: &mut Object) {
    if let Some(netmask) = take(route, "netmask") {
        drop_zero(route, &["prefix"]);
        set_default(route, "prefix", netmask);
    }
}

fn parameters_up(bond: &mut Object) {
    let Some(parameters) = child(bond, "parameters") else { return };
    let mut list: Vec<(String, Value)> = std::mem::take(parameters).into_iter().collect();
    list.sort_by(|(a, _), (b, _)| a.cmp(b));
    let named = |(name, value): (String, Value)| match value {
        Value::Null => json!({"name": name}),
        value => json!({"name": name, "value": value}),
    };
    let list = list.into_iter().map(named).collect();
    bond.insert("parameters".to_owned(), Value::Array(list));
}

fn parameters_down(bond: &mut Object) {
    let Some(Value::Array(list)) = bond.get("parameters") else { return };
    let named = |parameter: &Value| {
        let name = parameter.get("name")?.as_str()?.to_owned();
        Some((name, parameter.get("value").cloned().unwrap_or(Value::Null)))
    };
    let map: Object = list.iter().filter_map(named).collect();
    bond.insert("parameters".to_owned(), Value::Object(map));
}
