//! Machine, and the template of one.

use std::collections::BTreeMap;

use capm3_api::{
    conditions::{Condition, Deprecated, find},
    metadata::without_managed_fields,
    neighbours::{CAPI_GROUP, CAPI_VERSION, ContractRef, NodeRef},
    v1beta2::MachineAddress,
};
use kube::core::ObjectMeta;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A Machine.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Machine {
    #[serde(deserialize_with = "without_managed_fields")]
    pub(crate) metadata: ObjectMeta,
    pub(crate) spec: MachineSpec,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) status: Option<MachineStatus>,
}

capm3_api::resource!(Machine, CAPI_GROUP, CAPI_VERSION, "Machine", "machines");

/// What a machine is made from. `rest` carries what the world passes on without reading it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct MachineSpec {
    pub(crate) cluster_name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) failure_domain: Option<String>,
    #[serde(rename = "providerID", skip_serializing_if = "Option::is_none")]
    pub(crate) provider_id: Option<String>,
    pub(crate) bootstrap: Bootstrap,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) infrastructure_ref: Option<ContractRef>,
    #[serde(flatten)]
    pub(crate) rest: Map<String, Value>,
}

/// Where user data comes from.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Bootstrap {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) config_ref: Option<ContractRef>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) data_secret_name: Option<String>,
}

/// Where a machine stands.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct MachineStatus {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) conditions: Vec<Condition>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) deprecated: Option<Deprecated>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) node_ref: Option<NodeRef>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) node_info: Option<Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) addresses: Vec<MachineAddress>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) failure_domain: Option<String>,
    #[serde(skip_serializing_if = "MachineInitialization::is_empty")]
    pub(crate) initialization: MachineInitialization,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) phase: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) observed_generation: Option<i64>,
}

/// Flags that are set once and for all.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct MachineInitialization {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) bootstrap_data_secret_created: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) infrastructure_provisioned: Option<bool>,
}

impl MachineInitialization {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// From what the machines of a set or a deployment are made.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct MachineTemplate {
    #[serde(skip_serializing_if = "PassedOn::is_empty")]
    pub(crate) metadata: PassedOn,
    pub(crate) spec: MachineSpec,
}

/// Labels and annotations that a template passes on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct PassedOn {
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) labels: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) annotations: BTreeMap<String, String>,
}

impl PassedOn {
    pub(crate) fn is_empty(&self) -> bool {
        self.labels.is_empty() && self.annotations.is_empty()
    }
}

impl Machine {
    /// Name of the Node, once known.
    pub(crate) fn node_name(&self) -> Option<&str> {
        self.status.as_ref()?.node_ref.as_ref()?.name.as_deref().filter(|n| !n.is_empty())
    }

    /// Name of the Metal3Machine.
    pub(crate) fn infrastructure_name(&self) -> Option<&str> {
        self.spec.infrastructure_ref.as_ref()?.name.as_deref()
    }

    /// Name of the KubeadmConfig, if a bootstrap object is used at all.
    pub(crate) fn config_name(&self) -> Option<&str> {
        self.spec.bootstrap.config_ref.as_ref()?.name.as_deref().filter(|n| !n.is_empty())
    }

    /// Whether the owner has to replace the machine: its health check fails, and nobody else brings it back. Only the Kubernetes
    /// form counts; the older conditions are for people who still read them.
    pub(crate) fn is_given_up(&self) -> bool {
        self.denies("HealthCheckSucceeded") && self.denies("OwnerRemediated")
    }

    /// Whether a condition of the Kubernetes form is `False`.
    pub(crate) fn denies(&self, condition: &str) -> bool {
        let conditions = self.status.as_ref().map(|s| s.conditions.as_slice()).unwrap_or_default();
        find(conditions, condition).is_some_and(|c| c.status == "False")
    }

    /// Whether a condition of the Kubernetes form is `True`.
    pub(crate) fn says(&self, condition: &str) -> bool {
        self.status.as_ref().is_some_and(|s| capm3_api::conditions::is_true(&s.conditions, condition))
    }
}
