//! Cluster as the provider reads it.

use kube::core::ObjectMeta;
use serde::{Deserialize, Serialize};

use crate::conditions::{Condition, Deprecated, is_true_legacy};

/// A Cluster API Cluster.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Cluster {
    /// Object metadata.
    #[serde(deserialize_with = "crate::metadata::without_managed_fields")]
    pub metadata: ObjectMeta,
    /// Pause and references.
    pub spec: ClusterSpec,
    /// Readiness.
    pub status: ClusterStatus,
}

crate::kind::kind!(Cluster, super::CAPI_GROUP, super::CAPI_VERSION, "Cluster", "clusters");

/// Pause and references.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ClusterSpec {
    /// Whether controllers must leave the cluster alone.
    pub paused: Option<bool>,
    /// The Metal3Cluster.
    pub infrastructure_ref: Option<ContractRef>,
    /// The control plane.
    pub control_plane_ref: Option<ContractRef>,
}

/// A version-less reference of the v1beta2 contract.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ContractRef {
    /// API group of the referent.
    pub api_group: Option<String>,
    /// Kind of the referent.
    pub kind: Option<String>,
    /// Name of the referent.
    pub name: Option<String>,
}

/// Readiness.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ClusterStatus {
    /// Flags that are set once and for all.
    pub initialization: Option<ClusterInitialization>,
    /// Conditions in the Kubernetes form.
    pub conditions: Vec<Condition>,
    /// What v1beta1 readers look at.
    pub deprecated: Option<Deprecated>,
}

/// Flags that are set once and for all.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ClusterInitialization {
    /// Whether the Metal3Cluster was ready once.
    pub infrastructure_provisioned: Option<bool>,
    /// Whether the control plane was reachable once.
    pub control_plane_initialized: Option<bool>,
}

impl Cluster {
    /// Whether the whole cluster is paused.
    pub fn is_paused(&self) -> bool {
        self.spec.paused.unwrap_or(false)
    }

    /// Whether machines may be provisioned: the new flag or the older condition says so. Either is set once and for all,
    /// so a flag that is false beside a condition that is true is only late.
    pub fn infrastructure_is_ready(&self) -> bool {
        let flag = self.status.initialization.as_ref().and_then(|i| i.infrastructure_provisioned);
        let legacy = self.status.deprecated.as_ref().and_then(|d| d.v1beta1.as_ref());
        flag.unwrap_or(false) || legacy.is_some_and(|v| is_true_legacy(&v.conditions, "InfrastructureReady"))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn infrastructure_is_ready_if_either_generation_says_so() {
        let table = [
            (None, None, false),
            (Some(true), None, true),
            (Some(false), None, false),
            (None, Some("True"), true),
            (None, Some("False"), false),
            (Some(true), Some("False"), true),
            (Some(false), Some("True"), true),
            (Some(false), Some("False"), false),
        ];
        for (flag, condition, expected) in table {
            let conditions: Vec<_> = condition
                .iter()
                .map(|status| json!({"type": "InfrastructureReady", "status": status}))
                .collect();
            let cluster: Cluster = serde_json::from_value(json!({"status": {
                "initialization": {"infrastructureProvisioned": flag},
                "deprecated": {"v1beta1": {"conditions": conditions}}}}))
            .unwrap();
            assert_eq!(cluster.infrastructure_is_ready(), expected, "{flag:?} {condition:?}");
        }
    }
}
