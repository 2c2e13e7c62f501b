//! Tests of whole documents.

use serde_json::{Value, json};

use super::super::testing::Setting;

fn rendered(pools: Value, template: Value) -> String {
    Setting::new(pools).network_data(template).unwrap()
}

/// The template of one rack: a VLAN on the first interface, with an address of the rack's pool.
const RACK_1: &str = "\
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: Metal3DataTemplate
metadata:
  name: m3dt-rack1
  namespace: metal3
spec:
  networkData:
    links:
      ethernets:
      - id: enp1s0
        type: phy
        macAddress:
          fromHostInterface: enp1s0
      vlans:
      - id: enp1s0.100
        vlanID: 100
        vlanLink: enp1s0
        macAddress:
          fromHostInterface: enp1s0
    networks:
      ipv4:
      - id: rack1-net
        link: enp1s0.100
        ipAddressFromIPPool: pool-rack1
        routes:
        - network: 0.0.0.0
          prefix: 0
          gateway:
            fromIPPool: pool-rack1
    services:
      dns:
      - 8.8.8.8
";

#[test]
fn a_machine_in_a_rack_gets_the_racks_vlan_and_an_address_of_its_pool() {
    let template: Value = serde_saphyr::from_str(RACK_1).unwrap();
    let pools = json!({"pool-rack1": {"address": "10.0.1.10", "prefix": 24, "gateway": "10.0.1.1"}});
    assert_eq!(
        rendered(pools, template["spec"]["networkData"].clone()),
        "\
links:
- ethernet_mac_address: 52:54:00:aa:01:01
  id: enp1s0
  mtu: 1500
  type: phy
- id: enp1s0.100
  mtu: 1500
  type: vlan
  vlan_id: 100
  vlan_link: enp1s0
  vlan_mac_address: 52:54:00:aa:01:01
networks:
- id: rack1-net
  ip_address: 10.0.1.10
  link: enp1s0.100
  netmask: 255.255.255.0
  routes:
  - gateway: 10.0.1.1
    netmask: 0.0.0.0
    network: 0.0.0.0
    services: []
  type: ipv4
services:
- address: 8.8.8.8
  type: dns
"
    );
}

#[test]
fn a_static_ipv6_network_takes_address_mask_and_gateway_from_its_pool() {
    let pools = json!({"abc": {"address": "fe80::2001:38", "prefix": 96, "gateway": "fe80::2001:1"}});
    let template = json!({"networks": {"ipv6": [{
        "id": "abc", "link": "def", "ipAddressFromIPPool": "abc",
        "routes": [{
            "network": "2001::", "prefix": 64, "gateway": {"fromIPPool": "abc"}, "services": {"dns": ["2001::8888"]}
        }]
    }]}});
    assert_eq!(
        rendered(pools, template),
        "\
links: []
networks:
- id: abc
  ip_address: fe80::2001:38
  link: def
  netmask: 'ffff:ffff:ffff:ffff:ffff:ffff::'
  routes:
  - gateway: fe80::2001:1
    netmask: 'ffff:ffff:ffff:ffff::'
    network: '2001::'
    services:
    - address: 2001::8888
      type: dns
  type: ipv6
services: []
"
    );
}

#[test]
fn annotations_name_pools_of_both_families() {
    let pools = json!({
        "v4": {"address": "192.168.10.20", "prefix": 24},
        "v6": {"address": "2001:db8::100", "prefix": 64}
    });
    let from = |object: &str, annotation: &str| json!({"object": object, "annotation": annotation});
    let template = json!({"networks": {
        "ipv4": [{"id": "net1", "link": "eth0", "fromPoolAnnotation": from("baremetalhost", "pool")}],
        "ipv6": [{"id": "net1", "link": "eth0", "fromPoolAnnotation": from("machine", "pool6")}]
    }});
    assert_eq!(
        rendered(pools, template),
        "\
links: []
networks:
- id: net1
  ip_address: 192.168.10.20
  link: eth0
  netmask: 255.255.255.0
  routes: []
  type: ipv4
- id: net1
  ip_address: 2001:db8::100
  link: eth0
  netmask: 'ffff:ffff:ffff:ffff::'
  routes: []
  type: ipv6
services: []
"
    );
}

#[test]
fn parameters_of_a_bond_are_rendered_whatever_their_type_and_an_unset_policy_is_left_out() {
    let template = json!({"links": {"bonds": [{
        "id": "bond0", "bondMode": "802.3ad",
        "parameters": [
            {"name": "miimon", "value": 100},
            {"name": "lacp_rate", "value": "fast"},
            {"name": "tlb_dynamic_lb", "value": false},
            {"name": "opts", "value": {"b": [1, 2], "a": 1}},
            {"name": "empty"}
        ]
    }]}});
    assert_eq!(
        rendered(json!({}), template),
        "\
links:
- bond_empty: null
  bond_lacp_rate: fast
  bond_links: []
  bond_miimon: 100
  bond_mode: 802.3ad
  bond_opts:
    a: 1
    b:
    - 1
    - 2
  bond_tlb_dynamic_lb: false
  id: bond0
  mtu: 1500
  type: bond
networks: []
services: []
"
    );
}

#[test]
fn routes_take_gateways_and_servers_from_pools_in_both_families() {
    let pools = json!({
        "v4": {"address": "192.168.2.5", "prefix": 24, "gateway": "192.168.2.1", "dnsServers": ["1.1.1.1"]},
        "v6": {"address": "fe80::5", "prefix": 64, "gateway": "fe80::1", "dnsServers": ["fe80:2001::1111"]}
    });
    let routes = |pool: &str, network: &str, dns: &str| {
        json!([
            {"network": network, "prefix": 16, "gateway": {"fromIPPool": pool},
             "services": {"dns": [dns], "dnsFromIPPool": pool}},
            {"gateway": {"fromPoolRef": {"name": pool}}}
        ])
    };
    let template = json!({"networks": {
        "ipv4DHCP": [{"id": "a", "link": "l", "routes": routes("v4", "10.0.0.0", "8.8.8.8")}],
        "ipv6SLAAC": [{"id": "b", "link": "l", "routes": routes("v6", "2001::0", "2001::8888")}]
    }});
    assert_eq!(
        rendered(pools, template),
        "\
links: []
networks:
- id: a
  link: l
  routes:
  - gateway: 192.168.2.1
    netmask: 255.255.0.0
    network: 10.0.0.0
    services:
    - address: 8.8.8.8
      type: dns
    - address: 1.1.1.1
      type: dns
  - gateway: 192.168.2.1
    netmask: 0.0.0.0
    network: \"\"
    services: []
  type: ipv4_dhcp
- id: b
  link: l
  routes:
  - gateway: fe80::1
    netmask: 'ffff::'
    network: 2001::0
    services:
    - address: 2001::8888
      type: dns
    - address: fe80:2001::1111
      type: dns
  - gateway: fe80::1
    netmask: '::'
    network: \"\"
    services: []
  type: ipv6_slaac
services: []
"
    );
}

#[test]
fn errors_say_where_in_the_template_and_at_which_object() {
    let pools = json!({
        "v4": {"address": "10.0.0.5", "prefix": 24},
        "v6": {"address": "2001:db8::5", "prefix": 64}
    });
    let setting = Setting::new(pools);
    let network = |pool: &str| json!([{"id": "n", "link": "l", "ipAddressFromIPPool": pool}]);
    let route =
        |gateway: Value| json!([{"id": "n", "link": "l", "routes": [{"network": "::", "gateway": gateway}]}]);
    for (template, expected) in [
        (
            json!({"networks": {"ipv4": network("v6")}}),
            "2001:db8::5 is not an IPv4 address: spec.networkData.networks.ipv4[0], pool v6 gives IPv6 (network n)",
        ),
        (
            json!({"networks": {"ipv6": network("v4")}}),
            "10.0.0.5 is not an IPv6 address: spec.networkData.networks.ipv6[0], pool v4 gives IPv4 (network n)",
        ),
        (
            json!({"networks": {"ipv6": network("gone")}}),
            "pool not found in cache: spec.networkData.networks.ipv6[0], pool gone gave no address (network n)",
        ),
        (
            json!({"networks": {"ipv6SLAAC": route(json!({"fromIPPool": "v6"}))}}),
            "no gateway: spec.networkData.networks.ipv6SLAAC[0].routes[0].gateway, pool v6 has none (network n)",
        ),
        (
            json!({"links": {"ethernets": [{"id": "e", "type": "phy", "macAddress": {"fromHostInterface": "eth9"}}]}}),
            "NIC name not found eth9: spec.networkData.links.ethernets[0].macAddress, host host-1 has enp1s0 (link e)",
        ),
        (
            json!({"services": {"dnsFromIPPool": "gone"}}),
            "pool not found in cache: spec.networkData.services.dnsFromIPPool, pool gone gave no address",
        ),
    ] {
        assert_eq!(setting.network_data(template).unwrap_err(), expected);
    }
}
