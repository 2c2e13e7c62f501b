//! The foreign kinds as the world writes them: fuller than the provider's views, every member optional on reading,
//! and written by patch only, so that members which are not here stay as they are.

mod cluster;
mod deployment;
mod health_check;
mod host;
mod kubeadm;
mod machine;
mod remediation;
mod template;

pub(crate) use cluster::*;
pub(crate) use deployment::*;
pub(crate) use health_check::*;
pub(crate) use host::*;
pub(crate) use kubeadm::*;
pub(crate) use machine::*;
pub(crate) use remediation::*;
pub(crate) use template::*;

/// API group of KubeadmConfig.
pub(crate) const BOOTSTRAP_GROUP: &str = "bootstrap.cluster.x-k8s.io";
