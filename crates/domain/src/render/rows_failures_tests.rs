//! What a user reads when a template cannot be rendered.

use serde_json::{Value, json};

use super::testing::Setting;

fn link(list: &str, more: Value) -> Value {
    let mut link = json!({"id": "l0"});
    link.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    json!({"networkData": {"links": {list: [link]}}})
}

fn mac(source: Value) -> Value {
    link("ethernets", json!({"type": "phy", "macAddress": source}))
}

fn network(list: &str, more: Value) -> Value {
    let mut network = json!({"id": "net", "link": "l0"});
    network.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    json!({"networkData": {"networks": {list: [network]}}})
}

fn meta_data(list: &str, item: Value) -> Value {
    json!({"metaData": {list: [item]}})
}

/// Every failure that a user can cause in a template is told with the template, the field in it, what was found there and
/// what would help.
#[test]
fn s192_a_template_that_cannot_be_rendered_is_told_with_the_way_out() {
    let setting = Setting::new(json!({
        "v4": {"address": "10.0.0.5", "prefix": 24}, "v6": {"address": "2001:db8::5", "prefix": 64},
        "bare": {"address": "10.0.0.6"}, "wide": {"address": "10.0.0.7", "prefix": 40},
    }));
    let links = "spec.networkData.links";
    let networks = "spec.networkData.networks";
    let route = |gateway: Value| json!({"routes": [{"network": "0.0.0.0", "gateway": gateway}]});
    let range = json!({"start": "10.0.0.1", "end": "10.0.0.0", "subnet": "10.0.0.0/24"});
    let two = json!([{"name": "mode", "value": 1}, {"name": "xmit_hash_policy", "value": "x"}]);
    // The template, then object or value, field, and way out.
    let table = [
        (
            mac(json!({"fromHostInterface": "eth9"})),
            "eth9",
            format!("{links}.ethernets[0].macAddress"),
            "host host-1 has enp1s0; name an interface that the host has",
        ),
        (
            mac(json!({"string": "XX:XX"})),
            "XX:XX",
            format!("{links}.ethernets[0].macAddress"),
            "write six pairs of hexadecimal digits",
        ),
        (
            mac(json!({"fromAnnotation": {"object": "machine", "annotation": "a"}})),
            "machine machine-1 has no annotation a",
            format!("{links}.ethernets[0].macAddress"),
            "write six pairs",
        ),
        (mac(json!({})), "no source is given", format!("{links}.ethernets[0].macAddress"), "write six pairs"),
        (link("vlans", json!({"vlanLink": "x"})), "\"l0\"", format!("{links}.vlans[0].vlanID"), "set vlanID"),
        (
            link("bonds", json!({"bondMode": "802.3ad", "parameters": two})),
            "\"mode\", \"xmit_hash_policy\"",
            format!("{links}.bonds[0].parameters"),
            "take them out of parameters",
        ),
        (
            network("ipv4", json!({"ipAddressFromIPPool": "v6"})),
            "2001:db8::5 is not an IPv4 address",
            format!("{networks}.ipv4[0]"),
            "pool v6; name a pool or a range of that family",
        ),
        (
            network("ipv6", json!({"ipAddressFromIPPool": "v4"})),
            "10.0.0.5 is not an IPv6 address",
            format!("{networks}.ipv6[0]"),
            "pool v4; name a pool or a range of that family",
        ),
        (
            network("ipv4", json!({"ipAddressFromIPPool": "bare"})),
            "gives no prefix",
            format!("{networks}.ipv4[0]"),
            "pool bare; set prefix",
        ),
        (
            network("ipv4", json!({"ipAddressFromIPPool": "wide"})),
            "40 for IPv4",
            format!("{networks}.ipv4[0]"),
            "pool wide; set a prefix that fits",
        ),
        (
            network("ipv4", json!({"ipAddressFromIPPool": "gone"})),
            "pool gone gave no address",
            format!("{networks}.ipv4[0]"),
            "name a pool that exists",
        ),
        (
            network("ipv4", json!({"fromPoolAnnotation": {"object": "machine", "annotation": "p"}})),
            "annotation p not found or empty on machine",
            format!("{networks}.ipv4[0].fromPoolAnnotation"),
            "machine machine-1; set the annotation",
        ),
        (
            network("ipv4", json!({"ipAddress": range})),
            "start 10.0.0.1 is behind end 10.0.0.0",
            "networkData.networks.ipv4[0] (net)".to_owned(),
            "correct the range",
        ),
        (
            network("ipv4", json!({"ipAddress": {"start": "x"}})),
            "start \"x\" is not an IP address",
            "networkData.networks.ipv4[0]".to_owned(),
            "correct the range",
        ),
        (
            network("ipv4", json!({"ipAddress": {"start": "10.0.0.1"}})),
            "prefix is required",
            format!("{networks}.ipv4[0]"),
            "network net; set prefix",
        ),
        (
            network("ipv4DHCP", route(json!({}))),
            "no source is given",
            format!("{networks}.ipv4DHCP[0].routes[0].gateway"),
            "give the route or the pool a gateway",
        ),
        (
            network("ipv6SLAAC", route(json!({"fromIPPool": "v6"}))),
            "pool v6 has none",
            format!("{networks}.ipv6SLAAC[0].routes[0].gateway"),
            "give the route or the pool a gateway",
        ),
        (
            meta_data("prefixesFromPool", json!({"key": "a", "name": "bare"})),
            "pool bare",
            "spec.metaData.prefixesFromPool[0].name".to_owned(),
            "set prefix",
        ),
        (
            meta_data("fromHostInterfaces", json!({"key": "a", "fromBootMAC": true})),
            "BareMetalHost metal3/host-1",
            "spec.metaData.fromHostInterfaces[0].fromBootMAC".to_owned(),
            "set spec.bootMACAddress of the host",
        ),
        (
            meta_data("objectNames", json!({"key": "a", "object": "node"})),
            "node",
            "spec.metaData.objectNames[0].object".to_owned(),
            "name one of the three objects",
        ),
        (
            json!({"metaData": {"ipAddressesFromPool": [{"key": "a", "name": "p"}, {"key": "b", "name": "p", "kind": "Other"}]}}),
            "pool p is both",
            "spec.metaData.ipAddressesFromPool[1]".to_owned(),
            "give one of them another name",
        ),
    ];
    assert!(table.len() >= 20);
    for (template, found, field, way_out) in table {
        let said = setting.advice(template);
        assert!(said.starts_with("Metal3DataTemplate t: "), "{said}");
        for word in [found, &field, way_out] {
            assert!(said.contains(word), "{word:?} is not said: {said}");
        }
    }
}
