//! MachineHealthCheck.

use capm3_api::{
    conditions::Condition,
    metadata::without_managed_fields,
    neighbours::{CAPI_GROUP, CAPI_VERSION},
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube::core::ObjectMeta;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A MachineHealthCheck.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct MachineHealthCheck {
    #[serde(deserialize_with = "without_managed_fields")]
    pub(crate) metadata: ObjectMeta,
    pub(crate) spec: HealthCheckSpec,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) status: Option<HealthCheckStatus>,
}

capm3_api::resource!(
    MachineHealthCheck,
    CAPI_GROUP,
    CAPI_VERSION,
    "MachineHealthCheck",
    "machinehealthchecks"
);

/// Which Machines are looked at, what is wrong with one, and what follows.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct HealthCheckSpec {
    pub(crate) cluster_name: String,
    pub(crate) selector: LabelSelector,
    pub(crate) checks: Checks,
    pub(crate) remediation: HealthCheckRemediation,
}

/// What is wrong with a Machine.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Checks {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) node_startup_timeout_seconds: Option<i32>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) unhealthy_node_conditions: Vec<UnhealthyCondition>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) unhealthy_machine_conditions: Vec<UnhealthyCondition>,
}

/// A condition that may not have this status for so long.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct UnhealthyCondition {
    #[serde(rename = "type")]
    pub(crate) type_: String,
    pub(crate) status: String,
    pub(crate) timeout_seconds: i32,
}

/// What follows when a Machine is unhealthy.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct HealthCheckRemediation {
    pub(crate) trigger_if: TriggerIf,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) template_ref: Option<TemplateRef>,
}

/// Among how many unhealthy Machines anything is done at all.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct TriggerIf {
    /// A number or a percentage.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) unhealthy_less_than_or_equal_to: Option<Value>,
    /// Such as `[3-5]`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) unhealthy_in_range: Option<String>,
}

/// From what the remediation of a Machine is copied; unlike other references it has a version.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct TemplateRef {
    pub(crate) api_version: String,
    pub(crate) kind: String,
    pub(crate) name: String,
}

/// What was counted.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct HealthCheckStatus {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) conditions: Vec<Condition>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) expected_machines: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) current_healthy: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) remediations_allowed: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) observed_generation: Option<i64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) targets: Vec<String>,
}

impl MachineHealthCheck {
    /// Name of the Metal3RemediationTemplate; a template of another kind belongs to a provider that is not here.
    pub(crate) fn template_name(&self) -> Option<&str> {
        let reference = self.spec.remediation.template_ref.as_ref()?;
        (reference.kind == "Metal3RemediationTemplate").then_some(reference.name.as_str())
    }
}
