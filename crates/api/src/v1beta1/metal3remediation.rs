//! Metal3Remediation and Metal3RemediationTemplate in v1beta1.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::schema;

/// What is to be done.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Metal3RemediationSpec {
    /// How the machine is brought back; absent means that nothing is done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strategy: Option<RemediationStrategy>,
}

/// How a machine is brought back.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RemediationStrategy {
    /// `Reboot`: power the host off, remove the Node, power the host on. Any other or no value means that nothing
    /// is done.
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    pub type_: Option<String>,
    /// How often it is tried before the Machine is given up and deleted by its owner.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(transform = schema::plain_integer)]
    pub retry_limit: Option<i64>,
    /// How long one attempt may take before the next begins, such as `300s`; at least 100 seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<String>,
}

/// How far a remediation has come.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Metal3RemediationStatus {
    /// `Running` (an attempt is under way), `Waiting` (for the machine to become healthy), `Deleting machine`
    /// (given up, the owner replaces the Machine) or `Failed` (the host is switched off on purpose).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// Attempts made so far; absent means none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(transform = schema::plain_integer)]
    pub retry_count: Option<i64>,
    /// When the current attempt began, RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "date-time"))]
    pub last_remediated: Option<String>,
}

/// The template.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Metal3RemediationTemplateSpec {
    /// The remediation to copy.
    #[serde(default)]
    #[schemars(extend("x-required" = true))]
    pub template: Metal3RemediationTemplateResource,
}

/// The remediation to copy.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Metal3RemediationTemplateResource {
    /// Spec for the remediations.
    #[serde(default)]
    #[schemars(extend("x-required" = true))]
    pub spec: Metal3RemediationSpec,
}

/// Kept for compatibility; nothing writes it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Metal3RemediationTemplateStatus {
    /// Kept for compatibility; nothing writes it.
    #[serde(default)]
    #[schemars(extend("x-required" = true))]
    pub status: Metal3RemediationStatus,
}
