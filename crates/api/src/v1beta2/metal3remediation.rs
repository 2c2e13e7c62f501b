//! Metal3Remediation and its template: how an unhealthy machine is brought back.

use kube::core::ObjectMeta;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::conditions::Condition;

/// One attempt to bring an unhealthy machine back; made by a MachineHealthCheck, named as the Machine.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Metal3Remediation {
    /// Object metadata.
    #[serde(default, deserialize_with = "crate::metadata::without_managed_fields")]
    pub metadata: ObjectMeta,
    /// What is to be done.
    #[serde(default)]
    pub spec: Metal3RemediationSpec,
    /// How far it has come.
    #[serde(default)]
    pub status: Metal3RemediationStatus,
}

crate::kind::kind!(
    Metal3Remediation,
    super::GROUP,
    super::VERSION,
    "Metal3Remediation",
    "metal3remediations"
);

/// What is to be done.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Metal3RemediationSpec {
    /// How the machine is brought back; absent means that nothing is done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strategy: Option<RemediationStrategy>,
}

/// How a machine is brought back.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RemediationStrategy {
    /// `Reboot`: power the host off, remove the Node, power the host on. Any other or no value means that nothing is
    /// done.
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["Reboot"]))]
    pub type_: Option<String>,
    /// How often it is tried before the Machine is given up and deleted by its owner.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1), extend("default" = 1))]
    pub retry_limit: Option<i32>,
    /// Seconds that one attempt may take before the next begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 100), extend("default" = 600))]
    pub timeout_seconds: Option<i32>,
    /// How the host is powered off. `hard` (default): at once. `soft`: the operating system is asked to shut down; after half
    /// of the timeout it is `hard`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["soft", "hard"]))]
    pub power_off: Option<String>,
    /// What happens after the last attempt. `MarkUnhealthyAndReplace` (default): the host is marked, so that no machine takes
    /// it, and the owner of the Machine replaces the Machine. `MarkUnhealthyOnly`: the Machine stays as it is.
    /// `ReplaceOnly`: the host is not marked, so that another machine may take it after it was cleaned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["MarkUnhealthyAndReplace", "MarkUnhealthyOnly", "ReplaceOnly"]))]
    pub on_exhausted: Option<String>,
}

/// How far a remediation has come.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Metal3RemediationStatus {
    /// `Running` (an attempt is under way), `Waiting` (for the machine to become healthy), `Deleting machine` (given up,
    /// the owner replaces the Machine) or `Failed` (the host is switched off on purpose).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["Running", "Waiting", "Deleting machine", "Failed"]))]
    pub phase: Option<String>,
    /// Attempts made so far; absent means none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub retry_count: Option<i32>,
    /// When the current attempt began, RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "date-time"))]
    pub last_remediated: Option<String>,
    /// Condition `Remediated` and `Paused`: what the remediation waits for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32), extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
}

/// A template for Metal3Remediations, named by a MachineHealthCheck.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Metal3RemediationTemplate {
    /// Object metadata.
    #[serde(default, deserialize_with = "crate::metadata::without_managed_fields")]
    pub metadata: ObjectMeta,
    /// The template.
    #[serde(default)]
    pub spec: Metal3RemediationTemplateSpec,
    /// Kept for compatibility; nothing writes it.
    #[serde(default)]
    pub status: Metal3RemediationTemplateStatus,
}

crate::kind::kind!(
    Metal3RemediationTemplate,
    super::GROUP,
    super::VERSION,
    "Metal3RemediationTemplate",
    "metal3remediationtemplates"
);

/// The template.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Metal3RemediationTemplateSpec {
    /// The remediation to copy.
    #[serde(default)]
    #[schemars(extend("x-required" = true))]
    pub template: Metal3RemediationTemplateResource,
}

/// The remediation to copy.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Metal3RemediationTemplateResource {
    /// Spec for the remediations.
    #[serde(default)]
    #[schemars(extend("x-required" = true))]
    pub spec: Metal3RemediationSpec,
}

/// Kept for compatibility; nothing writes it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Metal3RemediationTemplateStatus {
    /// Kept for compatibility; nothing writes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<Metal3RemediationStatus>,
}
