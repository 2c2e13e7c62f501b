//! Capabilities of the Go provider about network data and its pools, one test each.

use serde_json::{Value, json};

use super::{
    rows_network_data_tests::{ethernet_with, links, pools, read},
    testing::Setting,
};

const MAC: &str = "52:54:00:aa:01:02";

/// An ethernet has type, id, MTU, 1500 where none is given, and a MAC address: its own, that of a network card of the host, or
/// that of an annotation.
#[test]
fn nd97_an_ethernet_has_type_id_mtu_and_a_mac_address_of_three_sources() {
    let from = json!({"fromAnnotation": {"object": "machine", "annotation": "mac"}});
    for (mac, expected) in [
        (json!({"string": MAC}), MAC),
        (json!({"fromHostInterface": "enp1s0"}), "52:54:00:aa:01:01"),
        (from, "52:54:00:aa:01:07"),
    ] {
        let link = json!({"id": "eno1", "type": "vif", "mtu": 9000, "macAddress": mac});
        let text =
            |mtu: u32| format!("- ethernet_mac_address: {expected}\n  id: eno1\n  mtu: {mtu}\n  type: vif\n");
        assert_eq!(links(json!({"ethernets": [link]})), text(9000));
        let link = json!({"id": "eno1", "type": "vif", "macAddress": mac});
        assert_eq!(links(json!({"ethernets": [link]})), text(1500));
    }
}

/// A bond has a mode, a transmit hash policy where one is set, and the links that it bonds.
#[test]
fn nd98_a_bond_has_mode_hash_policy_and_links() {
    let bond = |policy: Value| {
        let bond = json!({"id": "bond0", "bondMode": "802.3ad", "bondXmitHashPolicy": policy,
            "bondLinks": ["eno1", "eno2"], "macAddress": {"string": MAC}});
        links(json!({"bonds": [bond]}))
    };
    let text = |policy: &str| {
        format!(
            "- bond_links:\n  - eno1\n  - eno2\n  bond_mode: 802.3ad\n{policy}  ethernet_mac_address: {MAC}\n  id: bond0\n  \
             mtu: 1500\n  type: bond\n"
        )
    };
    assert_eq!(bond(json!("layer3+4")), text("  bond_xmit_hash_policy: layer3+4\n"));
    assert_eq!(bond(Value::Null), text(""));
}

/// Parameters of a bond are rendered under `bond_` and their name; those that repeat a field or each other are an error that
/// names them all.
#[test]
fn nd99_parameters_of_a_bond_are_rendered_and_must_not_repeat_a_field() {
    let bond = |parameters: &[(&str, Value)]| {
        let list: Vec<Value> =
            parameters.iter().map(|(name, value)| json!({"name": name, "value": value})).collect();
        let bond = json!({"id": "bond0", "bondMode": "balance-rr", "bondLinks": ["a"], "parameters": list});
        Setting::new(json!({})).network_data(json!({"links": {"bonds": [bond]}}))
    };
    let document = bond(&[("miimon", json!(100)), ("lacp_rate", json!("fast"))]).unwrap();
    let expected =
        "links:\n- bond_lacp_rate: fast\n  bond_links:\n  - a\n  bond_miimon: 100\n  bond_mode: balance-rr\n";
    assert!(document.starts_with(expected), "{document}");
    let repeated =
        ["mode", "miimon", "links", "xmit_hash_policy", "miimon"].map(|name| (name, json!("again")));
    let error = bond(&repeated).unwrap_err();
    let expected = "illegal params \"mode\", \"links\", \"xmit_hash_policy\", \"miimon\" into bond params blob into link \
                    id=bond0: spec.networkData.links.bonds[0].parameters";
    assert!(error.starts_with(expected), "{error}");
}

/// A VLAN has a number, the link below it, and its MAC address under a key of its own.
#[test]
fn nd100_a_vlan_has_number_link_and_mac_address() {
    let vlan = json!({"id": "vlan7", "vlanID": 7, "vlanLink": "bond0", "macAddress": {"string": MAC}});
    assert_eq!(
        links(json!({"vlans": [vlan]})),
        format!(
            "- id: vlan7\n  mtu: 1500\n  type: vlan\n  vlan_id: 7\n  vlan_link: bond0\n  vlan_mac_address: {MAC}\n"
        )
    );
}

/// Each kind of link may have a name, and may have no MAC address.
#[test]
fn nd101_a_link_may_have_a_name_and_no_mac_address() {
    for (list, link) in [
        ("ethernets", json!({"id": "l", "type": "phy"})),
        ("bonds", json!({"id": "l", "bondMode": "802.3ad"})),
        ("vlans", json!({"id": "l", "vlanID": 7, "vlanLink": "eno1"})),
    ] {
        let bare = links(json!({list: [link]}));
        assert!(!bare.contains("name:") && !bare.contains("mac_address"), "{list}: {bare}");
        let mut named = link.clone();
        named["name"] = json!("mgmt0");
        named["macAddress"] = json!({"string": MAC});
        let full = links(json!({list: [named]}));
        let mac = format!("_mac_address: {MAC}\n");
        assert!(full.contains("  name: mgmt0\n") && full.contains(&mac), "{list}: {full}");
    }
}

/// A MAC address that is none is refused, wherever it comes from.
#[test]
fn nd102_a_malformed_mac_address_is_refused() {
    let from =
        |annotation: &str| json!({"fromAnnotation": {"object": "baremetalhost", "annotation": annotation}});
    for (mac, value) in [
        (json!({"string": "52:54:00:aa:01"}), "52:54:00:aa:01"),
        (json!({"string": "XX:XX:XX:XX:XX:XX"}), "XX:XX:XX:XX:XX:XX"),
        (from("rack"), "r7"),
        (from("missing"), ""),
        (json!({}), ""),
    ] {
        let error = ethernet_with(mac.clone()).unwrap_err();
        assert!(error.starts_with(&format!("bad MAC address: {value}: ")), "{mac}: {error}");
    }
    let nics = json!({"hardware": {"nics": [{"name": "eno1", "mac": "none"}]}});
    let ethernet = json!({"id": "e", "type": "phy", "macAddress": {"fromHostInterface": "eno1"}});
    let host = Setting::new(json!({})).on(json!({}), nics);
    let error = host.network_data(json!({"links": {"ethernets": [ethernet]}})).unwrap_err();
    assert!(error.starts_with("bad MAC address: none: "), "{error}");
}

/// There are five types of networks: static of either family, DHCP of either family, and SLAAC. Each has routes.
#[test]
fn nd103_networks_of_five_types_have_routes() {
    let mut networks = json!({});
    let types = [
        ("ipv4", "ipv4", "10.9.0.0", "10.0.0.9"),
        ("ipv6", "ipv6", "2001:db8:9::", "2001:db8::9"),
        ("ipv4DHCP", "ipv4_dhcp", "10.9.0.0", "10.0.0.9"),
        ("ipv6DHCP", "ipv6_dhcp", "2001:db8:9::", "2001:db8::9"),
        ("ipv6SLAAC", "ipv6_slaac", "2001:db8:9::", "2001:db8::9"),
    ];
    for (list, _, network, gateway) in types {
        let route = json!({"network": network, "prefix": 16, "gateway": {"string": gateway}});
        networks[list] = json!([{"id": list, "link": "l", "routes": [route]}]);
    }
    networks["ipv4"][0]["ipAddressFromIPPool"] = json!("v4");
    networks["ipv6"][0]["ipAddressFromIPPool"] = json!("v6");
    let document = read(json!({"networks": networks}));
    assert_eq!(document["networks"].as_array().unwrap().len(), types.len());
    for (at, (list, type_, network, gateway)) in types.into_iter().enumerate() {
        let found = &document["networks"][at];
        assert_eq!((&found["type"], &found["id"]), (&json!(type_), &json!(list)));
        let address = found.get("ip_address").and_then(Value::as_str);
        assert_eq!(address.is_some(), list == type_, "only static networks have an address: {found}");
        let route = &found["routes"][0];
        assert_eq!((&route["network"], &route["gateway"]), (&json!(network), &json!(gateway)), "{list}");
    }
}

/// A prefix is rendered as a mask: with dots for IPv4, in the form of an address for IPv6.
#[test]
fn nd104_a_prefix_is_rendered_as_a_mask() {
    for (list, network, address, prefix, mask) in [
        ("ipv4", "0.0.0.0", "10.0.0.5", 0, "0.0.0.0"),
        ("ipv4", "0.0.0.0", "10.0.0.5", 25, "255.255.255.128"),
        ("ipv4", "0.0.0.0", "10.0.0.5", 32, "255.255.255.255"),
        ("ipv6", "::", "2001:db8::5", 0, "::"),
        ("ipv6", "::", "2001:db8::5", 33, "ffff:ffff:8000::"),
        ("ipv6", "::", "2001:db8::5", 64, "ffff:ffff:ffff:ffff::"),
        ("ipv6", "::", "2001:db8::5", 128, "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
    ] {
        let setting = Setting::new(json!({"p": {"address": address, "prefix": prefix}}));
        let route = json!({"network": network, "prefix": prefix, "gateway": {"string": address}});
        let network = json!({"id": "n", "link": "l", "ipAddressFromIPPool": "p", "routes": [route]});
        let document = setting.network_data(json!({"networks": {list: [network]}})).unwrap();
        let document: Value = serde_saphyr::from_str(&document).unwrap();
        let network = &document["networks"][0];
        assert_eq!(
            (&network["netmask"], &network["routes"][0]["netmask"]),
            (&json!(mask), &json!(mask)),
            "{list} {prefix}"
        );
    }
}

/// The gateway of a route is the first that is given: an address, the pool that an annotation names, a pool by reference, a
/// pool by name. A route with none of them is refused.
#[test]
fn nd105_the_gateway_of_a_route_is_the_first_that_is_given() {
    let gateway = |address: &str| json!({"address": "10.0.0.5", "prefix": 24, "gateway": address});
    let setting = Setting::new(json!({
        "v4": gateway("10.0.0.2"), "by-reference": gateway("10.0.0.3"), "by-name": gateway("10.0.0.4")}));
    let mut sources = vec![
        ("string", json!("10.0.0.1"), "10.0.0.1"),
        ("fromPoolAnnotation", json!({"object": "baremetalhost", "annotation": "pool"}), "10.0.0.2"),
        ("fromPoolRef", json!({"name": "by-reference"}), "10.0.0.3"),
        ("fromIPPool", json!("by-name"), "10.0.0.4"),
    ];
    let of = |sources: &[(&str, Value, &str)]| {
        let gateway: Value =
            sources.iter().map(|(member, value, _)| ((*member).to_owned(), value.clone())).collect();
        let route = json!({"network": "0.0.0.0", "gateway": gateway});
        let document = setting
            .network_data(json!({"networks": {"ipv4DHCP": [{"id": "n", "link": "l", "routes": [route]}]}}))?;
        let document: Value = serde_saphyr::from_str(&document).unwrap();
        Ok::<Value, String>(document["networks"][0]["routes"][0]["gateway"].clone())
    };
    while let Some((first, _, expected)) = sources.first().cloned() {
        assert_eq!(of(&sources).unwrap(), expected, "{first}");
        sources.remove(0);
    }
    let error = of(&[]).unwrap_err();
    assert!(
        error.starts_with("no gateway: spec.networkData.networks.ipv4DHCP[0].routes[0].gateway"),
        "{error}"
    );
}

/// `fromPoolAnnotation` takes the name of the pool from an annotation of the machine, the Metal3Machine or the host, for a
/// network and for a gateway; an annotation that is missing or empty is an error.
#[test]
fn ip112_an_annotation_of_each_object_names_a_pool() {
    let from = |object: &str, annotation: &str| json!({"object": object, "annotation": annotation});
    for (object, annotation, pool) in
        [("machine", "pool6", "v6"), ("metal3machine", "pool4", "v4"), ("baremetalhost", "pool", "v4")]
    {
        let list = if pool == "v6" { "ipv6" } else { "ipv4" };
        let network = |annotation: &str| json!({"networkData": {"networks": {list: [{"id": "n", "link": "l", "fromPoolAnnotation": from(object, annotation)}]}}});
        assert_eq!(pools().pools(network(annotation)).unwrap(), [format!("ipam.metal3.io/IPPool/{pool}")]);
        let document = pools().network_data(network(annotation)["networkData"].clone()).unwrap();
        let expected = if pool == "v6" { "ip_address: 2001:db8::5\n" } else { "ip_address: 10.0.0.5\n" };
        assert!(document.contains(expected), "{object}: {document}");
        let error = pools().pools(network("missing")).unwrap_err();
        assert!(
            error.starts_with(&format!("annotation missing not found or empty on {object}: ")),
            "{error}"
        );
        let route = |annotation: &str| {
            let route = json!({"network": "::", "gateway": {"fromPoolAnnotation": from(object, annotation)}});
            let network = json!({"id": "n", "link": "l", "ipAddressFromIPPool": pool, "routes": [route]});
            pools().pools(json!({"networkData": {"networks": {list: [network]}}}))
        };
        assert_eq!(route(annotation).unwrap(), [format!("ipam.metal3.io/IPPool/{pool}")]);
        assert!(route("missing").unwrap_err().contains(".gateway.fromPoolAnnotation"), "{object}");
    }
}
