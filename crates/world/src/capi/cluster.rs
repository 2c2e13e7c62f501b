//! Cluster: owns the infrastructure and the control plane, mirrors what they report, and takes everything down in
//! order.

use std::sync::Arc;

use capm3_api::{
    conditions::find,
    metadata::MetadataExt,
    v1beta2::{Initialization, Metal3Cluster},
    vocabulary::label,
};
use capm3_engine::{Controller, Object, ObjectKey, Outcome, Plan, Reader};

use super::is_paused;
use crate::{
    context::{self, Context},
    indexes::{DEPLOYMENTS_BY_CLUSTER, MACHINES_BY_CLUSTER, SETS_BY_CLUSTER},
    kinds::{
        Cluster, ClusterStatus, KubeadmControlPlane, Machine, MachineDeployment, MachineSet, Replicas,
        is_complete,
    },
    metadata::{
        Saying, add_finalizer, add_label, add_owner, beside, controller_of, owner_reference, path,
        remove_finalizer, say, say_legacy,
    },
    wake,
};

const FINALIZER: &str = "cluster.cluster.x-k8s.io";

pub(super) fn controller(context: &Arc<Context>) -> Controller {
    context::controller("clusters", &context.queues.clusters, context, reconcile)
}

async fn reconcile(context: Arc<Context>, key: ObjectKey) -> Outcome {
    match context.caches.get::<Cluster>(&key) {
        Some(cluster) => {
            let on_node = wake::on_node(&context.caches, &context.queues);
            context
                .workloads
                .ensure(&key, cluster.metadata.uid_str(), on_node);
        }
        None => context.workloads.forget(&key),
    }
    let now = context.clock.now_text();
    context
        .drive(|| observe(&*context.caches, &key, &now).map_or_else(Plan::done, |s| decide(&s)))
        .await
}

/// A Cluster and what belongs to it.
struct Snapshot {
    cluster: Arc<Cluster>,
    infrastructure: Option<Arc<Metal3Cluster>>,
    control_plane: Option<Arc<KubeadmControlPlane>>,
    deployments: Vec<Arc<MachineDeployment>>,
    sets: Vec<Arc<MachineSet>>,
    machines: Vec<Arc<Machine>>,
    now: String,
}

fn observe(reader: &impl Reader, key: &ObjectKey, now: &str) -> Option<Snapshot> {
    let cluster = reader.get::<Cluster>(key)?;
    let name = |reference: &Option<capm3_api::neighbours::ContractRef>| {
        reference
            .as_ref()
            .and_then(|r| r.name.as_deref())
            .map(|name| beside(&*cluster, name))
    };
    let value = path(&key.namespace, &key.name);
    Some(Snapshot {
        infrastructure: name(&cluster.spec.infrastructure_ref).and_then(|key| reader.get(&key)),
        control_plane: name(&cluster.spec.control_plane_ref).and_then(|key| reader.get(&key)),
        deployments: reader.by_index(&DEPLOYMENTS_BY_CLUSTER, &value),
        sets: reader.by_index(&SETS_BY_CLUSTER, &value),
        machines: reader.by_index(&MACHINES_BY_CLUSTER, &value),
        now: now.to_owned(),
        cluster,
    })
}

fn decide(s: &Snapshot) -> Plan {
    let cluster = &s.cluster;
    if is_paused(&cluster.metadata, Some(cluster)) {
        return paused(s);
    }
    if cluster.metadata.is_deleting() {
        return delete(s);
    }
    let mut plan = Plan::done();
    let mut new = Cluster::clone(cluster);
    add_finalizer(&mut new.metadata, FINALIZER);
    let mut status = cluster.status.clone().unwrap_or_default();
    mirror_infrastructure(s, &mut new, &mut status);
    report(s, &new, &mut status);
    new.status = Some(status);
    plan.update(&**cluster, &new);
    adopt(&mut plan, s);
    plan
}

fn paused(s: &Snapshot) -> Plan {
    let mut new = Cluster::clone(&s.cluster);
    let status = new.status.get_or_insert_default();
    let saying = Saying::of("Paused", true, "Paused", "NotPaused");
    say(
        &mut status.conditions,
        saying,
        &s.now,
        s.cluster.metadata.generation,
    );
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

fn mirror_infrastructure(s: &Snapshot, new: &mut Cluster, status: &mut ClusterStatus) {
    let needed = s.cluster.spec.infrastructure_ref.is_some();
    let flag = &mut status.initialization.infrastructure_provisioned;
    let Some(infrastructure) = &s.infrastructure else {
        *flag = Some(flag.unwrap_or(false) || !needed);
        let saying = Saying::of(
            "InfrastructureReady",
            !needed,
            "InfrastructureReady",
            "WaitingForInfrastructure",
        );
        say(
            &mut status.conditions,
            saying,
            &s.now,
            s.cluster.metadata.generation,
        );
        say_legacy(&mut status.deprecated, saying, &s.now);
        return;
    };
    let provisioned = Initialization::is_provisioned(&infrastructure.status.initialization);
    *flag = Some(flag.unwrap_or(false) || provisioned);
    if provisioned {
        let endpoint = infrastructure
            .spec
            .control_plane_endpoint
            .as_ref()
            .filter(|e| is_complete(e));
        if !new.has_endpoint() && endpoint.is_some() {
            new.spec.control_plane_endpoint = endpoint.cloned();
        }
        status
            .failure_domains
            .clone_from(&infrastructure.status.failure_domains);
    }
    let saying = match find(&infrastructure.status.conditions, "Ready") {
        Some(ready) => Saying {
            type_: "InfrastructureReady",
            status: &ready.status,
            reason: if ready.reason.is_empty() {
                "Unknown"
            } else {
                &ready.reason
            },
            message: &ready.message,
        },
        None => Saying::of(
            "InfrastructureReady",
            provisioned,
            "Ready",
            "WaitingForInfrastructure",
        ),
    };
    say(
        &mut status.conditions,
        saying,
        &s.now,
        s.cluster.metadata.generation,
    );
    say_legacy(&mut status.deprecated, saying, &s.now);
}

fn report(s: &Snapshot, new: &Cluster, status: &mut ClusterStatus) {
    let generation = s.cluster.metadata.generation;
    let initialized = s.control_plane.as_ref().is_some_and(|c| c.is_initialized());
    let flag = &mut status.initialization.control_plane_initialized;
    *flag = Some(flag.unwrap_or(false) || initialized);
    let up = *flag == Some(true);
    let provisioned = status.initialization.infrastructure_provisioned == Some(true);
    let phase = match (
        s.cluster.spec.infrastructure_ref.is_some(),
        provisioned && new.has_endpoint(),
    ) {
        (_, true) => "Provisioned",
        (true, false) => "Provisioning",
        (false, false) => "Pending",
    };
    status.phase = Some(phase.to_owned());
    status.observed_generation = generation;
    status.control_plane = s.control_plane.as_deref().map(control_plane_counts);
    status.workers = Some(worker_counts(&s.deployments));
    let initialized = Saying::of("ControlPlaneInitialized", up, "Initialized", "NotInitialized");
    for saying in [
        Saying::of("Available", provisioned && up, "Available", "NotAvailable"),
        initialized,
        Saying::of("Deleting", false, "Deleting", "NotDeleting"),
        Saying::of("Paused", false, "Paused", "NotPaused"),
    ] {
        say(&mut status.conditions, saying, &s.now, generation);
    }
    say_legacy(&mut status.deprecated, initialized, &s.now);
}

fn control_plane_counts(control_plane: &KubeadmControlPlane) -> Replicas {
    let counts = control_plane
        .status
        .as_ref()
        .map(|s| s.counts.clone())
        .unwrap_or_default();
    Replicas {
        desired_replicas: Some(control_plane.wanted()),
        replicas: counts.replicas,
        ready_replicas: counts.ready_replicas,
        available_replicas: counts.available_replicas,
        up_to_date_replicas: counts.up_to_date_replicas,
    }
}

fn worker_counts(deployments: &[Arc<MachineDeployment>]) -> Replicas {
    let mut sum = Replicas::default();
    let add = |to: &mut Option<i32>, more: Option<i32>| *to = Some(to.unwrap_or(0) + more.unwrap_or(0));
    for deployment in deployments {
        let counts = deployment.status.clone().unwrap_or_default();
        add(&mut sum.desired_replicas, Some(deployment.wanted()));
        add(&mut sum.replicas, counts.replicas);
        add(&mut sum.ready_replicas, counts.ready_replicas);
        add(&mut sum.available_replicas, counts.available_replicas);
        add(&mut sum.up_to_date_replicas, counts.up_to_date_replicas);
    }
    sum
}

/// Workers, then the control plane, then the infrastructure, then the Cluster itself.
fn delete(s: &Snapshot) -> Plan {
    let mut plan = Plan::done();
    let mut new = Cluster::clone(&s.cluster);
    let status = new.status.get_or_insert_default();
    status.phase = Some("Deleting".to_owned());
    let saying = Saying::of("Deleting", true, "Deleting", "NotDeleting");
    say(
        &mut status.conditions,
        saying,
        &s.now,
        s.cluster.metadata.generation,
    );
    let alone = |meta: &kube::core::ObjectMeta| controller_of(meta).is_none();
    let leads = |m: &Arc<Machine>| m.metadata.label(label::CONTROL_PLANE).is_some();
    let (leaders, workers): (Vec<_>, Vec<_>) = s.machines.iter().cloned().partition(leads);
    let waiting = if !s.deployments.is_empty() || !s.sets.is_empty() || !workers.is_empty() {
        s.deployments
            .iter()
            .for_each(|object| remove(&mut plan, &**object));
        s.sets
            .iter()
            .filter(|o| alone(&o.metadata))
            .for_each(|object| remove(&mut plan, &**object));
        workers
            .iter()
            .filter(|o| alone(&o.metadata))
            .for_each(|object| remove(&mut plan, &**object));
        Some("the workers to go")
    } else if s.control_plane.is_some() || !leaders.is_empty() {
        s.control_plane
            .iter()
            .for_each(|object| remove(&mut plan, &**object));
        leaders
            .iter()
            .filter(|o| alone(&o.metadata))
            .for_each(|object| remove(&mut plan, &**object));
        Some("the control plane to go")
    } else if let Some(infrastructure) = &s.infrastructure {
        remove(&mut plan, &**infrastructure);
        Some("the infrastructure to go")
    } else {
        None
    };
    let Some(waiting) = waiting else {
        remove_finalizer(&mut new.metadata, FINALIZER);
        new.status.clone_from(&s.cluster.status);
        plan.update(&*s.cluster, &new);
        return plan;
    };
    plan.update(&*s.cluster, &new);
    plan.ending(capm3_engine::End::WaitFor(waiting.to_owned()))
}

fn remove<K: Object>(plan: &mut Plan, object: &K) {
    if object.meta().deletion_timestamp.is_none() {
        plan.delete(object);
    }
}

#[cfg(test)]
#[path = "cluster_tests.rs"]
mod tests;
