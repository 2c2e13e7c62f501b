//! Network data of a Metal3DataTemplate in v1beta1.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{schema, v1beta2::InlineRange};

/// What a node's network looks like.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NetworkData {
    /// Interfaces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub links: Option<NetworkLinks>,
    /// Addresses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub networks: Option<Networks>,
    /// Services such as DNS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(transform = schema::services)]
    pub services: Option<NetworkServices>,
}

/// Interfaces.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NetworkLinks {
    /// Physical or virtual interfaces.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ethernets: Vec<EthernetLink>,
    /// Bonded interfaces (link aggregation).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bonds: Vec<BondLink>,
    /// VLANs on other links.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub vlans: Vec<VlanLink>,
}

/// A physical or virtual interface.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EthernetLink {
    /// Type of the link; `phy` for a physical interface.
    #[serde(rename = "type", default)]
    #[schemars(extend("x-required" = true), extend("enum" = ["bridge", "dvs", "hw_veb", "hyperv", "ovs", "tap", "vhostuser", "vif", "phy"]))]
    pub type_: String,
    /// Id by which networks and other links refer to it.
    #[serde(default)]
    #[schemars(extend("x-required" = true))]
    pub id: String,
    /// Interface name on the node; absent means that the node chooses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 15), regex(pattern = r"^[a-zA-Z][a-zA-Z0-9._-]*$"))]
    pub name: Option<String>,
    /// MTU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(transform = schema::plain_integer, range(max = 9000), extend("default" = 1500))]
    pub mtu: Option<i64>,
    /// MAC address of the link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mac_address: Option<MacAddress>,
}

/// A bonded interface.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BondLink {
    /// Id by which networks and other links refer to it.
    #[serde(default)]
    #[schemars(extend("x-required" = true))]
    pub id: String,
    /// Interface name on the node; absent means that the node chooses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 15), regex(pattern = r"^[a-zA-Z][a-zA-Z0-9._-]*$"))]
    pub name: Option<String>,
    /// MTU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(transform = schema::plain_integer, range(max = 9000), extend("default" = 1500))]
    pub mtu: Option<i64>,
    /// MAC address of the link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mac_address: Option<MacAddress>,
    /// Mode of the bond.
    #[serde(default)]
    #[schemars(extend("x-required" = true), extend("enum" = ["balance-rr", "active-backup", "balance-xor", "broadcast", "balance-tlb", "balance-alb", "802.3ad"]))]
    pub bond_mode: String,
    /// How packets are spread over the links.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["layer2", "layer3+4", "layer2+3"]))]
    pub bond_xmit_hash_policy: Option<String>,
    /// Ids of the bonded links.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bond_links: Vec<String>,
    /// Further parameters of the bond by name: text, number, boolean or more.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(transform = schema::free_values)]
    pub parameters: BTreeMap<String, Value>,
}

/// A VLAN.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct VlanLink {
    /// Id by which networks and other links refer to it.
    #[serde(default)]
    #[schemars(extend("x-required" = true))]
    pub id: String,
    /// Interface name on the node; absent means that the node chooses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 15), regex(pattern = r"^[a-zA-Z][a-zA-Z0-9._-]*$"))]
    pub name: Option<String>,
    /// MTU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(transform = schema::plain_integer, range(max = 9000), extend("default" = 1500))]
    pub mtu: Option<i64>,
    /// MAC address of the link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mac_address: Option<MacAddress>,
    /// VLAN number.
    #[serde(rename = "vlanID", default)]
    #[schemars(extend("x-required" = true), transform = schema::plain_integer, range(max = 4096))]
    pub vlan_id: i64,
    /// Id of the link that carries the VLAN.
    #[serde(default)]
    #[schemars(extend("x-required" = true))]
    pub vlan_link: String,
}

/// Where a MAC address comes from; the first of these that is set.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MacAddress {
    /// The address itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub string: Option<String>,
    /// Name of an interface of the host, as the host operator reports it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_host_interface: Option<String>,
    /// An annotation that holds the address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_annotation: Option<FromAnnotation>,
}

/// An annotation of one of the machine's objects.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FromAnnotation {
    /// Which object is asked: `machine`, `metal3machine` or `baremetalhost`.
    #[serde(default)]
    #[schemars(extend("x-required" = true), extend("enum" = ["machine", "metal3machine", "baremetalhost"]))]
    pub object: String,
    /// Key of the annotation.
    #[serde(default)]
    #[schemars(extend("x-required" = true))]
    pub annotation: String,
}

/// Addresses.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Networks {
    /// Static IPv4 addresses, from a pool or a range.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(transform = schema::ipv4)]
    pub ipv4: Vec<StaticNetwork>,
    /// Static IPv6 addresses, from a pool or a range.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(transform = schema::ipv6)]
    pub ipv6: Vec<StaticNetwork>,
    /// IPv4 by DHCP.
    #[serde(rename = "ipv4DHCP", default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(transform = schema::ipv4)]
    pub ipv4_dhcp: Vec<DynamicNetwork>,
    /// IPv6 by DHCP.
    #[serde(rename = "ipv6DHCP", default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(transform = schema::ipv6)]
    pub ipv6_dhcp: Vec<DynamicNetwork>,
    /// IPv6 by router advertisement.
    #[serde(rename = "ipv6SLAAC", default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(transform = schema::ipv6)]
    pub ipv6_slaac: Vec<DynamicNetwork>,
}

/// A network whose address comes from a pool or a range.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StaticNetwork {
    /// Id of the network.
    #[serde(default)]
    #[schemars(extend("x-required" = true))]
    pub id: String,
    /// Id of the link.
    #[serde(default)]
    #[schemars(extend("x-required" = true))]
    pub link: String,
    /// Name of the IPPool that gives the address.
    #[serde(rename = "ipAddressFromIPPool", default, skip_serializing_if = "Option::is_none")]
    pub ip_address_from_ip_pool: Option<String>,
    /// Pool of any kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_pool_ref: Option<IpPoolRef>,
    /// Annotation that names the IPPool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_pool_annotation: Option<FromAnnotation>,
    /// Addresses that follow the index, instead of a pool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ip_address: Option<InlineRange>,
    /// Prefix length that goes with `ipAddress`; absent means that of its `subnet`. May be shorter than the
    /// subnet's, for a range cut out of a larger network.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(transform = schema::plain_integer, range(min = 0))]
    pub prefix: Option<i64>,
    /// Routes of the network.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub routes: Vec<Route>,
}

/// A network whose address the network itself gives.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DynamicNetwork {
    /// Id of the network.
    #[serde(default)]
    #[schemars(extend("x-required" = true))]
    pub id: String,
    /// Id of the link.
    #[serde(default)]
    #[schemars(extend("x-required" = true))]
    pub link: String,
    /// Routes of the network.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub routes: Vec<Route>,
}

/// A pool of any kind.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-map-type" = "atomic"))]
pub struct IpPoolRef {
    /// Name of the pool.
    #[serde(default)]
    #[schemars(extend("x-required" = true))]
    pub name: String,
    /// Kind of the pool.
    #[serde(default)]
    #[schemars(extend("x-required" = true))]
    pub kind: String,
    /// API group of the pool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_group: Option<String>,
}

/// A route.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = schema::one_prefix)]
pub struct Route {
    /// Destination.
    #[serde(default)]
    #[schemars(extend("x-required" = true))]
    pub network: String,
    /// Prefix length of the destination; absent means 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(transform = schema::plain_integer)]
    pub prefix: Option<i64>,
    /// Deprecated: older name of `prefix`, a number of bits too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(transform = schema::plain_integer, range(min = 0))]
    pub netmask: Option<i64>,
    /// Where the route leads.
    #[serde(default)]
    #[schemars(extend("x-required" = true))]
    pub gateway: Gateway,
    /// Services of the route.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub services: Option<NetworkServices>,
}

/// Where a route leads; the first of these that is set.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Gateway {
    /// The address itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub string: Option<String>,
    /// Name of the IPPool that gives the gateway.
    #[serde(rename = "fromIPPool", default, skip_serializing_if = "Option::is_none")]
    pub from_ip_pool: Option<String>,
    /// Pool of any kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_pool_ref: Option<IpPoolRef>,
    /// Annotation that names the IPPool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_pool_annotation: Option<FromAnnotation>,
}

/// Services such as DNS.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NetworkServices {
    /// DNS servers, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dns: Vec<String>,
    /// Name of the IPPool whose DNS servers follow.
    #[serde(rename = "dnsFromIPPool", default, skip_serializing_if = "Option::is_none")]
    pub dns_from_ip_pool: Option<String>,
}
