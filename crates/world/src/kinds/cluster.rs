//! Cluster.

use capm3_api::{
    conditions::{Condition, Deprecated},
    metadata::without_managed_fields,
    neighbours::{CAPI_GROUP, CAPI_VERSION, ContractRef},
    v1beta2::{ApiEndpoint, FailureDomain},
};
use kube::core::ObjectMeta;
use serde::{Deserialize, Serialize};

/// A Cluster.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Cluster {
    #[serde(deserialize_with = "without_managed_fields")]
    pub(crate) metadata: ObjectMeta,
    pub(crate) spec: ClusterSpec,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) status: Option<ClusterStatus>,
}

capm3_api::resource!(Cluster, CAPI_GROUP, CAPI_VERSION, "Cluster", "clusters");

/// What the user wants, and the endpoint that is copied from the infrastructure.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ClusterSpec {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) paused: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) control_plane_endpoint: Option<ApiEndpoint>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) infrastructure_ref: Option<ContractRef>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) control_plane_ref: Option<ContractRef>,
}

/// Where the cluster stands.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ClusterStatus {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) conditions: Vec<Condition>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) deprecated: Option<Deprecated>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) failure_domains: Vec<FailureDomain>,
    #[serde(skip_serializing_if = "ClusterInitialization::is_empty")]
    pub(crate) initialization: ClusterInitialization,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) control_plane: Option<Replicas>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) workers: Option<Replicas>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) phase: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) observed_generation: Option<i64>,
}

/// Flags that are set once and for all.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ClusterInitialization {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) infrastructure_provisioned: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) control_plane_initialized: Option<bool>,
}

impl ClusterInitialization {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Counts of machines.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Replicas {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) desired_replicas: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) replicas: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ready_replicas: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) available_replicas: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) up_to_date_replicas: Option<i32>,
}

impl Cluster {
    /// Whether the whole cluster is to be left alone.
    pub(crate) fn is_paused(&self) -> bool {
        self.spec.paused.unwrap_or(false)
    }

    /// Whether the infrastructure was ready once.
    pub(crate) fn infrastructure_is_provisioned(&self) -> bool {
        let flag = self.status.as_ref().map(|s| s.initialization.infrastructure_provisioned);
        flag.flatten().unwrap_or(false)
    }

    /// Whether the control plane answered once.
    pub(crate) fn control_plane_is_initialized(&self) -> bool {
        let flag = self.status.as_ref().map(|s| s.initialization.control_plane_initialized);
        flag.flatten().unwrap_or(false)
    }

    /// Whether host and port of the endpoint are known.
    pub(crate) fn has_endpoint(&self) -> bool {
        self.spec.control_plane_endpoint.as_ref().is_some_and(is_complete)
    }

    /// Names of the domains in which control-plane machines may stand, by name.
    pub(crate) fn control_plane_domains(&self) -> Vec<String> {
        let all = self.status.iter().flat_map(|s| &s.failure_domains);
        let mut names: Vec<String> =
            all.filter(|d| d.control_plane.unwrap_or(false)).map(|d| d.name.clone()).collect();
        names.sort();
        names
    }
}

/// Whether an endpoint has both parts.
pub(crate) fn is_complete(endpoint: &ApiEndpoint) -> bool {
    endpoint.host.as_ref().is_some_and(|h| !h.is_empty()) && endpoint.port.is_some_and(|p| p > 0)
}
