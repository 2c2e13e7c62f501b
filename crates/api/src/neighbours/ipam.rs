//! IPAddressClaim and IPAddress of Cluster API, by which a pool of any address manager is asked for an address.

use kube::core::ObjectMeta;
use serde::{Deserialize, Serialize};

use crate::conditions::Condition;

/// API group of Cluster API's address kinds.
pub const CAPI_IPAM_GROUP: &str = "ipam.cluster.x-k8s.io";
/// Version of Cluster API's address kinds in use.
pub const CAPI_IPAM_VERSION: &str = "v1beta2";

/// A request for an address of a pool of any kind.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct IpAddressClaim {
    /// Object metadata.
    #[serde(deserialize_with = "crate::metadata::without_managed_fields")]
    pub metadata: ObjectMeta,
    /// What is requested.
    pub spec: IpAddressClaimSpec,
    /// What was given.
    pub status: IpAddressClaimStatus,
}

crate::kind::kind!(IpAddressClaim, CAPI_IPAM_GROUP, CAPI_IPAM_VERSION, "IPAddressClaim", "ipaddressclaims");

/// What is requested.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct IpAddressClaimSpec {
    /// The pool.
    pub pool_ref: TypedPoolRef,
    /// Name of the Cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster_name: Option<String>,
}

/// A pool by group, kind and name, in the namespace of whoever refers to it.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TypedPoolRef {
    /// Name of the pool.
    pub name: String,
    /// Kind of the pool.
    pub kind: String,
    /// API group of the pool.
    pub api_group: String,
}

/// What was given.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct IpAddressClaimStatus {
    /// The IPAddress that serves this claim.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address_ref: Option<LocalRef>,
    /// How it stands.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
}

/// An object by its name in the same namespace.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LocalRef {
    /// Name of the object.
    pub name: String,
}

/// An address given to an [`IpAddressClaim`].
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CapiIpAddress {
    /// Object metadata.
    #[serde(deserialize_with = "crate::metadata::without_managed_fields")]
    pub metadata: ObjectMeta,
    /// The address and what belongs to it.
    pub spec: CapiIpAddressSpec,
}

crate::kind::kind!(CapiIpAddress, CAPI_IPAM_GROUP, CAPI_IPAM_VERSION, "IPAddress", "ipaddresses");

/// The address and what belongs to it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CapiIpAddressSpec {
    /// The claim that it was given to.
    pub claim_ref: LocalRef,
    /// The pool that it is from.
    pub pool_ref: TypedPoolRef,
    /// The address.
    pub address: String,
    /// Prefix length.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prefix: Option<i32>,
    /// Gateway.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gateway: Option<String>,
}
