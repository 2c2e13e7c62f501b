//! A real Kubernetes API server to compare ourselves with: built from pinned sources, run on loopback ports.
//!
//! Other chores use [`Cluster`]; people use `cargo xtask real` and `cargo xtask kubectl`.

mod args;
mod build;
mod cli;
mod cluster;
pub mod components;
mod crds;
mod etcd;
mod folder;
mod go;
mod guard;
pub mod kubeconfig;
mod pins;
pub mod pki;
pub mod ports;
mod process;
mod state;
pub mod wait;
mod workload;

pub use self::{
    build::{all as build_all, can as can_build, ensure as ensure_built},
    cli::{Real, kubectl, kubectl_path, run},
    cluster::Cluster,
    crds::print as print_crds,
    pins::Binary,
    workload::Workload,
};

/// Something that we need from the machine is missing: nothing was found wrong, it could not be tried.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct CannotRun(pub String);
