//! KubeadmControlPlane, KubeadmConfig and its template. What kubeadm itself would read stays JSON.

use capm3_api::{
    conditions::Condition,
    metadata::without_managed_fields,
    neighbours::{CAPI_VERSION, CONTROL_PLANE_GROUP, ContractRef},
};
use kube::core::ObjectMeta;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{BOOTSTRAP_GROUP, PassedOn, Rollout};

/// A KubeadmControlPlane.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct KubeadmControlPlane {
    #[serde(deserialize_with = "without_managed_fields")]
    pub(crate) metadata: ObjectMeta,
    pub(crate) spec: KubeadmControlPlaneSpec,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) status: Option<ControlPlaneStatus>,
}

capm3_api::resource!(
    KubeadmControlPlane,
    CONTROL_PLANE_GROUP,
    CAPI_VERSION,
    "KubeadmControlPlane",
    "kubeadmcontrolplanes"
);

/// What the user wants of a control plane.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct KubeadmControlPlaneSpec {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) replicas: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) version: Option<String>,
    pub(crate) machine_template: ControlPlaneTemplate,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) rollout: Option<Rollout>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) kubeadm_config_spec: Option<Map<String, Value>>,
}

/// From what control-plane machines are made. Older documents name the template one level higher.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ControlPlaneTemplate {
    #[serde(skip_serializing_if = "PassedOn::is_empty")]
    pub(crate) metadata: PassedOn,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) spec: Option<ControlPlaneMachineSpec>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) infrastructure_ref: Option<ContractRef>,
}

/// The template and what is passed on to each Machine unread.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ControlPlaneMachineSpec {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) infrastructure_ref: Option<ContractRef>,
    #[serde(flatten)]
    pub(crate) rest: Map<String, Value>,
}

/// Where the control plane stands.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ControlPlaneStatus {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) initialization: Option<ControlPlaneInitialization>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) version: Option<String>,
    #[serde(flatten)]
    pub(crate) counts: super::ReplicaStatus,
}

/// The flag that is set once and for all.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ControlPlaneInitialization {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) control_plane_initialized: Option<bool>,
}

/// A KubeadmConfig.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct KubeadmConfig {
    #[serde(deserialize_with = "without_managed_fields")]
    pub(crate) metadata: ObjectMeta,
    pub(crate) spec: Map<String, Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) status: Option<KubeadmConfigStatus>,
}

capm3_api::resource!(KubeadmConfig, BOOTSTRAP_GROUP, CAPI_VERSION, "KubeadmConfig", "kubeadmconfigs");

/// Whether the Secret is made.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct KubeadmConfigStatus {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) conditions: Vec<Condition>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) data_secret_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) initialization: Option<DataSecretCreated>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) observed_generation: Option<i64>,
}

/// The flag that is set once and for all.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct DataSecretCreated {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) data_secret_created: Option<bool>,
}

impl KubeadmControlPlane {
    /// How many machines are wanted; one by default.
    pub(crate) fn wanted(&self) -> i32 {
        self.spec.replicas.unwrap_or(1)
    }

    /// Name of the Metal3MachineTemplate, wherever it stands.
    pub(crate) fn template_name(&self) -> Option<&str> {
        let template = &self.spec.machine_template;
        let new = template.spec.as_ref().and_then(|s| s.infrastructure_ref.as_ref());
        new.or(template.infrastructure_ref.as_ref())?.name.as_deref()
    }

    /// Whether the control plane answered once.
    pub(crate) fn is_initialized(&self) -> bool {
        let flag = self.status.as_ref().and_then(|s| s.initialization.as_ref());
        flag.and_then(|i| i.control_plane_initialized).unwrap_or(false)
    }
}

impl KubeadmConfig {
    /// Name of the bootstrap Secret once it is made.
    pub(crate) fn secret_name(&self) -> Option<&str> {
        let status = self.status.as_ref()?;
        let made = status.initialization.as_ref().and_then(|i| i.data_secret_created).unwrap_or(false);
        status.data_secret_name.as_deref().filter(|_| made)
    }
}
