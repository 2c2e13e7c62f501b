//! Metal3Cluster: the endpoint and the failure domains of a cluster.

use std::collections::BTreeMap;

use kube::core::ObjectMeta;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    conditions::{Condition, Deprecated},
    schema,
};

/// The infrastructure of one Cluster.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Metal3Cluster {
    /// Object metadata.
    #[serde(default, deserialize_with = "crate::metadata::without_managed_fields")]
    pub metadata: ObjectMeta,
    /// What the user wants.
    #[serde(default)]
    pub spec: Metal3ClusterSpec,
    /// What the provider saw.
    #[serde(default)]
    pub status: Metal3ClusterStatus,
}

crate::kind::kind!(Metal3Cluster, super::GROUP, super::VERSION, "Metal3Cluster", "metal3clusters");

/// What the user wants of a Metal3Cluster.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Metal3ClusterSpec {
    /// Host and port at which the workload cluster's API is reached; chosen by the user, never allocated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("minProperties" = 1))]
    pub control_plane_endpoint: Option<ApiEndpoint>,
    /// True: an external cloud provider sets the Nodes' providerID and the provider only reads it. False: the
    /// provider finds the Node by its label `metal3.io/uuid` and writes the providerID itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cloud_provider_enabled: Option<bool>,
    /// Failure domains into which machines can be spread, such as racks. A host says in its label
    /// `infrastructure.cluster.x-k8s.io/failure-domain` where it stands.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(min = 1, max = 100), extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub failure_domains: Vec<FailureDomain>,
}

/// Host and port.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApiEndpoint {
    /// Host name or address, often a virtual one that no host owns yet; it is never probed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 512))]
    pub host: Option<String>,
    /// Port; 6443 if it is not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 65535))]
    pub port: Option<i32>,
}

/// One failure domain.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FailureDomain {
    /// Name, as in the hosts' label `infrastructure.cluster.x-k8s.io/failure-domain`.
    #[serde(default)]
    #[schemars(extend("x-required" = true), length(min = 1, max = 256))]
    pub name: String,
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
    /// Conditions `Ready`, `BaremetalInfrastructureReady` and `Paused`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32), extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
    /// Cluster API contract: whether the infrastructure is ready.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub initialization: Option<Initialization>,
    /// Cluster API contract: the failure domains of the spec.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(min = 1, max = 100), extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub failure_domains: Vec<FailureDomain>,
    /// When the content of this status last changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "date-time"))]
    pub last_updated: Option<String>,
    /// What v1beta1 readers still look at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(transform = schema::limited_failure_message)]
    pub deprecated: Option<Deprecated>,
}

/// The provisioning flag of the Cluster API contract.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("minProperties" = 1))]
pub struct Initialization {
    /// Whether the infrastructure of the object is fully provisioned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provisioned: Option<bool>,
}

impl Initialization {
    /// The flag with "absent" read as "not yet".
    pub fn is_provisioned(this: &Option<Self>) -> bool {
        this.as_ref().and_then(|i| i.provisioned).unwrap_or(false)
    }
}
