//! Faults of documents that no template can have: what people write into Secrets of their own.

use serde_json::{Value, json};

use crate::choice::Choice;

/// Spoils the document in one or two places.
pub fn spoil(document: &mut Value, choice: &Choice) {
    for _ in 0..choice.between(1, 2) {
        let list = *choice.of(&["links", "networks", "networks", "services"]);
        let Some(entries) = document[list].as_array_mut() else { continue };
        match list {
            "links" => link(entries, choice),
            "networks" => network(entries, choice),
            _ => service(entries, choice),
        }
    }
    if choice.once_in(25) {
        let key = *choice.of(&["links", "networks", "services"]);
        match choice.once_in(2) {
            true => document[key] = Value::Null,
            false => drop(document.as_object_mut().unwrap().remove(key)),
        }
    }
}

/// One of the entries, by chance.
fn one<'e>(entries: &'e mut [Value], choice: &Choice) -> Option<&'e mut Value> {
    let last = entries.len().checked_sub(1)?;
    entries.get_mut(choice.between(0, last))
}

/// Removes a key, makes it null or empty, or gives it the value.
fn change(entry: &mut Value, choice: &Choice, key: &str, value: &Value) {
    match choice.between(0, 4) {
        0 => drop(entry.as_object_mut().unwrap().remove(key)),
        1 => entry[key] = Value::Null,
        2 if !key.ends_with("_links") => entry[key] = json!(""),
        _ => entry[key] = value.clone(),
    }
}

fn link(entries: &mut Vec<Value>, choice: &Choice) {
    if choice.once_in(4) {
        // Members before their bond.
        entries.reverse();
        return;
    }
    if choice.once_in(6) {
        let Some(again) = entries.first().cloned() else { return };
        entries.push(again);
        return;
    }
    let Some(link) = one(entries, choice) else { return };
    let keys: Vec<(&str, Value)> = match link["type"].as_str() {
        Some("bond") => vec![
            ("ethernet_mac_address", json!("52:54:00:aa:00:02")),
            ("bond_links", json!([])),
            ("bond_mode", json!(4)),
            ("bond_mode", json!("turbo")),
            ("bond_xmit_hash_policy", json!("")),
            ("bond_miimon", json!(100)),
            ("bond_arp_ip_target", json!("10.0.0.1,10.0.0.3")),
            ("name", json!("bond1")),
            ("mtu", json!("9000")),
        ],
        Some("vlan") => vec![
            ("vlan_mac_address", json!("52:54:00:bb:00:01")),
            ("vlan_mac_address", json!("52-54-00-BB-00-01")),
            ("vlan_id", json!("100")),
            ("vlan_link", json!("nic9")),
            ("mtu", json!(0)),
        ],
        _ => vec![
            ("ethernet_mac_address", json!("52:54:00:AA:00:03")),
            ("ethernet_mac_address", json!("junk")),
            ("name", json!("lan-abcdefghijkl")),
            ("type", json!("hw_veb")),
            ("type", json!("lan")),
            ("mtu", json!(0)),
            ("mtu", json!("1500")),
            ("mtu", Value::Null),
            ("id", json!("nic7")),
        ],
    };
    let (key, value) = choice.of(&keys);
    change(link, choice, key, value);
}

fn network(entries: &mut [Value], choice: &Choice) {
    if choice.once_in(8) {
        entries.reverse();
        return;
    }
    let Some(network) = one(entries, choice) else { return };
    let v6 = network["type"].as_str().is_some_and(|kind| kind.starts_with("ipv6"));
    let keys: &[(&str, Value)] = &[
        ("type", json!("ipv6_dhcpv6-stateful")),
        ("type", json!("ipv6_dhcpv6-stateless")),
        ("type", json!("dhcp")),
        ("type", json!("static")),
        ("type", json!("wifi")),
        ("ip_address", json!(if v6 { "2001:db8:1::77/60" } else { "10.0.0.77/23" })),
        ("ip_address", json!("lan")),
        ("netmask", json!(if v6 { "64" } else { "24" })),
        ("netmask", json!("255.255.255.255")),
        ("netmask", json!("255.0.255.0")),
        ("gateway", json!(if v6 { "2001:db8:1::1" } else { "10.0.0.1" })),
        ("gateway", json!(if v6 { "2001:db8:77::1" } else { "10.77.0.1" })),
        ("services", json!([{ "type": "dns", "address": "192.0.2.99" }])),
        ("dns_nameservers", json!(["192.0.2.98"])),
        ("dns_search", json!(["example.org"])),
        ("network_id", json!("a-b-c")),
        ("link", json!("nic8")),
        ("routes", json!([])),
    ];
    if choice.once_in(3) {
        let Some(route) = network["routes"].as_array_mut().and_then(|routes| one(routes, choice)) else {
            return;
        };
        let keys: &[(&str, Value)] = &[
            ("gateway", json!(if v6 { "2001:db8:1::2" } else { "10.0.0.2" })),
            ("gateway", json!("gw")),
            ("gateway", json!(if v6 { "10.0.0.1" } else { "2001:db8::9" })),
            ("netmask", json!(if v6 { "ffff::" } else { "255.128.0.0" })),
            ("netmask", json!(20)),
            ("metric", json!(50)),
            ("network", json!(if v6 { "2001:db8:55::" } else { "10.55.0.0" })),
            ("services", json!([])),
        ];
        let (key, value) = choice.of(keys);
        return change(route, choice, key, value);
    }
    let (key, value) = choice.of(keys);
    change(network, choice, key, value);
}

fn service(entries: &mut Vec<Value>, choice: &Choice) {
    match choice.between(0, 4) {
        0 => entries.push(json!({ "type": "ntp", "address": "192.0.2.123" })),
        1 => entries.push(json!({ "type": "dns", "address": "ns1.example.org" })),
        2 => entries.push(json!({ "type": "dns" })),
        3 => entries.push(json!({ "type": "dns", "address": "192.0.2.53" })),
        _ => entries.push(json!({ "type": "dns", "address": "2001:db8::54", "search": ["example.org"] })),
    }
}
