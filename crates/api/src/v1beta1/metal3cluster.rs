//! Metal3Cluster and Metal3ClusterTemplate in v1beta1.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    conditions::{Condition, LegacyCondition},
    schema,
};

/// What the user wants of a Metal3Cluster.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Metal3ClusterSpec {
    /// Host and port at which the workload cluster's API is reached; chosen by the user, never allocated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control_plane_endpoint: Option<ApiEndpoint>,
    /// True: an external cloud provider sets the Nodes' providerID and the provider only reads it. False: the
    /// provider finds the Node by its label `metal3.io/uuid` and writes the providerID itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cloud_provider_enabled: Option<bool>,
    /// Deprecated: the opposite of `cloudProviderEnabled`, which wins if both are set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_cloud_provider: Option<bool>,
    /// Failure domains into which machines can be spread, such as racks, by name. The name is that of the label
    /// `infrastructure.cluster.x-k8s.io/failure-domain` on the hosts.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub failure_domains: BTreeMap<String, FailureDomain>,
}

/// Host and port.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApiEndpoint {
    /// Host name or address.
    #[serde(default)]
    #[schemars(extend("x-required" = true))]
    pub host: String,
    /// Port; 0 means that it is not set.
    #[serde(default)]
    #[schemars(extend("x-required" = true), transform = schema::plain_integer)]
    pub port: i64,
}

/// One failure domain.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FailureDomain {
    /// Whether control-plane machines may stand here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control_plane: Option<bool>,
    /// Free attributes, passed on to Cluster API.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub attributes: BTreeMap<String, String>,
}

/// What the provider says of a Metal3Cluster.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Metal3ClusterStatus {
    /// Cluster API contract: whether the infrastructure is ready.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready: Option<bool>,
    /// Cluster API contract: the failure domains of the spec.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub failure_domains: BTreeMap<String, FailureDomain>,
    /// When the content of this status last changed, RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "date-time"))]
    pub last_updated: Option<String>,
    /// Conditions in the older form, with a severity.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<LegacyCondition>,
    /// What is wrong with the spec, in one word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure_reason: Option<String>,
    /// What is wrong with the spec, in a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure_message: Option<String>,
    /// What v1beta2 readers look at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub v1beta2: Option<Metal3ClusterV1Beta2Status>,
}

/// What v1beta2 readers look at.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Metal3ClusterV1Beta2Status {
    /// Conditions `Ready`, `BaremetalInfrastructureReady` and `Paused` in the Kubernetes form.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32), extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
}

/// The template.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Metal3ClusterTemplateSpec {
    /// The cluster to copy.
    #[serde(default)]
    #[schemars(extend("x-required" = true))]
    pub template: Metal3ClusterTemplateResource,
}

/// The cluster to copy.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Metal3ClusterTemplateResource {
    /// Spec for the clusters.
    #[serde(default)]
    #[schemars(extend("x-required" = true))]
    pub spec: Metal3ClusterSpec,
}
