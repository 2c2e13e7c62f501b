//! BareMetalHost as the provider reads it. Caches hold thousands, so texts take no room to grow.

use kube::core::ObjectMeta;
use serde::{Deserialize, Serialize};

use crate::reference::SecretRef;

/// A BareMetalHost.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct BareMetalHost {
    /// Object metadata.
    #[serde(deserialize_with = "crate::metadata::without_managed_fields")]
    pub metadata: ObjectMeta,
    /// Consumer and what to put on the host.
    pub spec: HostSpec,
    /// State of the host.
    pub status: HostStatus,
}

crate::kind::kind!(BareMetalHost, super::METAL3_GROUP, "v1alpha1", "BareMetalHost", "baremetalhosts");

/// Consumer and what to put on the host.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct HostSpec {
    /// Who uses the host.
    pub consumer_ref: Option<ConsumerRef>,
    /// Image to provision.
    pub image: Option<HostImage>,
    /// Custom deploy step.
    pub custom_deploy: Option<HostCustomDeploy>,
    /// User data Secret.
    pub user_data: Option<SecretRef>,
    /// Metadata Secret.
    pub meta_data: Option<SecretRef>,
    /// Network data Secret.
    pub network_data: Option<SecretRef>,
    /// Whether disks are cleaned between uses.
    pub automated_cleaning_mode: Option<Box<str>>,
    /// Whether the host should be powered on.
    pub online: bool,
    /// Whether the host is managed elsewhere.
    pub externally_provisioned: bool,
    /// Whether the host must never be powered off.
    pub disable_power_off: bool,
    /// The management controller.
    pub bmc: HostBmc,
    /// MAC address from which the host boots.
    #[serde(rename = "bootMACAddress")]
    pub boot_mac_address: Option<Box<str>>,
}

/// Who uses a host.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ConsumerRef {
    /// `apiVersion` of the consumer.
    pub api_version: Option<String>,
    /// Kind of the consumer.
    pub kind: Option<String>,
    /// Name of the consumer.
    pub name: Option<String>,
    /// Namespace of the consumer.
    pub namespace: Option<String>,
}

/// Image of a host.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct HostImage {
    /// Where the image is fetched.
    pub url: Option<Box<str>>,
}

/// Custom deploy step of a host.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct HostCustomDeploy {
    /// Name of the step.
    pub method: Option<Box<str>>,
}

/// Management controller of a host.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct HostBmc {
    /// Secret with the credentials.
    pub credentials_name: Option<Box<str>>,
}

/// State of a host.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct HostStatus {
    /// `OK`, `discovered`, `error`, `delayed`, `detached` or `servicing`.
    pub operational_status: Option<Box<str>>,
    /// What went wrong.
    pub error_message: Option<Box<str>>,
    /// Kind of what went wrong.
    pub error_type: Option<Box<str>>,
    /// Whether the host is powered on.
    pub powered_on: Option<bool>,
    /// Provisioning state.
    pub provisioning: HostProvisioning,
    /// What was found by inspection.
    pub hardware: Option<HostHardware>,
}

/// Provisioning state of a host.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct HostProvisioning {
    /// State in the operator's state machine.
    pub state: Option<Box<str>>,
    /// Image that is on the disk.
    pub image: Option<HostImage>,
}

/// What was found by inspection.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct HostHardware {
    /// Host name.
    pub hostname: Option<Box<str>>,
    /// Network interfaces; null in the API means none.
    #[serde(deserialize_with = "crate::compact_deserialize::lean_list")]
    pub nics: Vec<HostNic>,
    /// Processors.
    #[serde(deserialize_with = "null_is_default")]
    pub cpu: HostCpu,
    /// Memory in MiB.
    pub ram_mebibytes: Option<i64>,
}

/// Processors of a host.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct HostCpu {
    /// Architecture in the words of the host's kernel, such as `x86_64`.
    pub arch: Option<Box<str>>,
    /// How many the operating system sees.
    pub count: Option<i64>,
}

/// A network interface of a host.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct HostNic {
    /// Name of the interface.
    pub name: Option<Box<str>>,
    /// MAC address.
    pub mac: Option<Box<str>>,
    /// Address.
    pub ip: Option<Box<str>>,
}

impl BareMetalHost {
    /// Provisioning state, empty when there is none yet.
    pub fn state(&self) -> &str {
        self.status.provisioning.state.as_deref().unwrap_or_default()
    }
}

fn null_is_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: serde::Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Ok(Option::<T>::deserialize(deserializer)?.unwrap_or_default())
}
