//! Cluster API as far as the provider meets it: Cluster, kubeadm control plane, MachineDeployment, MachineSet,
//! Machine, MachineHealthCheck and kubeadm bootstrap.
//!
//! One module per controller. Each reads a snapshot from the caches and decides purely; what belongs together is
//! written by one controller only.

pub(crate) mod bootstrap;
pub(crate) mod cluster;
pub(crate) mod control_plane;
pub(crate) mod deployment;
mod freshness;
mod health_check;
mod kubeconfig;
pub(crate) mod machine;
mod make;
pub(crate) mod set;

use std::sync::Arc;

use capm3_api::{metadata::MetadataExt, vocabulary::annotation};
use capm3_engine::{Controller, End, Object, Plan};
use kube::core::ObjectMeta;

use crate::{context::Context, kinds::Cluster, metadata::remove_finalizer};

pub(crate) use kubeconfig::KUBECONFIG_SUFFIX;

/// Label with the name of the control plane of a Machine.
const CONTROL_PLANE_NAME: &str = "cluster.x-k8s.io/control-plane-name";
/// Label with the name of the MachineSet of a Machine.
const SET_NAME: &str = "cluster.x-k8s.io/set-name";
/// Label with the name of the MachineDeployment of a Machine.
const DEPLOYMENT_NAME: &str = "cluster.x-k8s.io/deployment-name";
/// Label that distinguishes the templates of a MachineDeployment.
const TEMPLATE_HASH: &str = "machine-template-hash";
/// Annotation with which a user says which Machine goes first.
const DELETE_FIRST: &str = "cluster.x-k8s.io/delete-machine";
/// Prefix of annotations that hold a Machine back before its node is drained.
const PRE_DRAIN: &str = "pre-drain.delete.hook.machine.cluster.x-k8s.io";
/// Prefix of annotations that hold a Machine back before its infrastructure goes.
const PRE_TERMINATE: &str = "pre-terminate.delete.hook.machine.cluster.x-k8s.io";
/// The one that the control plane sets and takes off itself.
const PRE_TERMINATE_CONTROL_PLANE: &str = "pre-terminate.delete.hook.machine.cluster.x-k8s.io/kcp-cleanup";
/// Reason of the condition `Deleting` when a hook holds a Machine back.
const WAITING_FOR_PRE_TERMINATE: &str = "WaitingForPreTerminateHook";

/// Every controller of Cluster API.
pub(crate) fn controllers(context: &Arc<Context>) -> Vec<Controller> {
    vec![
        cluster::controller(context),
        control_plane::controller(context),
        deployment::controller(context),
        set::controller(context),
        machine::controller(context),
        health_check::controller(context),
        bootstrap::controller(context),
    ]
}

/// Deletes the children of an owner that is being deleted. An owner without children loses its finalizer.
fn delete_children<O: Object, C: Object>(
    owner: &O,
    finalizer: &str,
    children: &[Arc<C>],
    wait: &'static str,
) -> Plan {
    let mut plan = Plan::done();
    if children.is_empty() {
        let mut new = owner.clone();
        remove_finalizer(new.meta_mut(), finalizer);
        plan.update(owner, &new);
        return plan;
    }
    for child in children.iter().filter(|child| !child.meta().is_deleting()) {
        plan.delete(&**child);
    }
    plan.ending(End::WaitFor(wait.into()))
}

/// Whether an object or its whole cluster is to be left alone.
fn is_paused(meta: &ObjectMeta, cluster: Option<&Cluster>) -> bool {
    meta.annotation(annotation::PAUSED).is_some() || cluster.is_some_and(Cluster::is_paused)
}

/// A count as the API has it.
fn count(number: usize) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}
