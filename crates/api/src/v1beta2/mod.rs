//! The provider's kinds in `infrastructure.cluster.x-k8s.io/v1beta2`, the stored version.

mod metal3cluster;
mod metal3clustertemplate;
mod metal3data;
mod metal3dataclaim;
mod metal3datatemplate;
mod metal3machine;
mod metal3machinetemplate;
mod metal3remediation;
mod network_data;

pub use metal3cluster::*;
pub use metal3clustertemplate::*;
pub use metal3data::*;
pub use metal3dataclaim::*;
pub use metal3datatemplate::*;
pub use metal3machine::*;
pub use metal3machinetemplate::*;
pub use metal3remediation::*;
pub use network_data::*;

/// API group of the provider's kinds.
pub const GROUP: &str = "infrastructure.cluster.x-k8s.io";
/// Stored version.
pub const VERSION: &str = "v1beta2";
/// `apiVersion` of the stored version.
pub const API_VERSION: &str = "infrastructure.cluster.x-k8s.io/v1beta2";
