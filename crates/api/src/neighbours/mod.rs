//! Narrow views of foreign kinds: only what the provider reads, every member optional, so that one odd object costs
//! nothing but itself. Foreign kinds are written by patch only.

mod cluster;
mod control_plane;
mod host;
mod ipam;
mod machine;
mod node;
mod pod;
mod secret;

pub use cluster::*;
pub use control_plane::*;
pub use host::*;
pub use ipam::*;
pub use machine::*;
pub use node::*;
pub use pod::*;
pub use secret::*;

/// API group of Cluster API's core kinds.
pub const CAPI_GROUP: &str = "cluster.x-k8s.io";
/// Version of Cluster API's core kinds in use.
pub const CAPI_VERSION: &str = "v1beta2";
/// `apiVersion` of Cluster API's core kinds.
pub const CAPI_API_VERSION: &str = "cluster.x-k8s.io/v1beta2";
/// Group of control-plane kinds such as KubeadmControlPlane.
pub const CONTROL_PLANE_GROUP: &str = "controlplane.cluster.x-k8s.io";
/// Group of BareMetalHost.
pub const METAL3_GROUP: &str = "metal3.io";
/// `apiVersion` of BareMetalHost.
pub const METAL3_API_VERSION: &str = "metal3.io/v1alpha1";
