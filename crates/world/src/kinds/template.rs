//! Templates that are copied and never read into: their spec stays JSON, so a copy is exact.

use capm3_api::{
    metadata::without_managed_fields,
    neighbours::CAPI_VERSION,
    v1beta2::{GROUP, VERSION},
};
use kube::core::ObjectMeta;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{BOOTSTRAP_GROUP, PassedOn};

/// From what Metal3Machines are copied.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Metal3MachineTemplate {
    #[serde(deserialize_with = "without_managed_fields")]
    pub(crate) metadata: ObjectMeta,
    pub(crate) spec: TemplateSpec,
}

capm3_api::resource!(
    Metal3MachineTemplate,
    GROUP,
    VERSION,
    "Metal3MachineTemplate",
    "metal3machinetemplates"
);

/// From what Metal3Remediations are copied.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Metal3RemediationTemplate {
    #[serde(deserialize_with = "without_managed_fields")]
    pub(crate) metadata: ObjectMeta,
    pub(crate) spec: TemplateSpec,
}

capm3_api::resource!(
    Metal3RemediationTemplate,
    GROUP,
    VERSION,
    "Metal3RemediationTemplate",
    "metal3remediationtemplates"
);

/// From what KubeadmConfigs are copied.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct KubeadmConfigTemplate {
    #[serde(deserialize_with = "without_managed_fields")]
    pub(crate) metadata: ObjectMeta,
    pub(crate) spec: TemplateSpec,
}

capm3_api::resource!(
    KubeadmConfigTemplate,
    BOOTSTRAP_GROUP,
    CAPI_VERSION,
    "KubeadmConfigTemplate",
    "kubeadmconfigtemplates"
);

/// The object to copy.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct TemplateSpec {
    pub(crate) template: TemplateResource,
}

/// The object to copy.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct TemplateResource {
    #[serde(skip_serializing_if = "PassedOn::is_empty")]
    pub(crate) metadata: PassedOn,
    pub(crate) spec: Map<String, Value>,
}
