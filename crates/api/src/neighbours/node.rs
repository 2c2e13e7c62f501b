//! Node of a workload cluster as the provider reads it.

use kube::core::ObjectMeta;
use serde::{Deserialize, Serialize};

/// A Node.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Node {
    /// Object metadata.
    #[serde(deserialize_with = "crate::metadata::without_managed_fields")]
    pub metadata: ObjectMeta,
    /// Provider ID.
    pub spec: NodeSpec,
}

crate::kind::kind!(Node, "", "v1", "Node", "nodes", cluster);

/// Provider ID.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeSpec {
    /// Provider ID of the machine on which the node runs.
    #[serde(rename = "providerID")]
    pub provider_id: Option<String>,
}
