//! Metal3DataTemplate in v1beta1.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::NetworkData;
use crate::{schema, v1beta2::MetaDataIpAddress};

/// What is rendered.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Metal3DataTemplateSpec {
    /// Deprecated: only makes the label `cluster.x-k8s.io/cluster-name`; a template may serve several clusters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster_name: Option<String>,
    /// Key of an index space that several templates share. Templates with the same key never give one index twice,
    /// so a rolling update from one template to another keeps indexes and inline addresses unique. May name another
    /// template, whose index space is then joined. Set once, then immutable; absent means the template's own name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    pub template_reference: Option<String>,
    /// Metadata to render; absent means no metadata Secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub meta_data: Option<MetaData>,
    /// Network data to render; absent means no network data Secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network_data: Option<NetworkData>,
}

/// Which indexes are in use.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Metal3DataTemplateStatus {
    /// When the content of this status last changed, RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "date-time"))]
    pub last_updated: Option<String>,
    /// Index by the name of the claim that holds it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(transform = schema::plain_integers)]
    pub indexes: BTreeMap<String, i64>,
}

/// Metadata: every list adds keys; a key that stands in several lists takes the last one's value.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MetaData {
    /// Fixed text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub strings: Vec<MetaDataString>,
    /// Names of the machine's objects.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub object_names: Vec<MetaDataObjectName>,
    /// Numbers computed from the index: `prefix` + (`offset` + index x `step`) + `suffix`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub indexes: Vec<MetaDataIndex>,
    /// The namespace of the data.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub namespaces: Vec<MetaDataNamespace>,
    /// Addresses that follow the index, without a pool.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["key"]))]
    pub ip_addresses: Vec<MetaDataIpAddress>,
    /// Addresses from pools, one address per node and pool.
    #[serde(rename = "ipAddressesFromIPPool", default, skip_serializing_if = "Vec::is_empty")]
    pub ip_addresses_from_ip_pool: Vec<FromPool>,
    /// Prefix lengths from pools.
    #[serde(rename = "prefixesFromIPPool", default, skip_serializing_if = "Vec::is_empty")]
    pub prefixes_from_ip_pool: Vec<FromPool>,
    /// Gateways from pools; empty text where the pool has none.
    #[serde(rename = "gatewaysFromIPPool", default, skip_serializing_if = "Vec::is_empty")]
    pub gateways_from_ip_pool: Vec<FromPool>,
    /// DNS servers from pools, joined by commas.
    #[serde(rename = "dnsServersFromIPPool", default, skip_serializing_if = "Vec::is_empty")]
    pub dns_servers_from_ip_pool: Vec<FromPool>,
    /// MAC addresses of the host's interfaces.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub from_host_interfaces: Vec<MetaDataHostInterface>,
    /// Values of labels.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub from_labels: Vec<MetaDataFromLabel>,
    /// Values of annotations.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub from_annotations: Vec<MetaDataFromAnnotation>,
}

/// Fixed text.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MetaDataString {
    /// Key in the metadata.
    #[serde(default)]
    #[schemars(extend("x-required" = true))]
    pub key: String,
    /// The text; copied as it is, there are no variables.
    #[serde(default)]
    #[schemars(extend("x-required" = true))]
    pub value: String,
}

/// The name of an object.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MetaDataObjectName {
    /// Key in the metadata.
    #[serde(default)]
    #[schemars(extend("x-required" = true))]
    pub key: String,
    /// Which object is asked: `machine`, `metal3machine` or `baremetalhost`.
    #[serde(default)]
    #[schemars(extend("x-required" = true), extend("enum" = ["machine", "metal3machine", "baremetalhost"]))]
    pub object: String,
}

/// A number computed from the index.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MetaDataIndex {
    /// Key in the metadata.
    #[serde(default)]
    #[schemars(extend("x-required" = true))]
    pub key: String,
    /// Number of index 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(transform = schema::plain_integer, range(min = 0))]
    pub offset: Option<i64>,
    /// Distance of two indexes; 0 counts as 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(transform = schema::plain_integer, range(min = 0), extend("default" = 1))]
    pub step: Option<i64>,
    /// Text before the number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefix: Option<String>,
    /// Text behind the number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suffix: Option<String>,
}

/// The namespace of the data.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MetaDataNamespace {
    /// Key in the metadata.
    #[serde(default)]
    #[schemars(extend("x-required" = true))]
    pub key: String,
}

/// Something that a pool gives.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FromPool {
    /// Key in the metadata.
    #[serde(default)]
    #[schemars(extend("x-required" = true))]
    pub key: String,
    /// Name of the pool.
    #[serde(default)]
    #[schemars(extend("x-required" = true))]
    pub name: String,
    /// API group of the pool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "ipam.metal3.io"))]
    pub api_group: Option<String>,
    /// Kind of the pool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "IPPool"))]
    pub kind: Option<String>,
}

/// The MAC address of an interface of the host.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MetaDataHostInterface {
    /// Key in the metadata.
    #[serde(default)]
    #[schemars(extend("x-required" = true))]
    pub key: String,
    /// Name of the interface, as the host operator reports it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interface: Option<String>,
    /// Take the MAC address from which the host boots instead.
    #[serde(rename = "fromBootMAC", default, skip_serializing_if = "Option::is_none")]
    pub from_boot_mac: Option<bool>,
}

/// The value of a label; empty when there is none.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MetaDataFromLabel {
    /// Key in the metadata.
    #[serde(default)]
    #[schemars(extend("x-required" = true))]
    pub key: String,
    /// Which object is asked: `machine`, `metal3machine` or `baremetalhost`.
    #[serde(default)]
    #[schemars(extend("x-required" = true), extend("enum" = ["machine", "metal3machine", "baremetalhost"]))]
    pub object: String,
    /// Key of the label.
    #[serde(default)]
    #[schemars(extend("x-required" = true))]
    pub label: String,
}

/// The value of an annotation; empty when there is none.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MetaDataFromAnnotation {
    /// Key in the metadata.
    #[serde(default)]
    #[schemars(extend("x-required" = true))]
    pub key: String,
    /// Which object is asked: `machine`, `metal3machine` or `baremetalhost`.
    #[serde(default)]
    #[schemars(extend("x-required" = true), extend("enum" = ["machine", "metal3machine", "baremetalhost"]))]
    pub object: String,
    /// Key of the annotation.
    #[serde(default)]
    #[schemars(extend("x-required" = true))]
    pub annotation: String,
}
