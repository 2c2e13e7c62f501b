//! The objects, one file per group.

mod certificates;
mod crds;
mod manager;
mod namespace;
mod rbac;
mod webhooks;

pub(crate) use self::{
    certificates::certificates, crds::crds, manager::manager, namespace::namespace, rbac::rbac,
    webhooks::webhooks,
};
