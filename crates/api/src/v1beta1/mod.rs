//! The provider's kinds in `infrastructure.cluster.x-k8s.io/v1beta1`: served for older clients, deprecated, never stored.
//!
//! These types make the schemas. Objects are turned into v1beta2 by [`crate::conversion`] before any rule sees them.

mod metal3cluster;
mod metal3data;
mod metal3datatemplate;
mod metal3machine;
mod metal3remediation;
mod network_data;

pub use metal3cluster::*;
pub use metal3data::*;
pub use metal3datatemplate::*;
pub use metal3machine::*;
pub use metal3remediation::*;
pub use network_data::*;

/// This version.
pub const VERSION: &str = "v1beta1";
/// `apiVersion` of this version.
pub const API_VERSION: &str = "infrastructure.cluster.x-k8s.io/v1beta1";
