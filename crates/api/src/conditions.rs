//! Conditions in both generations: the Kubernetes form and the older Cluster API form with a severity.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A condition as Kubernetes writes it. Every member is optional on reading, so that one odd foreign condition
/// never makes an object unreadable.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    /// Type of the condition.
    #[serde(rename = "type", default)]
    #[schemars(extend("x-required" = true), length(max = 316), regex(pattern = r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$"))]
    pub type_: String,
    /// `True`, `False` or `Unknown`.
    #[serde(default)]
    #[schemars(extend("x-required" = true), extend("enum" = ["True", "False", "Unknown"]))]
    pub status: String,
    /// Generation of the object that was judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub observed_generation: Option<i64>,
    /// When `status` last changed, RFC 3339.
    #[serde(default)]
    #[schemars(extend("x-required" = true), extend("format" = "date-time"))]
    pub last_transition_time: String,
    /// One CamelCase word for programs.
    #[serde(default)]
    #[schemars(extend("x-required" = true), length(min = 1, max = 1024), regex(pattern = r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"))]
    pub reason: String,
    /// A sentence for people.
    #[serde(default)]
    #[schemars(extend("x-required" = true), length(max = 32768))]
    pub message: String,
}

/// Severity of an older condition that is `False`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Somebody must act.
    Error,
    /// Somebody may have to act.
    Warning,
    /// It passes by itself.
    Info,
}

impl Severity {
    /// The word in the API.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Error => "Error",
            Self::Warning => "Warning",
            Self::Info => "Info",
        }
    }
}

/// A condition as Cluster API wrote it before v1beta2.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LegacyCondition {
    /// Type of the condition.
    #[serde(rename = "type", default)]
    #[schemars(extend("x-required" = true), length(min = 1, max = 256))]
    pub type_: String,
    /// `True`, `False` or `Unknown`.
    #[serde(default)]
    #[schemars(extend("x-required" = true))]
    pub status: String,
    /// `Error`, `Warning` or `Info`; only when `status` is `False`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 32))]
    pub severity: Option<String>,
    /// When anything but the time last changed, RFC 3339.
    #[serde(default)]
    #[schemars(extend("x-required" = true), extend("format" = "date-time"))]
    pub last_transition_time: String,
    /// One CamelCase word for programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 256))]
    pub reason: Option<String>,
    /// A sentence for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 10240))]
    pub message: Option<String>,
}

/// `status.deprecated` of the provider's kinds.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Deprecated {
    /// What v1beta1 readers still look at.
    // Apart, because many objects have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub v1beta1: Option<Box<DeprecatedV1Beta1>>,
}

/// `status.deprecated.v1beta1`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeprecatedV1Beta1 {
    /// Conditions in the older form.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "crate::compact_deserialize::lean_list"
    )]
    pub conditions: Vec<LegacyCondition>,
    /// Terminal failure in one word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure_reason: Option<String>,
    /// Terminal failure in a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure_message: Option<String>,
}

/// Finds a condition by type.
pub fn find<'a>(conditions: &'a [Condition], type_: &str) -> Option<&'a Condition> {
    conditions.iter().find(|c| c.type_ == type_)
}

/// Whether a condition of that type is `True`.
pub fn is_true(conditions: &[Condition], type_: &str) -> bool {
    find(conditions, type_).is_some_and(|c| c.status == "True")
}

/// Whether a condition of that type is `True` among the older ones.
pub fn is_true_legacy(conditions: &[LegacyCondition], type_: &str) -> bool {
    conditions.iter().any(|c| c.type_ == type_ && c.status == "True")
}
