//! BareMetalHost as its operator reads and writes it.

use capm3_api::{
    metadata::without_managed_fields,
    neighbours::{ConsumerRef, HostCustomDeploy, METAL3_GROUP},
    reference::SecretRef,
};
use kube::core::ObjectMeta;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A BareMetalHost.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct BareMetalHost {
    #[serde(deserialize_with = "without_managed_fields")]
    pub(crate) metadata: ObjectMeta,
    pub(crate) spec: HostSpec,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) status: Option<HostStatus>,
}

capm3_api::resource!(BareMetalHost, METAL3_GROUP, "v1alpha1", "BareMetalHost", "baremetalhosts");

/// What is wanted of a host. The operator never writes it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct HostSpec {
    pub(crate) online: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) bmc: Option<Bmc>,
    #[serde(rename = "bootMACAddress", skip_serializing_if = "Option::is_none")]
    pub(crate) boot_mac_address: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) consumer_ref: Option<ConsumerRef>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) image: Option<Image>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) custom_deploy: Option<HostCustomDeploy>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) user_data: Option<SecretRef>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) meta_data: Option<SecretRef>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) network_data: Option<SecretRef>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) preprovisioning_network_data_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) automated_cleaning_mode: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) inspection_mode: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) externally_provisioned: Option<bool>,
}

/// The management controller.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Bmc {
    pub(crate) address: String,
    pub(crate) credentials_name: String,
}

/// An image, in spec and in status.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Image {
    pub(crate) url: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) checksum: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) checksum_type: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) format: Option<String>,
}

/// What the operator says of a host. The members that are always written are those that the API requires.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct HostStatus {
    pub(crate) operational_status: String,
    pub(crate) error_message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error_type: Option<String>,
    pub(crate) error_count: i64,
    pub(crate) provisioning_fail_count: i64,
    pub(crate) powered_on: bool,
    pub(crate) provisioning: Provisioning,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) hardware: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) hardware_profile: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) operation_history: Option<OperationHistory>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) last_updated: Option<String>,
}

/// State and what is on the disk.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Provisioning {
    pub(crate) state: String,
    #[serde(rename = "ID")]
    pub(crate) id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) image: Option<Image>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) custom_deploy: Option<HostCustomDeploy>,
}

/// When each operation last began and ended.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct OperationHistory {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) register: Option<Operation>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) inspect: Option<Operation>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) provision: Option<Operation>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) deprovision: Option<Operation>,
}

/// Begin and end of an operation.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Operation {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) start: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) end: Option<String>,
}

impl BareMetalHost {
    /// State, empty when the operator has not looked yet.
    pub(crate) fn state(&self) -> &str {
        self.status.as_ref().map_or("", |s| s.provisioning.state.as_str())
    }

    /// Name of the Metal3Machine that uses the host.
    pub(crate) fn consumer(&self) -> Option<&str> {
        let consumer = self.spec.consumer_ref.as_ref()?;
        consumer.name.as_deref().filter(|_| consumer.kind.as_deref() == Some("Metal3Machine"))
    }
}
