//! Metal3ClusterTemplate: from what the Metal3Clusters of a ClusterClass are made.

use kube::core::ObjectMeta;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Metal3ClusterSpec, TemplateMetadata};

/// A template for Metal3Clusters.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Metal3ClusterTemplate {
    /// Object metadata.
    #[serde(default, deserialize_with = "crate::metadata::without_managed_fields")]
    pub metadata: ObjectMeta,
    /// The template.
    #[serde(default)]
    pub spec: Metal3ClusterTemplateSpec,
}

crate::kind::kind!(
    Metal3ClusterTemplate,
    super::GROUP,
    super::VERSION,
    "Metal3ClusterTemplate",
    "metal3clustertemplates"
);

/// The template.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Metal3ClusterTemplateSpec {
    /// The cluster to copy.
    #[serde(default)]
    #[schemars(extend("x-required" = true))]
    pub template: Metal3ClusterTemplateResource,
}

/// The cluster to copy.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Metal3ClusterTemplateResource {
    /// Labels and annotations for the clusters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<TemplateMetadata>,
    /// Spec for the clusters.
    #[serde(default)]
    #[schemars(extend("x-required" = true))]
    pub spec: Metal3ClusterSpec,
}
