//! Machine, MachineSet and MachineDeployment as the provider reads them.

use kube::core::ObjectMeta;
use serde::{Deserialize, Serialize};

use super::ContractRef;
use crate::conditions::{Deprecated, is_true_legacy};

/// A Cluster API Machine.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Machine {
    /// Object metadata.
    #[serde(deserialize_with = "crate::metadata::without_managed_fields")]
    pub metadata: ObjectMeta,
    /// Cluster, bootstrap and placement.
    pub spec: MachineSpec,
    /// Node and bootstrap.
    pub status: MachineStatus,
}

crate::kind::kind!(Machine, super::CAPI_GROUP, super::CAPI_VERSION, "Machine", "machines");

/// Cluster, bootstrap and placement.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct MachineSpec {
    /// Name of the Cluster.
    pub cluster_name: String,
    /// Where user data comes from.
    pub bootstrap: Bootstrap,
    /// The Metal3Machine.
    pub infrastructure_ref: Option<ContractRef>,
    /// Failure domain that the machine was assigned to.
    pub failure_domain: Option<String>,
    /// Provider ID.
    #[serde(rename = "providerID")]
    pub provider_id: Option<String>,
}

/// Where user data comes from.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Bootstrap {
    /// The bootstrap object.
    pub config_ref: Option<Box<ContractRef>>,
    /// The Secret with the user data.
    pub data_secret_name: Option<String>,
}

impl Bootstrap {
    /// Whether it says at all where user data comes from.
    pub fn names_any(&self) -> bool {
        self.data_secret_name.is_some() || self.has_config_ref()
    }

    /// Whether a bootstrap object is named at all.
    pub fn has_config_ref(&self) -> bool {
        let filled = |s: &Option<String>| s.as_ref().is_some_and(|s| !s.is_empty());
        self.config_ref.as_ref().is_some_and(|c| filled(&c.kind) || filled(&c.name) || filled(&c.api_group))
    }
}

/// Node and bootstrap.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct MachineStatus {
    /// The Node of this machine.
    pub node_ref: Option<NodeRef>,
    /// Flags that are set once and for all.
    pub initialization: Option<MachineInitialization>,
    /// What v1beta1 readers look at.
    pub deprecated: Option<Deprecated>,
}

/// The Node of a machine.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeRef {
    /// Name of the Node.
    pub name: Option<String>,
}

/// Flags that are set once and for all.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct MachineInitialization {
    /// Whether the bootstrap Secret was created.
    pub bootstrap_data_secret_created: Option<bool>,
}

impl Machine {
    /// Whether user data is there: the Secret is named, or an older Cluster API says so by condition.
    pub fn bootstrap_is_ready(&self) -> bool {
        if self.spec.bootstrap.data_secret_name.is_some() {
            return true;
        }
        let legacy = self
            .status
            .deprecated
            .as_ref()
            .and_then(|d| d.v1beta1.as_ref())
            .is_some_and(|v| is_true_legacy(&v.conditions, "BootstrapReady"));
        let flag = self.status.initialization.as_ref().and_then(|i| i.bootstrap_data_secret_created);
        self.spec.bootstrap.has_config_ref() && (flag.unwrap_or(false) || legacy)
    }

    /// Name of the Node, once known.
    pub fn node_name(&self) -> Option<&str> {
        self.status.node_ref.as_ref()?.name.as_deref().filter(|n| !n.is_empty())
    }
}

/// A Cluster API MachineSet.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct MachineSet {
    /// Object metadata.
    #[serde(deserialize_with = "crate::metadata::without_managed_fields")]
    pub metadata: ObjectMeta,
    /// What its machines are made from.
    pub spec: MachinesSpec,
}

crate::kind::kind!(MachineSet, super::CAPI_GROUP, super::CAPI_VERSION, "MachineSet", "machinesets");

/// A Cluster API MachineDeployment.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct MachineDeployment {
    /// Object metadata.
    #[serde(deserialize_with = "crate::metadata::without_managed_fields")]
    pub metadata: ObjectMeta,
    /// What its machines are made from.
    pub spec: MachinesSpec,
}

crate::kind::kind!(
    MachineDeployment,
    super::CAPI_GROUP,
    super::CAPI_VERSION,
    "MachineDeployment",
    "machinedeployments"
);

/// What the machines of a MachineSet or a MachineDeployment are made from.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct MachinesSpec {
    /// The template of its Machines.
    pub template: Option<MachinesTemplate>,
}

/// The template of Machines.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct MachinesTemplate {
    /// The spec of its Machines.
    pub spec: Option<InfrastructureOfMachines>,
}

/// Where the infrastructure of machines comes from.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct InfrastructureOfMachines {
    /// The Metal3MachineTemplate.
    pub infrastructure_ref: Option<ContractRef>,
}

impl MachinesSpec {
    /// Name of the template that the next machine is made from.
    pub fn infrastructure_template(&self) -> Option<&str> {
        self.template.as_ref()?.spec.as_ref()?.infrastructure_ref.as_ref()?.name.as_deref()
    }
}
