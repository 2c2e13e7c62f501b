//! Metal3DataClaim: a machine's request for an index and rendered data of a template.

use kube::core::ObjectMeta;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{conditions::Condition, reference::ObjectRef};

/// A machine's request for data of a template.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Metal3DataClaim {
    /// Object metadata.
    #[serde(default, deserialize_with = "crate::metadata::without_managed_fields")]
    pub metadata: ObjectMeta,
    /// What is requested.
    #[serde(default)]
    pub spec: Metal3DataClaimSpec,
    /// What was given.
    #[serde(default)]
    pub status: Metal3DataClaimStatus,
}

crate::kind::kind!(Metal3DataClaim, super::GROUP, super::VERSION, "Metal3DataClaim", "metal3dataclaims");

/// What is requested.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Metal3DataClaimSpec {
    /// The Metal3DataTemplate to render from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub template: Option<ObjectRef>,
}

/// What was given.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Metal3DataClaimStatus {
    /// Condition `Ready`: whether the data of this claim is rendered, and if not, what it waits for.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "crate::compact_deserialize::lean_list"
    )]
    #[schemars(length(max = 32), extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
    /// The Metal3Data that serves this claim.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rendered_data: Option<ObjectRef>,
    /// Why the claim could not be served.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 512))]
    pub error_message: Option<String>,
}
