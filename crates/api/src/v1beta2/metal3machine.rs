//! Metal3Machine: the bare-metal side of one Machine.

use std::collections::BTreeMap;

use kube::core::ObjectMeta;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Initialization;
use crate::{
    conditions::{Condition, Deprecated},
    reference::{ObjectRef, SecretRef},
};

/// The infrastructure of one Machine: a host, its image and its data.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Metal3Machine {
    /// Object metadata.
    #[serde(default, deserialize_with = "crate::metadata::without_managed_fields")]
    pub metadata: ObjectMeta,
    /// What the machine should be.
    #[serde(default)]
    pub spec: Metal3MachineSpec,
    /// Where the machine stands.
    #[serde(default)]
    pub status: Metal3MachineStatus,
}

crate::kind::kind!(Metal3Machine, super::GROUP, super::VERSION, "Metal3Machine", "metal3machines");

/// What the machine should be.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Metal3MachineSpec {
    /// Written by the provider: `metal3://<namespace>/<host>/<Metal3Machine>`.
    #[serde(rename = "providerID", default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 512))]
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
    /// The Metal3DataTemplate that renders metadata and network data for this machine, in the machine's namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data_template: Option<ObjectRef>,
    /// A Secret with metadata given by the user; wins over the rendered one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub meta_data: Option<SecretRef>,
    /// A Secret with network data given by the user; wins over the rendered one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network_data: Option<SecretRef>,
    /// Whether the host's disks are cleaned between uses: `metadata` (partition tables only) or `disabled`. Absent leaves
    /// the host's own setting.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["metadata", "disabled"]))]
    pub automated_cleaning_mode: Option<String>,
    /// Failure domain of the Machine, copied from it by the provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 256))]
    pub failure_domain: Option<String>,
}

/// An image and how to check it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Image {
    /// Where the image is fetched: `http://`, `https://`, `file://` or `oci://`.
    #[serde(default)]
    #[schemars(extend("x-required" = true), length(min = 1, max = 512), extend("format" = "uri"))]
    pub url: String,
    /// Checksum of the image, or where the checksum is fetched. Not needed for `live-iso` and `oci://`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 0, max = 512))]
    pub checksum: Option<Box<str>>,
    /// Algorithm of the checksum.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["md5", "sha256", "sha512"]))]
    pub checksum_type: Option<Box<str>>,
    /// Format of the image.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["raw", "qcow2", "vdi", "vmdk", "live-iso"]))]
    pub disk_format: Option<Box<str>>,
}

/// A custom deploy step.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CustomDeploy {
    /// Name of the deploy step.
    #[serde(default)]
    #[schemars(extend("x-required" = true), length(min = 1, max = 512))]
    pub method: String,
}

/// Which hosts may be taken: all requirements must hold.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HostSelector {
    /// Labels that the host must have, with exactly these values.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub match_labels: BTreeMap<String, String>,
    /// Further requirements on labels; one label may stand in several, such as `gt` and `lt`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(min = 1, max = 512), extend("x-kubernetes-list-type" = "atomic"))]
    pub match_expressions: Vec<HostSelectorRequirement>,
}

/// One requirement on a label.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HostSelectorRequirement {
    /// Key of the label.
    #[serde(default)]
    #[schemars(extend("x-required" = true), length(min = 1, max = 512))]
    pub key: String,
    /// `in`, `notin`, `=`, `==`, `!=`, `exists`, `!`, `gt` or `lt`, in any case.
    #[serde(default)]
    #[schemars(extend("x-required" = true))]
    pub operator: String,
    /// Values to compare with; ignored by `exists` and `!`.
    #[serde(default)]
    #[schemars(extend("x-required" = true), length(max = 512), inner(length(min = 1, max = 512)), extend("x-kubernetes-list-type" = "set"))]
    pub values: Vec<String>,
}

/// Where the machine stands.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Metal3MachineStatus {
    /// Conditions in the Kubernetes form.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "crate::compact_deserialize::lean_list"
    )]
    #[schemars(length(max = 32), extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
    /// Cluster API contract: whether the machine is fully provisioned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub initialization: Option<Initialization>,
    /// When the content of this status last changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "date-time"))]
    pub last_updated: Option<Box<str>>,
    /// Addresses of the host.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "crate::compact_deserialize::lean_list"
    )]
    #[schemars(length(min = 1, max = 32), extend("x-kubernetes-list-type" = "atomic"))]
    pub addresses: Vec<MachineAddress>,
    /// Cluster API contract: the failure domain in which the machine really stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 256))]
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
    pub rendered_data: Option<ObjectRef>,
    /// What v1beta1 readers still look at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deprecated: Option<Deprecated>,
}

/// One address of a machine.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MachineAddress {
    /// `Hostname`, `ExternalIP`, `InternalIP`, `ExternalDNS` or `InternalDNS`.
    #[serde(rename = "type", default)]
    #[schemars(extend("x-required" = true), extend("enum" = ["Hostname", "ExternalIP", "InternalIP", "ExternalDNS", "InternalDNS"]))]
    pub type_: String,
    /// The address.
    #[serde(default)]
    #[schemars(extend("x-required" = true), length(min = 1, max = 256))]
    pub address: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Caches hold thousands of them, each with a count of sixteen bytes before it, and allocators round up to 1,024 bytes
    /// or to the next size, which is a quarter more.
    #[test]
    fn a_machine_fits_into_a_kilobyte() {
        let bytes = size_of::<Metal3Machine>();
        assert!(bytes <= 1024 - 16, "{bytes} bytes");
    }
}
