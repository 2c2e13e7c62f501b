//! IPPool, IPClaim and IPAddress of `ipam.metal3.io/v1alpha1`, served by the built-in address manager.

use std::collections::BTreeMap;

use kube::core::ObjectMeta;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{reference::WideRef, schema};

/// API group of the address kinds.
pub const GROUP: &str = "ipam.metal3.io";
/// Stored version.
pub const VERSION: &str = "v1alpha1";
/// `apiVersion` of the address kinds.
pub const API_VERSION: &str = "ipam.metal3.io/v1alpha1";

/// Addresses that can be given to claims.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct IpPool {
    /// Object metadata.
    #[serde(default, deserialize_with = "crate::metadata::without_managed_fields")]
    pub metadata: ObjectMeta,
    /// What is wanted.
    #[serde(default)]
    pub spec: IpPoolSpec,
    /// What was seen.
    #[serde(default)]
    pub status: IpPoolStatus,
}

crate::kind::kind!(IpPool, GROUP, VERSION, "IPPool", "ippools");

/// Ranges and what belongs to their addresses.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IpPoolSpec {
    /// Prefix of the names of IPAddress objects: `<namePrefix>-<address with dashes>`. Immutable.
    #[serde(default)]
    #[schemars(extend("x-required" = true), length(min = 1))]
    pub name_prefix: String,
    /// Cluster to which the pool belongs, in the same namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster_name: Option<String>,
    /// Ranges, used in this order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pools: Vec<IpRange>,
    /// Prefix length for ranges that have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 128), transform = schema::plain_integer)]
    pub prefix: Option<i32>,
    /// Gateway for ranges that have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(transform = schema::address)]
    pub gateway: Option<String>,
    /// DNS servers for ranges that have none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(transform = schema::addresses)]
    pub dns_servers: Vec<String>,
    /// Addresses reserved for claims, by the name of the claim.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(transform = schema::addresses)]
    pub pre_allocations: BTreeMap<String, String>,
    /// `sequential` (lowest free address) or `random`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["sequential", "random"], "default" = "sequential"))]
    pub allocation_strategy: Option<String>,
}

/// A range of addresses.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IpRange {
    /// First address; absent means the second address of the subnet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(transform = schema::address)]
    pub start: Option<String>,
    /// Last address, inclusive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(transform = schema::address)]
    pub end: Option<String>,
    /// Subnet, such as `10.0.0.0/24`, that no address of the range may leave.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(transform = schema::subnet)]
    pub subnet: Option<String>,
    /// Prefix length of the addresses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 128), transform = schema::plain_integer)]
    pub prefix: Option<i32>,
    /// Gateway of the addresses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(transform = schema::address)]
    pub gateway: Option<String>,
    /// DNS servers of the addresses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(transform = schema::addresses)]
    pub dns_servers: Vec<String>,
}

/// Which addresses are in use.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IpPoolStatus {
    /// When the content of this status last changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "date-time"))]
    pub last_updated: Option<String>,
    /// Address by name of the claim.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(transform = schema::addresses)]
    pub indexes: BTreeMap<String, String>,
}

/// A request for an address of a pool.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct IpClaim {
    /// Object metadata.
    #[serde(default, deserialize_with = "crate::metadata::without_managed_fields")]
    pub metadata: ObjectMeta,
    /// What is wanted.
    #[serde(default)]
    pub spec: IpClaimSpec,
    /// What was seen.
    #[serde(default)]
    pub status: IpClaimStatus,
}

crate::kind::kind!(IpClaim, GROUP, VERSION, "IPClaim", "ipclaims");

/// What is requested.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IpClaimSpec {
    /// The IPPool.
    #[serde(default)]
    #[schemars(extend("x-required" = true))]
    pub pool: WideRef,
}

/// What was given.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IpClaimStatus {
    /// The IPAddress that serves this claim.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<WideRef>,
    /// Why the claim could not be served.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_message: Option<String>,
}

/// An address given to a claim.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct IpAddress {
    /// Object metadata.
    #[serde(default, deserialize_with = "crate::metadata::without_managed_fields")]
    pub metadata: ObjectMeta,
    /// What is wanted.
    #[serde(default)]
    pub spec: IpAddressSpec,
}

crate::kind::kind!(IpAddress, GROUP, VERSION, "IPAddress", "ipaddresses");

/// The address and what belongs to it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IpAddressSpec {
    /// The address.
    #[serde(default)]
    #[schemars(extend("x-required" = true), transform = schema::address)]
    pub address: String,
    /// The pool that it is from.
    #[serde(default)]
    #[schemars(extend("x-required" = true))]
    pub pool: WideRef,
    /// The claim that it was given to.
    #[serde(default)]
    #[schemars(extend("x-required" = true))]
    pub claim: WideRef,
    /// Prefix length that belongs to the address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 128), transform = schema::plain_integer)]
    pub prefix: Option<i32>,
    /// Gateway that belongs to the address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(transform = schema::address)]
    pub gateway: Option<String>,
    /// DNS servers that belong to the address.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "crate::compact_deserialize::lean_list"
    )]
    #[schemars(transform = schema::addresses)]
    pub dns_servers: Vec<String>,
}
