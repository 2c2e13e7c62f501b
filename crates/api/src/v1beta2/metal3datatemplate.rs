//! Metal3DataTemplate: how metadata and network data of machines are made.

use kube::core::ObjectMeta;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::NetworkData;

/// Addresses that follow the index: `start` + index x `step`, or, without `start`, the address written in `subnet`
/// + 1 + index x `step`. Nobody allocates them, so no address manager is needed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InlineRange {
    /// Address of index 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 64))]
    pub start: Option<String>,
    /// Last address that may be given, inclusive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 64))]
    pub end: Option<String>,
    /// Subnet, such as `192.168.0.0/24`, that no address may leave; gives the first address when there is no `start`
    /// and the prefix length when there is no `prefix`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 64))]
    pub subnet: Option<String>,
    /// Distance between the addresses of two neighbouring indexes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1), extend("default" = 1))]
    pub step: Option<i32>,
}

/// How metadata and network data of machines are made.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Metal3DataTemplate {
    /// Object metadata.
    #[serde(default, deserialize_with = "crate::metadata::without_managed_fields")]
    pub metadata: ObjectMeta,
    /// What is rendered.
    #[serde(default)]
    pub spec: Metal3DataTemplateSpec,
    /// Which indexes are in use.
    #[serde(default)]
    pub status: Metal3DataTemplateStatus,
}

crate::kind::kind!(
    Metal3DataTemplate,
    super::GROUP,
    super::VERSION,
    "Metal3DataTemplate",
    "metal3datatemplates"
);

/// What is rendered.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Metal3DataTemplateSpec {
    /// Deprecated: only makes the label `cluster.x-k8s.io/cluster-name`; a template may serve several clusters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 512))]
    pub cluster_name: Option<String>,
    /// Key of an index space that several templates share. Templates with the same key never give one index twice,
    /// so a rolling update from one template to another keeps indexes and inline addresses unique. May name another
    /// template, whose index space is then joined. Set once, then immutable; absent means the template's own name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    pub template_reference: Option<String>,
    /// Metadata to render; absent means no metadata Secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub meta_data: Option<MetaData>,
    /// Network data to render; absent means no network data Secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network_data: Option<NetworkData>,
}

/// Which indexes are in use.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Metal3DataTemplateStatus {
    /// When the content of this status last changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "date-time"))]
    pub last_updated: Option<String>,
    /// Indexes in use, ascending.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(min = 1), extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["index"]))]
    pub indexes: Vec<IndexEntry>,
}

/// One index in use.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IndexEntry {
    /// Name of the claim that holds the index.
    #[serde(default)]
    #[schemars(extend("x-required" = true), length(min = 1, max = 512))]
    pub name: String,
    /// The index.
    #[serde(default)]
    #[schemars(extend("x-required" = true), range(min = 0))]
    pub index: i32,
    /// Name of the Metal3Data that stands for the index.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    pub data_name: Option<String>,
}

/// Metadata: every list adds keys; a key that stands in several lists takes the last one's value.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MetaData {
    /// Fixed text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(min = 1, max = 512), extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["key"]))]
    pub strings: Vec<MetaDataString>,
    /// Names of the machine's objects.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(min = 1, max = 512), extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["key"]))]
    pub object_names: Vec<MetaDataObjectName>,
    /// Numbers computed from the index: `prefix` + (`offset` + index x `step`) + `suffix`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(min = 1, max = 512), extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["key"]))]
    pub indexes: Vec<MetaDataIndex>,
    /// The namespace of the data.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(min = 1, max = 512), extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["key"]))]
    pub namespaces: Vec<MetaDataNamespace>,
    /// Addresses that follow the index, without a pool.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(min = 1, max = 512), extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["key"]))]
    pub ip_addresses: Vec<MetaDataIpAddress>,
    /// Addresses from pools, one address per node and pool.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(min = 1, max = 512), extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["key"]))]
    pub ip_addresses_from_pool: Vec<FromPool>,
    /// Prefix lengths from pools.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(min = 1, max = 512), extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["key"]))]
    pub prefixes_from_pool: Vec<FromPool>,
    /// Gateways from pools; empty text where the pool has none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(min = 1, max = 512), extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["key"]))]
    pub gateways_from_pool: Vec<FromPool>,
    /// DNS servers from pools, joined by commas.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(min = 1, max = 512), extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["key"]))]
    pub dns_servers_from_pool: Vec<FromPool>,
    /// MAC addresses of the host's interfaces.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(min = 1, max = 512), extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["key"]))]
    pub from_host_interfaces: Vec<MetaDataHostInterface>,
    /// Values of labels.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(min = 1, max = 512), extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["key"]))]
    pub from_labels: Vec<MetaDataFromLabel>,
    /// Values of annotations.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(min = 1, max = 512), extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["key"]))]
    pub from_annotations: Vec<MetaDataFromAnnotation>,
}

/// Fixed text.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MetaDataString {
    /// Key in the metadata.
    #[serde(default)]
    #[schemars(extend("x-required" = true), length(min = 1, max = 512))]
    pub key: String,
    /// The text, copied as it is: there are no variables. May be empty.
    #[serde(default)]
    #[schemars(extend("x-required" = true), length(max = 512))]
    pub value: String,
}

/// The name of an object.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MetaDataObjectName {
    /// Key in the metadata.
    #[serde(default)]
    #[schemars(extend("x-required" = true), length(min = 1, max = 512))]
    pub key: String,
    /// Which object is asked: `machine`, `metal3machine` or `baremetalhost`.
    #[serde(default)]
    #[schemars(extend("x-required" = true), extend("enum" = ["machine", "metal3machine", "baremetalhost"]))]
    pub object: String,
}

/// `prefix` + (`offset` + index x `step`) + `suffix`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MetaDataIndex {
    /// Key in the metadata.
    #[serde(default)]
    #[schemars(extend("x-required" = true), length(min = 1, max = 512))]
    pub key: String,
    /// Number of index 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub offset: Option<i32>,
    /// Distance of two indexes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1), extend("default" = 1))]
    pub step: Option<i32>,
    /// Text before the number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 512))]
    pub prefix: Option<String>,
    /// Text behind the number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 512))]
    pub suffix: Option<String>,
}

/// The namespace of the data.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MetaDataNamespace {
    /// Key in the metadata.
    #[serde(default)]
    #[schemars(extend("x-required" = true), length(min = 1, max = 512))]
    pub key: String,
}

/// An address that follows the index.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MetaDataIpAddress {
    /// Key in the metadata.
    #[serde(default)]
    #[schemars(extend("x-required" = true), length(min = 1, max = 512))]
    pub key: String,
    /// The addresses; `subnet`, or `start` and `end`, are needed.
    #[serde(flatten)]
    pub range: InlineRange,
}

/// Something that a pool gives.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FromPool {
    /// Key in the metadata.
    #[serde(default)]
    #[schemars(extend("x-required" = true), length(min = 1, max = 512))]
    pub key: String,
    /// Name of the pool.
    #[serde(default)]
    #[schemars(extend("x-required" = true), length(min = 1, max = 512))]
    pub name: String,
    /// API group of the pool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 512), extend("default" = "ipam.metal3.io"))]
    pub api_group: Option<String>,
    /// Kind of the pool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 512), extend("default" = "IPPool"))]
    pub kind: Option<String>,
}

/// The MAC address of an interface of the host.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MetaDataHostInterface {
    /// Key in the metadata.
    #[serde(default)]
    #[schemars(extend("x-required" = true), length(min = 1, max = 512))]
    pub key: String,
    /// Name of the interface, as the host operator reports it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 512))]
    pub interface: Option<String>,
    /// Take the MAC address from which the host boots instead.
    #[serde(rename = "fromBootMAC", default, skip_serializing_if = "Option::is_none")]
    pub from_boot_mac: Option<bool>,
}

/// The value of a label; empty when there is none.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MetaDataFromLabel {
    /// Key in the metadata.
    #[serde(default)]
    #[schemars(extend("x-required" = true), length(min = 1, max = 512))]
    pub key: String,
    /// Which object is asked: `machine`, `metal3machine` or `baremetalhost`.
    #[serde(default)]
    #[schemars(extend("x-required" = true), extend("enum" = ["machine", "metal3machine", "baremetalhost"]))]
    pub object: String,
    /// Key of the label.
    #[serde(default)]
    #[schemars(extend("x-required" = true), length(min = 1, max = 512))]
    pub label: String,
}

/// The value of an annotation; empty when there is none.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MetaDataFromAnnotation {
    /// Key in the metadata.
    #[serde(default)]
    #[schemars(extend("x-required" = true), length(min = 1, max = 512))]
    pub key: String,
    /// Which object is asked: `machine`, `metal3machine` or `baremetalhost`.
    #[serde(default)]
    #[schemars(extend("x-required" = true), extend("enum" = ["machine", "metal3machine", "baremetalhost"]))]
    pub object: String,
    /// Key of the annotation.
    #[serde(default)]
    #[schemars(extend("x-required" = true), length(min = 1, max = 512))]
    pub annotation: String,
}
