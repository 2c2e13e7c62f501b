//! Whether rendered network data is what OpenStack's Nova calls `network_data.json`: the rules of its schema, written down
//! here in our own way, and applied to rendered documents.

use serde_json::{Value, json};

use super::{rows_network_data_tests::everything, testing::Setting};

const L2: [&str; 9] = ["bridge", "dvs", "hw_veb", "hyperv", "ovs", "tap", "vhostuser", "vif", "phy"];

/// What is wrong with a document by Nova's schema; `network_id` is not asked for.
fn complaints(document: &Value) -> Vec<String> {
    let list = |member: &str| document[member].as_array().cloned().unwrap_or_default();
    let mut found = Vec::new();
    for member in ["links", "networks", "services"] {
        if !document[member].is_array() {
            found.push(format!("{member} is no list"));
        }
    }
    for link in list("links") {
        let required: &[&str] = match link["type"].as_str().unwrap_or_default() {
            "bond" => &["id", "ethernet_mac_address", "bond_mode", "bond_links"],
            "vlan" => &["id", "vlan_mac_address", "vlan_link", "vlan_id"],
            type_ if L2.contains(&type_) => &["id", "ethernet_mac_address"],
            _ => &["a known type"],
        };
        found.extend(missing(&link, required));
        if !(1..=65535).contains(&link["mtu"].as_i64().unwrap_or_default()) {
            found.push(format!("mtu of {link}"));
        }
    }
    for network in list("networks") {
        let types = ["ipv4", "ipv4_dhcp", "ipv6", "ipv6_dhcp", "ipv6_slaac"];
        if !types.contains(&network["type"].as_str().unwrap_or_default()) {
            found.push(format!("type of {network}"));
        }
        found.extend(missing(&network, &["id", "link"]));
        for route in network["routes"].as_array().into_iter().flatten() {
            found.extend(missing(route, &["network", "netmask", "gateway"]));
            found.extend(route["services"].as_array().into_iter().flatten().flat_map(service));
        }
    }
    found.extend(list("services").iter().flat_map(service));
    found
}

fn missing(object: &Value, members: &[&str]) -> Vec<String> {
    let absent = members.iter().filter(|member| object[**member].is_null() || object[**member] == "");
    absent.map(|member| format!("{member} is missing in {object}")).collect()
}

fn service(service: &Value) -> Vec<String> {
    let address = service["address"].as_str().is_some_and(|text| text.parse::<std::net::IpAddr>().is_ok());
    if service["type"] == "dns" && address {
        Vec::new()
    } else {
        vec![format!("not a DNS server: {service}")]
    }
}

/// What is rendered is network data as Nova defines it, apart from `network_id`, which is never written.
#[test]
fn s107_network_data_is_what_nova_defines_but_for_network_id() {
    let pools = json!({
        "v4": {"address": "10.0.0.5", "prefix": 24, "gateway": "10.0.0.1"},
        "v6": {"address": "2001:db8::5", "prefix": 64, "gateway": "2001:db8::1", "dnsServers": ["2001:db8::2"]},
    });
    for template in [everything(), json!({})] {
        let text = Setting::new(pools.clone()).network_data(template).unwrap();
        let document: Value = serde_saphyr::from_str(&text).unwrap();
        assert_eq!(complaints(&document), Vec::<String>::new(), "{text}");
        assert!(!text.contains("network_id"), "{text}");
    }
    assert!(
        !complaints(&json!({"links": [{"type": "odd"}], "networks": [], "services": [{"type": "ntp"}]}))
            .is_empty()
    );
}
