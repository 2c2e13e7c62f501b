//! What surrounds the provider in a simulation: the host operator, Cluster API's controllers, nodes that join, and a
//! cloud provider.
//!
//! Takes a client of the management API, a way to workload APIs ([`WorkloadApis`]) and a clock; does there what the
//! neighbours of a real installation would do, so that the provider under test meets the same objects in the same
//! order. It imports none of the provider's rules: the simulation must check the provider independently.
//!
//! `hosts` is the operator's state machine, `capi` is Cluster API with the kubeadm control plane and bootstrap,
//! `nodes` are the kubelets and the cloud provider. Beside a real Cluster API, `capi` is left out ([`Cast`]). Each controller decides purely (`decide`: snapshot in, plan
//! out) and is woken by `wake`; only `pace` knows how long things take.

mod capi;
mod config_drives;
mod context;
mod crds;
pub mod dry_run;
mod hosts;
mod indexes;
mod kinds;
mod metadata;
mod nodes;
mod pace;
mod wake;
mod workloads;
mod world;

pub use config_drives::NodeData;
pub use crds::crds;
pub use pace::{Profile, Steps};
pub use workloads::WorkloadApis;
pub use world::{Cast, Options, World};
