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

/// Every failure that a user can cause in a template is reported with the template, the field in it, what was found there and
/// what would help.
#[test]
fn s192_a_template_that_cannot_be_rendered_is_reported_with_the_remedy() {
    let setting = Setting::new(json!({
        "v4": {"address": "10.0.0.5", "prefix": 24}, "v6": {"address": "2001:db8::5", "prefix": 64},
        "bare": {"address": "10.0.0.6"}, "wide": {"address": "10.0.0.7", "prefix": 40},
    }));
    let links = "spec.networkData.links";
    let networks = "spec.networkData.networks";
    let route = |gateway: Value| json!({"routes": [{"network": "", "gateway": gateway}]});
    let range = json!({"start": "10.0.0.1", "end": "10.0.0.0", "subnet": "10.0.0.0/24"});
    let two = json!([{"name": "mode", "value": 1}, {"name": "xmit_hash_policy", "value": "x"}]);
    // The template, then object or value, field, and way out.
    let table = [
        (
            mac(json!({"fromHostInterface": "eth9"})),
            "eth9",
            format!("{links}.ethernets[0].macAddress"),
            "host host-1 has enp1s0 (link l0); give the machine a host that has the interface, or name an interface that the host has in a new Metal3DataTemplate",
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
            "; set the annotation a on Machine machine-1",
        ),
        (
            mac(json!({})),
            "no source is given",
            format!("{links}.ethernets[0].macAddress"),
            "give macAddress a source in a new",
        ),
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
            "pool v6 gives IPv6 (network net); name a pool or an address of that family",
        ),
        (
            network("ipv6", json!({"ipAddressFromIPPool": "v4"})),
            "10.0.0.5 is not an IPv6 address",
            format!("{networks}.ipv6[0]"),
            "pool v4 gives IPv4 (network net); name a pool or an address of that family",
        ),
        (
            network("ipv4", json!({"ipAddressFromIPPool": "bare"})),
            "gives no prefix",
            format!("{networks}.ipv4[0]"),
            "pool bare (network net); set the prefix of the pool",
        ),
        (
            network("ipv4", json!({"ipAddressFromIPPool": "wide"})),
            "40 for IPv4",
            format!("{networks}.ipv4[0]"),
            "pool wide (network net); set the prefix of the pool",
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
            "machine machine-1 (network net); set the annotation p on Machine machine-1",
        ),
        (
            network("ipv4", json!({"ipAddress": range})),
            "start 10.0.0.1 is behind end 10.0.0.0",
            "networkData.networks.ipv4[0] (net)".to_owned(),
            "correct the range in a new Metal3DataTemplate (templateReference: that of the old template or, if it has none, the name of the old template)",
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
            "; set prefix in a new",
        ),
        (
            network("ipv4DHCP", route(json!({}))),
            "no source is given",
            format!("{networks}.ipv4DHCP[0].routes[0].gateway"),
            "give the route a gateway in a new",
        ),
        (
            network("ipv6SLAAC", route(json!({"fromIPPool": "v6"}))),
            "pool v6 has none",
            format!("{networks}.ipv6SLAAC[0].routes[0].gateway"),
            "give pool v6 a gateway and replace the machine, or give the route a gateway in a new",
        ),
        (
            meta_data("prefixesFromPool", json!({"key": "a", "name": "bare"})),
            "pool bare",
            "spec.metaData.prefixesFromPool[0].name".to_owned(),
            "set the prefix of the pool",
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
            "use one pool, or pools of different names",
        ),
    ];
    assert!(table.len() >= 20);
    for (template, found, field, way_out) in table {
        let printed = setting.advice(template);
        assert!(printed.starts_with("Metal3DataTemplate t: "), "{printed}");
        for word in [found, &field, way_out] {
            assert!(printed.contains(word), "{word:?} is not printed: {printed}");
        }
    }
}

/// Whatever gives the gateway of a route, it is of the route's family; the network and the address are too.
#[test]
fn an_address_of_the_wrong_family_is_reported_with_path_network_and_both_families() {
    let setting = Setting::new(json!({
        "v4": {"address": "10.0.0.5", "prefix": 24, "gateway": "10.0.0.1", "dnsServers": ["2001:db8::53"]},
        "v6": {"address": "2001:db8::5", "prefix": 64, "gateway": "2001:db8::1"},
    }));
    let route = |network: &str, gateway: Value| json!({"routes": [{"network": network, "gateway": gateway}]});
    let by_ref = json!({"fromPoolRef": {"name": "v4"}});
    let by_host = json!({"fromPoolAnnotation": {"object": "baremetalhost", "annotation": "pool"}});
    let by_machine = json!({"fromPoolAnnotation": {"object": "machine", "annotation": "pool6"}});
    let v4 = "is not an IPv6 address";
    let v6 = "is not an IPv4 address";
    let table = [
        (
            "ipv6SLAAC",
            route("::", json!({"fromIPPool": "v4"})),
            format!("10.0.0.1 {v4}"),
            ".routes[0].gateway, pool v4 gives IPv4 (network net)",
        ),
        (
            "ipv6SLAAC",
            route("::", by_ref),
            format!("10.0.0.1 {v4}"),
            ".routes[0].gateway, pool v4 gives IPv4 (network net)",
        ),
        (
            "ipv6DHCP",
            route("::", by_host),
            format!("10.0.0.1 {v4}"),
            ".routes[0].gateway, pool v4 gives IPv4 (network net)",
        ),
        (
            "ipv6DHCP",
            route("::", json!({"string": "10.0.0.9"})),
            format!("10.0.0.9 {v4}"),
            ".routes[0].gateway, the route gives IPv4 (network net)",
        ),
        (
            "ipv4DHCP",
            route("0.0.0.0", json!({"fromIPPool": "v6"})),
            format!("2001:db8::1 {v6}"),
            ".routes[0].gateway, pool v6 gives IPv6 (network net)",
        ),
        (
            "ipv4DHCP",
            route("0.0.0.0", by_machine),
            format!("2001:db8::1 {v6}"),
            ".routes[0].gateway, pool v6 gives IPv6 (network net)",
        ),
        (
            "ipv4DHCP",
            route("::", json!({"fromIPPool": "v4"})),
            format!(":: {v6}"),
            ".routes[0].network, the route gives IPv6 (network net)",
        ),
        (
            "ipv4",
            json!({"ipAddressFromIPPool": "v6"}),
            format!("2001:db8::5 {v6}"),
            ", pool v6 gives IPv6 (network net)",
        ),
        (
            "ipv6",
            json!({"ipAddress": {"subnet": "10.0.0.0/24"}}),
            format!("10.0.0.1 {v4}"),
            ", the range gives IPv4 (network net)",
        ),
    ];
    for (list, more, problem, place) in table {
        let printed = setting.advice(network(list, more));
        let start = format!("Metal3DataTemplate t: {problem}: spec.networkData.networks.{list}[0]{place}; ");
        assert!(printed.starts_with(&start), "{start}: {printed}");
    }
    let printed = setting.advice(network(
        "ipv6",
        json!({"fromPoolAnnotation": {"object": "baremetalhost", "annotation": "pool"}}),
    ));
    let end = "pool v4 gives IPv4 (network net); let annotation pool of BareMetalHost host-1 name a pool that serves";
    assert!(printed.ends_with(end), "{printed}");
    // Any family of name server serves a node that has both.
    let dns = json!({"routes": [{"network": "0.0.0.0", "gateway": {"fromIPPool": "v4"}, "services": {"dnsFromIPPool": "v4"}}]});
    assert_eq!(setting.advice(network("ipv4DHCP", dns)), "");
}

/// Machines were made from a template that is applied, so no advice says to change it.
#[test]
fn what_the_template_says_wrongly_goes_into_a_new_one() {
    let setting = Setting::new(json!({})).at(9);
    let printed = setting.advice(network(
        "ipv4",
        json!({"ipAddress": {"start": "10.0.0.1", "end": "10.0.0.2"}, "prefix": 24}),
    ));
    assert_eq!(
        printed,
        "Metal3DataTemplate t: IP address out of bounds: networkData.networks.ipv4[0] (net): index 9, step 1 gives \
         10.0.0.10, end is 10.0.0.2; ask for fewer machines, or widen the range in a new Metal3DataTemplate \
         (templateReference: that of the old template or, if it has none, the name of the old template) and roll out a Metal3MachineTemplate that refers to it"
    );
}
