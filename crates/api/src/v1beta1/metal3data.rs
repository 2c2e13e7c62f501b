//! Metal3Data and Metal3DataClaim in v1beta1.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    conditions::Condition,
    reference::{SecretRef, WideRef},
    schema,
};

/// Index, claim, template and Secrets.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Metal3DataSpec {
    /// Index within the index space of the template.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(transform = schema::plain_integer)]
    pub index: Option<i64>,
    /// The Secret with the rendered metadata.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub meta_data: Option<SecretRef>,
    /// The Secret with the rendered network data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network_data: Option<SecretRef>,
    /// The Metal3DataClaim that this data serves. Only name and namespace are used.
    #[serde(default)]
    #[schemars(extend("x-required" = true))]
    pub claim: WideRef,
    /// The Metal3DataTemplate that this data is rendered from. Only name and namespace are used.
    #[serde(default)]
    #[schemars(extend("x-required" = true))]
    pub template: WideRef,
    /// Key of the index space, copied from the template when the data was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    pub template_reference: Option<String>,
}

/// Whether the Secrets are there.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Metal3DataStatus {
    /// True once every Secret is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready: Option<bool>,
    /// Why the data could not be rendered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_message: Option<String>,
    /// Condition `Ready`: whether the data is rendered, and if not, what it waits for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32), extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
}

/// What is requested.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Metal3DataClaimSpec {
    /// The Metal3DataTemplate to render from. Only name and namespace are used; an empty namespace is that of the
    /// claim.
    #[serde(default)]
    #[schemars(extend("x-required" = true))]
    pub template: WideRef,
}

/// What was given.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Metal3DataClaimStatus {
    /// The Metal3Data that serves this claim.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rendered_data: Option<WideRef>,
    /// Why the claim could not be served.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_message: Option<String>,
    /// Condition `Ready`: whether the data of this claim is rendered, and if not, what it waits for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32), extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
}
