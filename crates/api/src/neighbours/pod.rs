//! Pod and VolumeAttachment of a workload cluster, as far as they tell what still belongs to a Node.

use kube::core::ObjectMeta;
use serde::{Deserialize, Serialize};

/// A Pod.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Pod {
    /// Object metadata.
    #[serde(deserialize_with = "crate::metadata::without_managed_fields")]
    pub metadata: ObjectMeta,
}

crate::kind::kind!(Pod, "", "v1", "Pod", "pods");

/// A volume that is attached to a Node.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct VolumeAttachment {
    /// Object metadata.
    #[serde(deserialize_with = "crate::metadata::without_managed_fields")]
    pub metadata: ObjectMeta,
    /// Where it is attached.
    pub spec: VolumeAttachmentSpec,
}

crate::kind::kind!(
    VolumeAttachment,
    "storage.k8s.io",
    "v1",
    "VolumeAttachment",
    "volumeattachments",
    cluster
);

/// Where a volume is attached.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct VolumeAttachmentSpec {
    /// The Node.
    pub node_name: Option<String>,
}
