//! MachineDeployment and MachineSet.

use capm3_api::{
    conditions::Condition,
    metadata::without_managed_fields,
    neighbours::{CAPI_GROUP, CAPI_VERSION},
};
use kube::core::ObjectMeta;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::MachineTemplate;

/// A MachineDeployment.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct MachineDeployment {
    #[serde(deserialize_with = "without_managed_fields")]
    pub(crate) metadata: ObjectMeta,
    pub(crate) spec: MachineDeploymentSpec,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) status: Option<ReplicaStatus>,
}

capm3_api::resource!(MachineDeployment, CAPI_GROUP, CAPI_VERSION, "MachineDeployment", "machinedeployments");

/// What the user wants of a deployment.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct MachineDeploymentSpec {
    pub(crate) cluster_name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) replicas: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) paused: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) deletion: Option<DeletionOrder>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) rollout: Option<Rollout>,
    pub(crate) template: MachineTemplate,
}

/// In which order surplus machines go.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct DeletionOrder {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) order: Option<String>,
}

/// How machines are replaced.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Rollout {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) strategy: Option<Strategy>,
}

/// The way of replacing.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Strategy {
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub(crate) type_: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) rolling_update: Option<RollingUpdate>,
}

/// Numbers or percentages.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct RollingUpdate {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) max_surge: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) max_unavailable: Option<Value>,
}

/// A MachineSet.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct MachineSet {
    #[serde(deserialize_with = "without_managed_fields")]
    pub(crate) metadata: ObjectMeta,
    pub(crate) spec: MachineSetSpec,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) status: Option<ReplicaStatus>,
}

capm3_api::resource!(MachineSet, CAPI_GROUP, CAPI_VERSION, "MachineSet", "machinesets");

/// What is wanted of a set.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct MachineSetSpec {
    pub(crate) cluster_name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) replicas: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) deletion: Option<DeletionOrder>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) selector: Option<Value>,
    pub(crate) template: MachineTemplate,
}

/// Counts that sets, deployments and control planes report.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ReplicaStatus {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) conditions: Vec<Condition>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) selector: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) replicas: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ready_replicas: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) available_replicas: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) up_to_date_replicas: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) phase: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) observed_generation: Option<i64>,
}

impl MachineDeployment {
    /// How many machines are wanted; one by default.
    pub(crate) fn wanted(&self) -> i32 {
        self.spec.replicas.unwrap_or(1)
    }
}

impl MachineSet {
    /// How many machines are wanted; one by default.
    pub(crate) fn wanted(&self) -> i32 {
        self.spec.replicas.unwrap_or(1)
    }

    /// How many machines are there by the set's own account.
    pub(crate) fn reported(&self) -> ReplicaStatus {
        self.status.clone().unwrap_or_default()
    }
}
