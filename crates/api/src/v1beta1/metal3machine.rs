//! Metal3Machine and Metal3MachineTemplate in v1beta1.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    conditions::{Condition, LegacyCondition},
    reference::{SecretRef, WideRef},
    v1beta2::{FailureDomainDataTemplate, MachineAddress},
};

/// What the machine should be.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Metal3MachineSpec {
    /// Written by the provider: `metal3://<namespace>/<host>/<Metal3Machine>`.
    #[serde(rename = "providerID", default, skip_serializing_if = "Option::is_none")]
    pub provider_id: Option<String>,
    /// Image to write to the host. Either this or `customDeploy` is needed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<Image>,
    /// A deploy step of the host operator's own, instead of the image.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub custom_deploy: Option<CustomDeploy>,
    /// Secret with user data; used only where the Machine has no bootstrap Secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_data: Option<SecretRef>,
    /// Which hosts may be taken; absent means any free host of the namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_selector: Option<HostSelector>,
    /// The Metal3DataTemplate that renders metadata and network data for this machine. Only name and namespace are
    /// used; an empty namespace is that of the machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data_template: Option<WideRef>,
    /// A Secret with metadata given by the user; wins over the rendered one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub meta_data: Option<SecretRef>,
    /// A Secret with network data given by the user; wins over the rendered one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network_data: Option<SecretRef>,
    /// Whether the host's disks are cleaned between uses: `metadata` (partition tables only) or `disabled`. Absent
    /// leaves the host's own setting.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["metadata", "disabled"]))]
    pub automated_cleaning_mode: Option<String>,
    /// Failure domain of the Machine, copied from it by the provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure_domain: Option<String>,
}

/// An image and how to check it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Image {
    /// Where the image is fetched: `http://`, `https://`, `file://` or `oci://`.
    #[serde(default)]
    #[schemars(extend("x-required" = true))]
    pub url: String,
    /// Checksum of the image, or where the checksum is fetched. Not needed for `live-iso` and `oci://`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checksum: Option<String>,
    /// Algorithm of the checksum.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["md5", "sha256", "sha512"]))]
    pub checksum_type: Option<String>,
    /// Format of the image; v1beta2 calls it `diskFormat`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["raw", "qcow2", "vdi", "vmdk", "live-iso"]))]
    pub format: Option<String>,
}

/// A custom deploy step.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CustomDeploy {
    /// Name of the deploy step.
    #[serde(default)]
    #[schemars(extend("x-required" = true))]
    pub method: String,
}

/// Which hosts may be taken: all requirements must hold.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HostSelector {
    /// Labels that the host must have, with exactly these values.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub match_labels: BTreeMap<String, String>,
    /// Further requirements on labels.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub match_expressions: Vec<HostSelectorRequirement>,
}

/// One requirement on a label.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HostSelectorRequirement {
    /// Label key.
    #[serde(default)]
    #[schemars(extend("x-required" = true))]
    pub key: String,
    /// `in`, `notin`, `=`, `==`, `!=`, `exists`, `!`, `gt` or `lt`, in any case.
    #[serde(default)]
    #[schemars(extend("x-required" = true))]
    pub operator: String,
    /// Values to compare with; ignored by `exists` and `!`.
    #[serde(default)]
    #[schemars(extend("x-required" = true))]
    pub values: Vec<String>,
}

/// Where the machine stands.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Metal3MachineStatus {
    /// Cluster API contract: whether the machine is fully provisioned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready: Option<bool>,
    /// Kept for compatibility; nothing writes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// When the content of this status last changed, RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "date-time"))]
    pub last_updated: Option<String>,
    /// Addresses of the host.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub addresses: Vec<MachineAddress>,
    /// Cluster API contract: the failure domain in which the machine really stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure_domain: Option<String>,
    /// The user data Secret in use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_data: Option<SecretRef>,
    /// The metadata Secret in use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub meta_data: Option<SecretRef>,
    /// The network data Secret in use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network_data: Option<SecretRef>,
    /// The Metal3Data of this machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rendered_data: Option<WideRef>,
    /// Conditions in the older form, with a severity.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<LegacyCondition>,
    /// Terminal failure in one word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure_reason: Option<String>,
    /// Terminal failure in a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure_message: Option<String>,
    /// What v1beta2 readers look at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub v1beta2: Option<Metal3MachineV1Beta2Status>,
}

/// What v1beta2 readers look at.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Metal3MachineV1Beta2Status {
    /// Conditions in the Kubernetes form.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32), extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
}

/// The template and how machines made from it behave.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Metal3MachineTemplateSpec {
    /// The machine to copy.
    #[serde(default)]
    #[schemars(extend("x-required" = true))]
    pub template: Metal3MachineTemplateResource,
    /// Whether a released host is kept for the next machine of the same control plane or MachineDeployment, so that
    /// an upgrade comes back to the same hosts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = false))]
    pub node_reuse: Option<bool>,
    /// Which Metal3DataTemplate a machine gets, by the failure domain of the host that it stands on, so that each rack
    /// has its own VLANs, subnets and gateways.
    ///
    /// The failure domain is the host's label `infrastructure.cluster.x-k8s.io/failure-domain`; a host without it counts
    /// as being in the failure domain of the Machine. A domain that is not listed gets `template.spec.dataTemplate`.
    /// What was chosen is written to `spec.dataTemplate` of the Metal3Machine and no longer changes once its
    /// Metal3DataClaim exists.
    ///
    /// Example: `[{failureDomain: rack1, dataTemplate: {name: rack1-data}}]`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 100), extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["failureDomain"]))]
    pub failure_domain_data_templates: Vec<FailureDomainDataTemplate>,
}

/// The machine to copy.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Metal3MachineTemplateResource {
    /// Spec for the machines.
    #[serde(default)]
    #[schemars(extend("x-required" = true))]
    pub spec: Metal3MachineSpec,
}
