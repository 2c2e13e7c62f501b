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

/// Implements [`kube::Resource`] for a type with a `metadata` member.
macro_rules! kind {
    ($type:ident, $group:expr, $version:expr, $plural:expr) => {
        impl kube::Resource for $type {
            type DynamicType = ();
            type Scope = kube::core::NamespaceResourceScope;
            fn kind(_: &()) -> std::borrow::Cow<'_, str> {
                stringify!($type).into()
            }
            fn group(_: &()) -> std::borrow::Cow<'_, str> {
                $group.into()
            }
            fn version(_: &()) -> std::borrow::Cow<'_, str> {
                $version.into()
            }
            fn plural(_: &()) -> std::borrow::Cow<'_, str> {
                $plural.into()
            }
            fn meta(&self) -> &kube::core::ObjectMeta {
                &self.metadata
            }
            fn meta_mut(&mut self) -> &mut kube::core::ObjectMeta {
                &mut self.metadata
            }
        }
    };
}
pub(crate) use kind;

/// API group of KubeadmConfig.
pub(crate) const BOOTSTRAP_GROUP: &str = "bootstrap.cluster.x-k8s.io";
