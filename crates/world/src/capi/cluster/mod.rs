//! Cluster: owns the infrastructure and the control plane, mirrors what they report, and takes everything down in
//! order.
//!
//! `mirror` is what a Cluster reports, `deletion` the way out. Woken by itself, its infrastructure, its control plane,
//! its deployments, and by machines that are gone.

mod deletion;
mod mirror;

use std::sync::Arc;

use capm3_api::{metadata::MetadataExt, v1beta2::Metal3Cluster, vocabulary::label};
use capm3_engine::{Controller, ObjectKey, Outcome, Plan, Reader, drive};

use super::is_paused;
use crate::{
    context::{self, Context},
    indexes::{DEPLOYMENTS_BY_CLUSTER, MACHINES_BY_CLUSTER, SETS_BY_CLUSTER},
    kinds::{Cluster, KubeadmControlPlane, Machine, MachineDeployment, MachineSet},
    metadata::{Saying, add_finalizer, add_label, add_owner, beside, owner_reference, path, say},
    wake,
};

const FINALIZER: &str = "cluster.cluster.x-k8s.io";

pub(super) fn controller(context: &Arc<Context>) -> Controller {
    context::controller("clusters", &context.queues.clusters, context, reconcile)
}

async fn reconcile(context: Arc<Context>, key: ObjectKey) -> Outcome {
    match context.caches.get::<Cluster>(&key) {
        Some(cluster) => {
            let uid = cluster.metadata.uid_str();
            if !context.workloads.is_of(&key, uid) {
                // Another Cluster of that name was here before.
                bury(&context, &key).await;
            }
            let on_node = wake::on_node(&context.caches, &context.queues, &key);
            context.workloads.ensure(&key, uid, on_node);
        }
        None => return bury(&context, &key).await,
    }
    context.reconcile(|caches, now| observe(caches, &key, now), |snapshot, _| decide(snapshot)).await
}

/// The API of a cluster lives on its machines: when they are gone, so is everything in it.
async fn bury(context: &Context, key: &ObjectKey) -> Outcome {
    let Some(workload) = context.workloads.get(key) else {
        return Outcome::Settled;
    };
    workload.caches.synced().await;
    let nodes = || {
        let mut plan = Plan::done();
        workload.nodes.all().iter().for_each(|node| deletion::remove(&mut plan, &**node));
        plan
    };
    let outcome = drive(&workload.executor, nodes).await;
    if matches!(outcome, Outcome::Settled) {
        context.workloads.forget(key);
    }
    outcome
}

/// A Cluster and what belongs to it.
pub(crate) struct Snapshot {
    cluster: Arc<Cluster>,
    infrastructure: Option<Arc<Metal3Cluster>>,
    control_plane: Option<Arc<KubeadmControlPlane>>,
    deployments: Vec<Arc<MachineDeployment>>,
    sets: Vec<Arc<MachineSet>>,
    /// Looked at when the Cluster goes, and only then.
    machines: Vec<Arc<Machine>>,
    now: String,
}

pub(crate) fn observe(reader: &impl Reader, key: &ObjectKey, now: &str) -> Option<Snapshot> {
    let cluster = reader.get::<Cluster>(key)?;
    let name = |reference: &Option<capm3_api::neighbours::ContractRef>| {
        reference.as_ref().and_then(|r| r.name.as_deref()).map(|name| beside(&*cluster, name))
    };
    let value = path(&key.namespace, &key.name);
    Some(Snapshot {
        infrastructure: name(&cluster.spec.infrastructure_ref).and_then(|key| reader.get(&key)),
        control_plane: name(&cluster.spec.control_plane_ref).and_then(|key| reader.get(&key)),
        deployments: reader.by_index(&DEPLOYMENTS_BY_CLUSTER, &value),
        sets: reader.by_index(&SETS_BY_CLUSTER, &value),
        machines: match cluster.metadata.is_deleting() {
            true => reader.by_index(&MACHINES_BY_CLUSTER, &value),
            false => Vec::new(),
        },
        now: now.to_owned(),
        cluster,
    })
}

pub(crate) fn decide(s: &Snapshot) -> Plan {
    let cluster = &s.cluster;
    if is_paused(&cluster.metadata, Some(cluster)) {
        return paused(s);
    }
    if cluster.metadata.is_deleting() {
        return deletion::decide(s);
    }
    let mut plan = Plan::done();
    let mut new = Cluster::clone(cluster);
    add_finalizer(&mut new.metadata, FINALIZER);
    let mut status = cluster.status.clone().unwrap_or_default();
    mirror::infrastructure(s, &mut new, &mut status);
    mirror::report(s, &new, &mut status);
    new.status = Some(status);
    plan.update(&**cluster, &new);
    adopt(&mut plan, s);
    plan
}

fn paused(s: &Snapshot) -> Plan {
    let mut new = Cluster::clone(&s.cluster);
    let status = new.status.get_or_insert_default();
    let saying = Saying::of("Paused", true, "Paused", "NotPaused");
    say(&mut status.conditions, saying, &s.now, s.cluster.metadata.generation);
    let mut plan = Plan::wait_for("the pause to end");
    plan.update(&*s.cluster, &new);
    plan
}

/// The Cluster owns its infrastructure and control plane, without being their controller.
fn adopt(plan: &mut Plan, s: &Snapshot) {
    let owner = owner_reference(&*s.cluster, false);
    let name = s.cluster.metadata.name_str();
    if let Some(old) = s.infrastructure.as_deref().filter(|i| !i.metadata.is_deleting()) {
        let mut new = old.clone();
        add_owner(&mut new.metadata, owner.clone());
        add_label(&mut new.metadata, label::CLUSTER_NAME, name);
        plan.update(old, &new);
    }
    if let Some(old) = s.control_plane.as_deref().filter(|c| !c.metadata.is_deleting()) {
        let mut new = old.clone();
        add_owner(&mut new.metadata, owner);
        add_label(&mut new.metadata, label::CLUSTER_NAME, name);
        plan.update(old, &new);
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
