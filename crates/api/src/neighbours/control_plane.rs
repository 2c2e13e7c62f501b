//! KubeadmControlPlane as the provider reads it. Other kinds of control planes are read by name alone.

use kube::core::ObjectMeta;
use serde::{Deserialize, Serialize};

use super::{ContractRef, InfrastructureOfMachines};

/// A KubeadmControlPlane.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct KubeadmControlPlane {
    /// Object metadata.
    #[serde(deserialize_with = "crate::metadata::without_managed_fields")]
    pub metadata: ObjectMeta,
    /// What its machines are made from.
    pub spec: ControlPlaneSpec,
}

crate::kind::kind!(
    KubeadmControlPlane,
    super::CONTROL_PLANE_GROUP,
    "v1beta2",
    "KubeadmControlPlane",
    "kubeadmcontrolplanes"
);

/// What the machines of a control plane are made from.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ControlPlaneSpec {
    /// How its machines are made.
    pub machine_template: Option<ControlPlaneMachines>,
}

/// How the machines of a control plane are made.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ControlPlaneMachines {
    /// Where the current contract has the template.
    pub spec: Option<InfrastructureOfMachines>,
    /// Where the contract before it had the template.
    pub infrastructure_ref: Option<ContractRef>,
}

impl KubeadmControlPlane {
    /// Name of the template that its next machine is made from.
    pub fn infrastructure_template(&self) -> Option<&str> {
        let machines = self.spec.machine_template.as_ref()?;
        let current = machines.spec.as_ref().and_then(|spec| spec.infrastructure_ref.as_ref());
        current.or(machines.infrastructure_ref.as_ref())?.name.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_template_is_read_where_either_contract_has_it() {
        let table = [
            (json!({"machineTemplate": {"spec": {"infrastructureRef": {"name": "new"}}}}), Some("new")),
            (json!({"machineTemplate": {"infrastructureRef": {"name": "old"}}}), Some("old")),
            (
                json!({"machineTemplate": {"spec": {"infrastructureRef": {"name": "new"}},
                    "infrastructureRef": {"name": "old"}}}),
                Some("new"),
            ),
            (json!({"machineTemplate": {}}), None),
            (json!({}), None),
        ];
        for (spec, expected) in table {
            let control_plane: KubeadmControlPlane = serde_json::from_value(json!({"spec": spec})).unwrap();
            assert_eq!(control_plane.infrastructure_template(), expected, "{spec}");
        }
    }
}
