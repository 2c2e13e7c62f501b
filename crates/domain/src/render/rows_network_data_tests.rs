//! The rows of the acceptance list about network data, one test per row.

use serde_json::{Value, json};

use super::testing::Setting;

pub(super) fn pools() -> Setting {
    Setting::new(json!({
        "v4": {"address": "10.0.0.5", "prefix": 24, "gateway": "10.0.0.1", "dnsServers": ["10.0.0.2", "10.0.0.3"]},
        "v6": {"address": "2001:db8::5", "prefix": 64, "gateway": "2001:db8::1", "dnsServers": ["2001:db8::2"]},
    }))
}

pub(super) fn read(template: Value) -> Value {
    serde_saphyr::from_str(&pools().network_data(template).unwrap()).unwrap()
}

/// The links of a document, as text.
pub(super) fn links(links: Value) -> String {
    let document = Setting::new(json!({})).network_data(json!({"links": links})).unwrap();
    let links = document.strip_prefix("links:\n").unwrap();
    links.strip_suffix("networks: []\nservices: []\n").unwrap().to_owned()
}

/// Every document has exactly `links`, `networks` and `services`, each a list, whatever the template has.
#[test]
fn s106_nd107_a_document_has_three_lists() {
    let services = json!({"services": {"dns": ["8.8.8.8"]}});
    for template in [json!({}), services, json!({"links": {}, "networks": {}}), everything()] {
        let document = read(template.clone());
        let members = document.as_object().unwrap();
        assert_eq!(members.keys().collect::<Vec<_>>(), ["links", "networks", "services"], "{template}");
        assert!(members.values().all(Value::is_array), "{template}");
    }
}

/// One of each kind of link and network.
pub(super) fn everything() -> Value {
    let mac = json!({"fromHostInterface": "enp1s0"});
    let route = |network: &str, pool: &str| json!([{"network": network, "gateway": {"fromIPPool": pool}}]);
    json!({
        "links": {
            "bonds": [{"id": "bond0", "bondMode": "active-backup", "bondLinks": ["enp1s0"], "macAddress": mac}],
            "ethernets": [{"id": "enp1s0", "type": "phy", "macAddress": mac}],
            "vlans": [{"id": "vlan7", "vlanID": 7, "vlanLink": "bond0", "macAddress": mac}]},
        "networks": {
            "ipv4": [{"id": "a", "link": "bond0", "ipAddressFromIPPool": "v4", "routes": route("0.0.0.0", "v4")}],
            "ipv6": [{"id": "b", "link": "bond0", "ipAddressFromIPPool": "v6", "routes": route("::", "v6")}],
            "ipv4DHCP": [{"id": "c", "link": "vlan7"}], "ipv6DHCP": [{"id": "d", "link": "vlan7"}],
            "ipv6SLAAC": [{"id": "e", "link": "vlan7"}]},
        "services": {"dns": ["8.8.8.8"], "dnsFromIPPool": "v6"}})
}

/// An ethernet has type, id, MTU and MAC address; an MTU that is not given is 1500.
#[test]
fn s108_an_ethernet_has_type_id_mtu_and_mac() {
    let ethernet = |more: Value| {
        let mut link =
            json!({"id": "eno1", "type": "phy", "macAddress": {"string": "52:54:00:aa:01:02"}, "mtu": more});
        link.as_object_mut().unwrap().retain(|_, value| !value.is_null());
        links(json!({"ethernets": [link]}))
    };
    let expected = |mtu: i32| {
        format!("- ethernet_mac_address: 52:54:00:aa:01:02\n  id: eno1\n  mtu: {mtu}\n  type: phy\n")
    };
    assert_eq!(ethernet(json!(9000)), expected(9000));
    assert_eq!(ethernet(Value::Null), expected(1500));
}

/// Each of the nine types of an ethernet is copied.
#[test]
fn s109_the_type_of_an_ethernet_is_copied() {
    for type_ in ["bridge", "dvs", "hw_veb", "hyperv", "ovs", "tap", "vhostuser", "vif", "phy"] {
        let text = links(json!({"ethernets": [{"id": "a", "type": type_}]}));
        assert_eq!(text, format!("- id: a\n  mtu: 1500\n  type: {type_}\n"));
    }
}

pub(super) fn ethernet_with(mac: Value) -> Result<String, String> {
    let template = json!({"links": {"ethernets": [{"id": "eno1", "type": "phy", "macAddress": mac}]}});
    let document = Setting::new(json!({})).network_data(template)?;
    let line = document.lines().find_map(|line| line.strip_prefix("- ethernet_mac_address: "));
    Ok(line.unwrap_or_default().to_owned())
}

/// A MAC address can stand in an annotation; one that is absent is an error that names the object and the key.
#[test]
fn s111_a_mac_address_comes_from_an_annotation() {
    let from = |object: &str, annotation: &str| json!({"fromAnnotation": {"object": object, "annotation": annotation}});
    assert_eq!(ethernet_with(from("machine", "mac")).unwrap(), "52:54:00:aa:01:07");
    assert_eq!(
        ethernet_with(from("baremetalhost", "mac")).unwrap_err(),
        "bad MAC address: : spec.networkData.links.ethernets[0].macAddress, baremetalhost host-1 has no annotation mac (link eno1)"
    );
    assert_eq!(
        ethernet_with(from("baremetalhost", "rack")).unwrap_err(),
        "bad MAC address: r7: spec.networkData.links.ethernets[0].macAddress, annotation rack of baremetalhost host-1 (link eno1)"
    );
}

/// A MAC address can be that of an interface of the host.
#[test]
fn s112_a_mac_address_comes_from_an_interface() {
    assert_eq!(ethernet_with(json!({"fromHostInterface": "enp1s0"})).unwrap(), "52:54:00:aa:01:01");
}

/// A bond has id, MTU, MAC address, mode and members.
#[test]
fn s113_a_bond_has_id_mtu_mac_mode_and_links() {
    let bond = json!({"id": "bond0", "mtu": 9000, "macAddress": {"string": "52:54:00:aa:01:02"},
        "bondMode": "802.3ad", "bondLinks": ["eno1", "eno2"]});
    assert_eq!(
        links(json!({"bonds": [bond]})),
        "- bond_links:\n  - eno1\n  - eno2\n  bond_mode: 802.3ad\n  ethernet_mac_address: 52:54:00:aa:01:02\n  \
         id: bond0\n  mtu: 9000\n  type: bond\n"
    );
}

/// Each of the seven modes of a bond is copied.
#[test]
fn s114_the_mode_of_a_bond_is_copied() {
    for mode in
        ["802.3ad", "balance-rr", "active-backup", "balance-xor", "broadcast", "balance-tlb", "balance-alb"]
    {
        let text = links(json!({"bonds": [{"id": "a", "bondMode": mode}]}));
        assert_eq!(
            text,
            format!("- bond_links: []\n  bond_mode: {mode}\n  id: a\n  mtu: 1500\n  type: bond\n")
        );
    }
}

/// A VLAN has id, MTU, MAC address, number and the link below it.
#[test]
fn s117_a_vlan_has_id_mtu_mac_number_and_link() {
    let vlan = json!({"id": "vlan100", "mtu": 1400, "vlanID": 100, "vlanLink": "bond0",
        "macAddress": {"string": "52:54:00:aa:01:02"}});
    assert_eq!(
        links(json!({"vlans": [vlan]})),
        "- id: vlan100\n  mtu: 1400\n  type: vlan\n  vlan_id: 100\n  vlan_link: bond0\n  \
         vlan_mac_address: 52:54:00:aa:01:02\n"
    );
}

/// A static network takes the address of its pool, and the mask from the pool's prefix, in the form of its family.
#[test]
fn s120_a_static_network_has_address_and_mask_of_its_pool() {
    let network = |pool: &str| json!([{"id": "n", "link": "l", "ipAddressFromIPPool": pool}]);
    let document = read(json!({"networks": {"ipv4": network("v4"), "ipv6": network("v6")}}));
    let of = |index: usize| {
        ["type", "id", "link", "ip_address", "netmask"]
            .map(|member| document["networks"][index][member].as_str().unwrap_or_default().to_owned())
    };
    assert_eq!(of(0), ["ipv4", "n", "l", "10.0.0.5", "255.255.255.0"]);
    assert_eq!(of(1), ["ipv6", "n", "l", "2001:db8::5", "ffff:ffff:ffff:ffff::"]);
}

/// DHCP of both families and SLAAC have a type, an id, a link and routes.
#[test]
fn s122_networks_that_give_addresses_themselves() {
    for (list, type_) in [("ipv4DHCP", "ipv4_dhcp"), ("ipv6DHCP", "ipv6_dhcp"), ("ipv6SLAAC", "ipv6_slaac")] {
        let document =
            pools().network_data(json!({"networks": {list: [{"id": "net", "link": "l"}]}})).unwrap();
        let expected = format!(
            "links: []\nnetworks:\n- id: net\n  link: l\n  routes: []\n  type: {type_}\nservices: []\n"
        );
        assert_eq!(document, expected);
    }
}

/// Routes of each of the five kinds of networks have network, mask, gateway and services; prefix 0, and none, is the mask
/// of the default route.
#[test]
fn s124_routes_of_each_kind_of_network() {
    for (list, network, gateway, prefix, mask, default) in [
        ("ipv4", "10.1.0.0", "10.0.0.9", 16, "255.255.0.0", "0.0.0.0"),
        ("ipv6", "2001:db8:1::", "2001:db8::9", 48, "ffff:ffff:ffff::", "::"),
        ("ipv4DHCP", "10.1.0.0", "10.0.0.9", 16, "255.255.0.0", "0.0.0.0"),
        ("ipv6DHCP", "2001:db8:1::", "2001:db8::9", 48, "ffff:ffff:ffff::", "::"),
        ("ipv6SLAAC", "2001:db8:1::", "2001:db8::9", 48, "ffff:ffff:ffff::", "::"),
    ] {
        let route = |prefix: Value| {
            let mut route = json!({"network": network, "prefix": prefix, "gateway": {"string": gateway},
                "services": {"dns": ["9.9.9.9"]}});
            route.as_object_mut().unwrap().retain(|_, value| !value.is_null());
            route
        };
        let mut item = json!({"id": "n", "link": "l", "routes": [route(json!(prefix)), route(json!(0)), route(Value::Null)]});
        if let Some(pool) = [("ipv4", "v4"), ("ipv6", "v6")].iter().find(|(kind, _)| *kind == list) {
            item["ipAddressFromIPPool"] = json!(pool.1);
        }
        let document = read(json!({"networks": {list: [item]}}));
        let expected = |mask: &str| {
            json!({"network": network, "netmask": mask, "gateway": gateway,
                "services": [{"type": "dns", "address": "9.9.9.9"}]})
        };
        let routes = &document["networks"][0]["routes"];
        assert_eq!(routes, &json!([expected(mask), expected(default), expected(default)]), "{list}");
    }
}

fn servers(services: &Value) -> Vec<&str> {
    let all = services.as_array().unwrap().iter();
    all.map(|service| {
        assert_eq!(service["type"], "dns");
        service["address"].as_str().unwrap()
    })
    .collect()
}

fn with_services(services: &Value) -> Value {
    let route = json!({"network": "0.0.0.0", "gateway": {"string": "10.0.0.9"}, "services": services});
    read(
        json!({"networks": {"ipv4DHCP": [{"id": "n", "link": "l", "routes": [route]}]}, "services": services}),
    )
}

/// DNS servers of a route and of the node stand in the order in which they are listed.
#[test]
fn s128_listed_dns_servers_keep_their_order() {
    let document = with_services(&json!({"dns": ["9.9.9.9", "1.1.1.1", "2001:db8::53"]}));
    let expected = ["9.9.9.9", "1.1.1.1", "2001:db8::53"];
    assert_eq!(servers(&document["services"]), expected);
    assert_eq!(servers(&document["networks"][0]["routes"][0]["services"]), expected);
}

/// DNS servers come from a list and from a pool, on a route as at the top; those of the pool come after the listed ones.
#[test]
fn s129_nd106_dns_servers_of_a_pool_come_after_the_listed_ones() {
    let document = with_services(&json!({"dns": ["9.9.9.9"], "dnsFromIPPool": "v4"}));
    let expected = ["9.9.9.9", "10.0.0.2", "10.0.0.3"];
    assert_eq!(servers(&document["services"]), expected);
    assert_eq!(servers(&document["networks"][0]["routes"][0]["services"]), expected);
}
