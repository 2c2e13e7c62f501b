//! Metal3Data: one index of a template, and the Secrets rendered for it.

use kube::core::ObjectMeta;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    conditions::Condition,
    reference::{ObjectRef, SecretRef},
};

/// One index of a template, given to one claim.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Metal3Data {
    /// Object metadata.
    #[serde(default, deserialize_with = "crate::metadata::without_managed_fields")]
    pub metadata: ObjectMeta,
    /// Index, claim, template and Secrets.
    #[serde(default)]
    pub spec: Metal3DataSpec,
    /// Whether the Secrets are there.
    #[serde(default)]
    pub status: Metal3DataStatus,
}

crate::kind::kind!(Metal3Data, super::GROUP, super::VERSION, "Metal3Data", "metal3datas");

/// Index, claim, template and Secrets.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Metal3DataSpec {
    /// Index within the index space of the template; names and inline addresses follow from it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub index: Option<i32>,
    /// The Secret with the rendered metadata.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub meta_data: Option<SecretRef>,
    /// The Secret with the rendered network data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network_data: Option<SecretRef>,
    /// The claim that this data serves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<ObjectRef>,
    /// The template that this data was rendered from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub template: Option<ObjectRef>,
    /// Key of the index space, copied from the template when the data was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    pub template_reference: Option<String>,
}

/// Whether the Secrets are there.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Metal3DataStatus {
    /// Condition `Ready`: whether the data is rendered, and if not, what it waits for.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "crate::compact_deserialize::lean_list"
    )]
    #[schemars(length(max = 32), extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
    /// True once every Secret is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready: Option<bool>,
    /// Why the data could not be rendered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 512))]
    pub error_message: Option<String>,
}
