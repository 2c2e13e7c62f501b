//! MachineHealthCheck: marks unhealthy Machines, and has each of them brought back by a remediation or replaced by its owner.
//!
//! `targets` finds the Machines and their Nodes, `judge` says how one is, `limit` whether anything may be done, `decide` what
//! is done. Woken by itself, its template, its Cluster's flags, and by Machines, Nodes and remediations of its cluster. What turns
//! unhealthy by the passing of time alone is looked at again at that very moment.

mod decide;
mod judge;
mod limit;
mod targets;

use std::sync::Arc;

use capm3_engine::{Controller, ObjectKey, Outcome, Plan, Reader};
use jiff::Timestamp;

use self::{
    decide::decide,
    targets::{Target, targets},
};
use crate::{
    context::{self, Context},
    kinds::{Cluster, MachineHealthCheck, Metal3RemediationTemplate},
    metadata::beside,
    workloads::Workload,
};

pub(super) fn controller(context: &Arc<Context>) -> Controller {
    context::controller("health checks", &context.queues.health_checks, context, reconcile)
}

async fn reconcile(context: Arc<Context>, key: ObjectKey) -> Outcome {
    // Each pass finds again when the next one is due; a Machine that is healthy by now needs none.
    context.queues.health_checks.drop_later(&key);
    let Some(check) = context.caches.get::<MachineHealthCheck>(&key) else {
        return Outcome::Settled;
    };
    let workload = context.workloads.get(&beside(&*check, &check.spec.cluster_name));
    if let Some(workload) = &workload {
        workload.caches.synced().await;
    }
    let observed = || observe(&*context.caches, workload.as_deref(), &key, context.clock.now());
    context.drive(|| observed().map_or_else(Plan::done, |s| decide(&s))).await
}

/// A health check and the Machines that it looks at.
struct Snapshot {
    check: Arc<MachineHealthCheck>,
    cluster: Option<Arc<Cluster>>,
    /// By name.
    targets: Vec<Target>,
    template: Option<Arc<Metal3RemediationTemplate>>,
    now: Timestamp,
}

fn observe(
    reader: &impl Reader,
    workload: Option<&Workload>,
    key: &ObjectKey,
    now: Timestamp,
) -> Option<Snapshot> {
    let check = reader.get::<MachineHealthCheck>(key)?;
    let cluster: Option<Arc<Cluster>> = reader.get(&beside(&*check, &check.spec.cluster_name));
    // Who cannot reach a cluster cannot say that a Node of it is gone.
    let workload = workload.filter(|_| cluster.as_ref().is_some_and(|c| c.control_plane_is_initialized()));
    Some(Snapshot {
        targets: targets(reader, &check, |name| Some(workload?.nodes.get(&ObjectKey::new("", name)))),
        template: check.template_name().and_then(|name| reader.get(&beside(&*check, name))),
        check,
        cluster,
        now,
    })
}

#[cfg(test)]
mod tests;
