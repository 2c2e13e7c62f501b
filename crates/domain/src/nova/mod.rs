//! The schema of network_data that Nova publishes and Ironic enforces for the ramdisk.
//!
//! Takes a document; gives every entry that the schema refuses, with the reason. The config drive of a node is not checked by
//! it: a document that the schema refuses may configure a node well, as every document without `network_id` shows. References
//! between entries, ranges and families are not part of the schema.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use serde_json::{Map, Value};

/// An entry that the schema refuses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// A key of the document, or an entry of one of its lists, such as `links[0]`.
    pub place: String,
    /// Why.
    pub reason: String,
}

const L2_TYPES: [&str; 9] = ["bridge", "dvs", "hw_veb", "hyperv", "ovs", "tap", "vhostuser", "vif", "phy"];
const BOND_MODES: [&str; 7] =
    ["802.3ad", "balance-rr", "active-backup", "balance-xor", "broadcast", "balance-tlb", "balance-alb"];
const V4_TYPES: [&str; 2] = ["ipv4", "ipv4_dhcp"];
const V6_TYPES: [&str; 3] = ["ipv6", "ipv6_dhcp", "ipv6_slaac"];
const MTU: std::ops::RangeInclusive<f64> = 1.0..=65535.0;

/// Why the schema refuses an entry.
type Check = fn(&Entry<'_>) -> Result<(), String>;

/// Everything that the schema refuses, in the order of the document.
pub fn faults(document: &Value) -> Vec<Fault> {
    let lists: [(&str, Check); 3] = [("links", link), ("networks", network), ("services", service)];
    let mut faults = Vec::new();
    for (key, check) in lists {
        let fault = |place: String, reason: String| Fault { place, reason };
        match document.get(key) {
            None => faults.push(fault(key.to_owned(), "is missing".to_owned())),
            Some(Value::Array(entries)) => {
                for (at, entry) in entries.iter().enumerate() {
                    let outcome = entry
                        .as_object()
                        .map_or_else(|| Err("is no object".to_owned()), |members| check(&Entry(members)));
                    faults.extend(outcome.err().map(|reason| fault(format!("{key}[{at}]"), reason)));
                }
            }
            Some(_) => faults.push(fault(key.to_owned(), "is no list".to_owned())),
        }
    }
    faults
}

/// A member of one of the lists.
struct Entry<'d>(&'d Map<String, Value>);

impl<'d> Entry<'d> {
    fn required(&self, key: &str) -> Result<&'d Value, String> {
        self.0.get(key).ok_or_else(|| format!("has no {key}"))
    }

    /// A required text that fulfils the condition.
    fn text(&self, key: &str, what: &str, fits: impl Fn(&str) -> bool) -> Result<(), String> {
        check_text(key, self.required(key)?, what, fits)
    }

    /// The same where the key may be missing.
    fn maybe_text(&self, key: &str, what: &str, fits: impl Fn(&str) -> bool) -> Result<(), String> {
        self.0.get(key).map_or(Ok(()), |value| check_text(key, value, what, fits))
    }

    fn kind(&self) -> Result<&'d str, String> {
        self.required("type")?.as_str().ok_or_else(|| "has a type that is no text".to_owned())
    }

    /// A list whose members fulfil the condition.
    fn list(&self, key: &str, check: impl Fn(&Value) -> Result<(), String>) -> Result<(), String> {
        match self.0.get(key) {
            None => Ok(()),
            Some(Value::Array(items)) => items.iter().try_for_each(check),
            Some(_) => Err(format!("has {key} that are no list")),
        }
    }
}

fn check_text(key: &str, value: &Value, what: &str, fits: impl Fn(&str) -> bool) -> Result<(), String> {
    match value.as_str() {
        Some(text) if fits(text) => Ok(()),
        _ => Err(format!("has {key} {value}, which is no {what}")),
    }
}

fn link(link: &Entry<'_>) -> Result<(), String> {
    link.text("id", "text", |_| true)?;
    match link.0.get("mtu") {
        None | Some(Value::Null) => {}
        Some(mtu) if mtu.as_f64().is_some_and(|mtu| MTU.contains(&mtu)) => {}
        Some(mtu) => return Err(format!("has mtu {mtu}, which is not within 1 and 65535")),
    }
    match link.kind()? {
        "bond" => {
            link.text("ethernet_mac_address", "MAC", is_mac)?;
            link.text("bond_mode", "bond mode", |mode| BOND_MODES.contains(&mode))?;
            link.required("bond_links")?;
            link.list("bond_links", |id| check_text("bond_links", id, "text", |_| true))
        }
        "vlan" => {
            link.text("vlan_mac_address", "MAC", is_mac)?;
            link.text("vlan_link", "text", |_| true)?;
            match link.required("vlan_id")? {
                Value::Number(id) if id.as_f64().is_some_and(|id| id.fract() == 0.0) => Ok(()),
                id => Err(format!("has vlan_id {id}, which is no whole number")),
            }
        }
        kind if L2_TYPES.contains(&kind) => {
            link.maybe_text("vif_id", "text", |_| true)?;
            link.text("ethernet_mac_address", "MAC", is_mac)
        }
        kind => Err(format!("has the unknown type {kind}")),
    }
}

fn network(network: &Entry<'_>) -> Result<(), String> {
    for key in ["id", "link", "network_id"] {
        network.text(key, "text", |_| true)?;
    }
    let kind = network.kind()?;
    if V4_TYPES.contains(&kind) {
        network.maybe_text("ip_address", "IPv4 address", is_v4)?;
        network.maybe_text("netmask", "IPv4 netmask shorter than /32", is_v4_netmask)?;
        network.list("routes", |it| route(it, "IPv4 address", is_v4, is_v4_netmask))
    } else if V6_TYPES.contains(&kind) {
        network.maybe_text(
            "ip_address",
            "IPv6 address, alone or with a prefix of two digits",
            is_v6_with_prefix,
        )?;
        network.maybe_text("netmask", "IPv6 netmask in the form of an address", is_v6)?;
        network.list("routes", |it| route(it, "IPv6 address", is_v6, is_v6))
    } else {
        Err(format!("has the unknown type {kind}"))
    }
}

fn route(
    route: &Value,
    what: &str,
    is_address: fn(&str) -> bool,
    is_netmask: fn(&str) -> bool,
) -> Result<(), String> {
    let Some(members) = route.as_object() else { return Err("has a route that is no object".to_owned()) };
    let route = Entry(members);
    let outcome = route
        .text("network", what, is_address)
        .and_then(|()| route.text("netmask", "netmask of its family", is_netmask))
        .and_then(|()| route.text("gateway", what, is_address))
        .and_then(|()| {
            route.list("services", |it| {
                it.as_object().map_or_else(
                    || Err("has a service that is no object".to_owned()),
                    |it| service(&Entry(it)),
                )
            })
        });
    outcome.map_err(|reason| format!("has a route that {reason}"))
}

fn service(service: &Entry<'_>) -> Result<(), String> {
    match service.kind()? {
        "dns" => service.text("address", "IP address", |address| address.parse::<IpAddr>().is_ok()),
        kind => Err(format!("has the type {kind}, only dns is known")),
    }
}

/// Six pairs of hexadecimal digits with colons or dashes.
fn is_mac(text: &str) -> bool {
    let pairs: Vec<&str> = text.split([':', '-']).collect();
    pairs.len() == 6
        && pairs.iter().all(|pair| pair.len() == 2 && pair.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

fn is_v4(text: &str) -> bool {
    text.parse::<Ipv4Addr>().is_ok()
}

fn is_v6(text: &str) -> bool {
    text.parse::<Ipv6Addr>().is_ok()
}

fn is_v4_netmask(text: &str) -> bool {
    if let Some(length) = text.strip_prefix('/') {
        return !length.starts_with('0')
            && length.parse::<u8>().is_ok_and(|length| (1..32).contains(&length));
    }
    let ones_then_zeros = |mask: u32| mask.leading_ones() + mask.trailing_zeros() >= u32::BITS;
    text.parse::<Ipv4Addr>().is_ok_and(|mask| u32::from(mask) != u32::MAX && ones_then_zeros(u32::from(mask)))
}

fn is_v6_with_prefix(text: &str) -> bool {
    let (address, prefix) =
        text.split_once('/').map_or((text, None), |(address, prefix)| (address, Some(prefix)));
    let two_digits =
        |prefix: &str| matches!(prefix.len(), 1 | 2) && prefix.bytes().all(|byte| byte.is_ascii_digit());
    is_v6(address) && prefix.is_none_or(two_digits)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_the_schema_refuses_is_named_by_its_place() {
        let good = json!({
            "links": [
                {"id": "a", "type": "phy", "ethernet_mac_address": "52-54-00-AA-00-01", "mtu": null},
                {"id": "b", "type": "bond", "ethernet_mac_address": "52:54:00:aa:00:01", "bond_mode": "802.3ad", "bond_links": []},
                {"id": "v", "type": "vlan", "vlan_mac_address": "52:54:00:aa:00:01", "vlan_link": "nowhere", "vlan_id": 9999},
            ],
            "networks": [
                {"id": "n", "link": "a", "network_id": "", "type": "ipv4", "netmask": "255.255.255.254"},
                {"id": "n", "link": "a", "network_id": "", "type": "ipv6", "ip_address": "2001:db8::1/64"},
            ],
            "services": [{"type": "dns", "address": "2001:db8::53"}],
        });
        assert_eq!(faults(&good), []);
        let rows = [
            ("/links/0/mtu", json!(0), "links[0]"),
            ("/links/0/type", json!("none"), "links[0]"),
            ("/links/1/bond_mode", json!("802.1ad"), "links[1]"),
            ("/links/2/vlan_mac_address", json!(null), "links[2]"),
            ("/networks/0/netmask", json!("255.255.255.255"), "networks[0]"),
            ("/networks/0/type", json!("ipv6_dhcpv6-stateful"), "networks[0]"),
            ("/networks/1/ip_address", json!("2001:db8::1/128"), "networks[1]"),
            ("/services/0/type", json!("ntp"), "services[0]"),
            ("/services", json!(null), "services"),
        ];
        for (pointer, value, place) in rows {
            let mut bad = good.clone();
            *bad.pointer_mut(pointer).unwrap() = value;
            let places: Vec<String> = faults(&bad).into_iter().map(|fault| fault.place).collect();
            assert_eq!(places, [place], "{pointer}");
        }
    }

    #[test]
    fn what_is_rendered_has_no_network_id_and_is_refused() {
        let document =
            json!({"links": [], "networks": [{"id": "n", "link": "a", "type": "ipv4_dhcp"}], "services": []});
        let [fault] = faults(&document).try_into().unwrap();
        assert_eq!((fault.place.as_str(), fault.reason.as_str()), ("networks[0]", "has no network_id"));
    }
}
