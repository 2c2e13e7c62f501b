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
    /// Which taints it tolerates.
    pub spec: PodSpec,
}

crate::kind::kind!(Pod, "", "v1", "Pod", "pods");

/// Which taints a Pod tolerates.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PodSpec {
    /// Tolerations; null in the API means none.
    #[serde(deserialize_with = "crate::compact_deserialize::lean_list")]
    pub tolerations: Vec<Toleration>,
}

/// A toleration. A member that is absent stands for every value.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Toleration {
    /// Key of the taint.
    pub key: Option<String>,
    /// `Exists`, or `Equal` as if absent.
    pub operator: Option<String>,
    /// Value of the taint.
    pub value: Option<String>,
    /// Effect of the taint.
    pub effect: Option<String>,
    /// After how long it ends.
    pub toleration_seconds: Option<i64>,
}

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
