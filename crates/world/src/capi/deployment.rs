//! MachineDeployment: one MachineSet per template, and the way from the old ones to the new one.

use std::sync::Arc;

use capm3_api::{metadata::MetadataExt, vocabulary::label};
use capm3_engine::{Controller, ObjectKey, Outcome, Plan, Reader, ResourceKind, rng::Rng};
use serde_json::{Value, json};

use super::{DEPLOYMENT_NAME, TEMPLATE_HASH, delete_children, freshness, is_paused, make};
use crate::{
    context::{self, Context},
    indexes::SETS_BY_OWNER,
    kinds::{Cluster, MachineDeployment, MachineSet, ReplicaStatus, RollingUpdate},
    metadata::{Saying, add_finalizer, add_label, add_owner, beside, owner_reference, say},
    pace::digest,
};

const FINALIZER: &str = "cluster.x-k8s.io/machinedeployment";
const REVISION: &str = "machinedeployment.clusters.x-k8s.io/revision";

pub(super) fn controller(context: &Arc<Context>) -> Controller {
    context::controller("machine deployments", &context.queues.deployments, context, reconcile)
}

async fn reconcile(context: Arc<Context>, key: ObjectKey) -> Outcome {
    context.reconcile(|caches, now| observe(caches, &key, now), decide).await
}

pub(crate) struct Snapshot {
    deployment: Arc<MachineDeployment>,
    cluster: Option<Arc<Cluster>>,
    /// Oldest first.
    sets: Vec<Arc<MachineSet>>,
    now: String,
}

pub(crate) fn observe(reader: &impl Reader, key: &ObjectKey, now: &str) -> Option<Snapshot> {
    let deployment = reader.get::<MachineDeployment>(key)?;
    let mut sets = reader.by_index(&SETS_BY_OWNER, deployment.metadata.uid_str());
    sets.sort_by_key(|set| revision(set));
    let cluster = reader.get(&beside(&*deployment, &deployment.spec.cluster_name));
    Some(Snapshot { deployment, cluster, sets, now: now.to_owned() })
}

fn revision(set: &MachineSet) -> u64 {
    set.metadata.annotation(REVISION).and_then(|text| text.parse().ok()).unwrap_or(0)
}

pub(crate) fn decide(s: &Snapshot, rng: &Rng) -> Plan {
    let old = &s.deployment;
    if is_paused(&old.metadata, s.cluster.as_deref()) {
        return Plan::wait_for("the pause to end");
    }
    if old.metadata.is_deleting() {
        return delete_children(&**old, FINALIZER, &s.sets, "the MachineSets to go");
    }
    let Some(cluster) = &s.cluster else {
        return Plan::wait_for("its Cluster");
    };
    let mut plan = Plan::done();
    let current =
        s.sets.iter().find(|set| freshness::of_set(old, set).is_current && !set.metadata.is_deleting());
    let mut new = MachineDeployment::clone(old);
    add_finalizer(&mut new.metadata, FINALIZER);
    add_owner(&mut new.metadata, owner_reference(&**cluster, false));
    add_label(&mut new.metadata, label::CLUSTER_NAME, &old.spec.cluster_name);
    new.status = Some(status(s, current.map(|set| &**set)));
    plan.update(&**old, &new);
    match current {
        Some(current) => resize(&mut plan, s, current),
        None => create(&mut plan, s, rng),
    }
    plan
}

fn create(plan: &mut Plan, s: &Snapshot, rng: &Rng) {
    let deployment = &s.deployment;
    let name = make::name(deployment.metadata.name_str(), rng);
    let newest = s.sets.last().map_or(0, |set| revision(set));
    let text = serde_json::to_string(&deployment.spec.template.spec).unwrap_or_default();
    let hash = format!("{}-{}", digest(&text) % 10_000_000_000, rng.suffix());
    let mut template = deployment.spec.template.clone();
    let labels = [
        (label::CLUSTER_NAME, deployment.spec.cluster_name.as_str()),
        (DEPLOYMENT_NAME, deployment.metadata.name_str()),
        (TEMPLATE_HASH, &hash),
    ];
    for (key, value) in labels {
        template.metadata.labels.insert(key.to_owned(), value.to_owned());
    }
    let total = s.sets.iter().map(|set| size(set)).sum();
    let replicas = grown(deployment, 0, total);
    let key = beside(&**deployment, &name);
    let object = json!({
        "metadata": {"name": key.name, "namespace": key.namespace, "labels": template.metadata.labels,
            "annotations": {REVISION: (newest + 1).to_string()}, "ownerReferences": [owner_reference(&**deployment, true)]},
        "spec": {"clusterName": deployment.spec.cluster_name, "replicas": replicas,
            "deletion": deployment.spec.deletion.clone().filter(|d| d.order.is_some()),
            "selector": {"matchLabels": {DEPLOYMENT_NAME: deployment.metadata.name_str(), TEMPLATE_HASH: hash}},
            "template": template},
    });
    plan.create_value(ResourceKind::of::<MachineSet>(), key, without_nulls(object));
}

fn without_nulls(mut object: Value) -> Value {
    if let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) {
        spec.retain(|_, value| !value.is_null());
    }
    object
}

/// Machines of a set that are there or on their way.
fn size(set: &MachineSet) -> i32 {
    set.wanted().max(set.reported().replicas.unwrap_or(0))
}

/// How large the current set may be, given how many machines there are in all.
fn grown(deployment: &MachineDeployment, now: i32, total: i32) -> i32 {
    let wanted = deployment.wanted();
    if now >= wanted {
        return wanted;
    }
    let room = (wanted + limits(deployment).0 - total).max(0);
    (now + room).min(wanted)
}

/// Surge and unavailability in machines: percentages of the surge round up, of unavailability down.
fn limits(deployment: &MachineDeployment) -> (i32, i32) {
    let strategy = deployment.spec.rollout.as_ref().and_then(|r| r.strategy.as_ref());
    let update = strategy.and_then(|s| s.rolling_update.clone()).unwrap_or_default();
    let RollingUpdate { max_surge, max_unavailable } = update;
    let wanted = f64::from(deployment.wanted());
    let number = |value: Option<Value>, default: i32, round: fn(f64) -> f64| match value {
        Some(Value::String(text)) => match text.strip_suffix('%').and_then(|p| p.parse::<f64>().ok()) {
            #[expect(clippy::cast_possible_truncation, reason = "a share of a count of machines is small")]
            Some(percent) => round(wanted * percent / 100.0) as i32,
            None => text.parse().unwrap_or(default),
        },
        Some(value) => value.as_i64().and_then(|n| i32::try_from(n).ok()).unwrap_or(default),
        None => default,
    };
    let (surge, unavailable) = (number(max_surge, 1, f64::ceil), number(max_unavailable, 0, f64::floor));
    // Both zero would never move.
    if surge == 0 && unavailable == 0 { (0, 1) } else { (surge, unavailable) }
}

/// Grows the current set and shrinks the old ones as far as the limits allow.
fn resize(plan: &mut Plan, s: &Snapshot, current: &MachineSet) {
    let deployment = &s.deployment;
    let others: Vec<&Arc<MachineSet>> =
        s.sets.iter().filter(|set| set.metadata.uid != current.metadata.uid).collect();
    let active: i32 = others.iter().map(|set| size(set)).sum();
    let frozen = deployment.spec.paused.unwrap_or(false);
    let target = match active {
        0 => deployment.wanted(),
        _ if frozen => current.wanted(),
        _ => grown(deployment, current.wanted(), active + size(current)),
    };
    set_replicas(plan, current, target, Some(deployment));
    if frozen || is_on_delete(deployment) {
        return;
    }
    let total = current.wanted() + others.iter().map(|set| set.wanted()).sum::<i32>();
    let missing = (current.wanted() - current.reported().available_replicas.unwrap_or(0)).max(0);
    let mut spare = (total - missing - (deployment.wanted() - limits(deployment).1)).max(0);
    for set in &others {
        let less = spare.min(set.wanted());
        spare -= less;
        set_replicas(plan, set, set.wanted() - less, None);
        if size(set) == 0 && missing == 0 && !set.metadata.is_deleting() {
            plan.delete(&***set);
        }
    }
}

fn is_on_delete(deployment: &MachineDeployment) -> bool {
    let strategy = deployment.spec.rollout.as_ref().and_then(|r| r.strategy.as_ref());
    strategy.and_then(|s| s.type_.as_deref()) == Some("OnDelete")
}

/// Sets the size of a set; the current one also follows what changes without new machines.
fn set_replicas(plan: &mut Plan, set: &MachineSet, replicas: i32, follow: Option<&MachineDeployment>) {
    let mut new = set.clone();
    new.spec.replicas = Some(replicas);
    if let Some(deployment) = follow {
        new.spec.template.spec.rest.clone_from(&deployment.spec.template.spec.rest);
        new.spec.deletion.clone_from(&deployment.spec.deletion);
    }
    plan.update(set, &new);
}

fn status(s: &Snapshot, current: Option<&MachineSet>) -> ReplicaStatus {
    let deployment = &s.deployment;
    let generation = deployment.metadata.generation;
    let sum = |of: fn(&ReplicaStatus) -> Option<i32>| {
        Some(s.sets.iter().map(|set| of(&set.reported()).unwrap_or(0)).sum::<i32>())
    };
    let mut status = deployment.status.clone().unwrap_or_default();
    status.selector = Some(format!("{DEPLOYMENT_NAME}={}", deployment.metadata.name_str()));
    status.replicas = sum(|c| c.replicas);
    status.ready_replicas = sum(|c| c.ready_replicas);
    status.available_replicas = sum(|c| c.available_replicas);
    status.up_to_date_replicas = Some(current.and_then(|set| set.reported().replicas).unwrap_or(0));
    let (there, wanted) = (status.replicas.unwrap_or(0), deployment.wanted());
    let phase = match there.cmp(&wanted) {
        std::cmp::Ordering::Less => "ScalingUp",
        std::cmp::Ordering::Greater => "ScalingDown",
        std::cmp::Ordering::Equal => "Running",
    };
    status.phase = Some(phase.to_owned());
    status.observed_generation = generation;
    let enough = status.available_replicas.unwrap_or(0) >= wanted - limits(deployment).1;
    let saying = Saying::of("Available", enough, "Available", "NotAvailable");
    say(&mut status.conditions, saying, &s.now, generation);
    status
}

#[cfg(test)]
#[path = "deployment_tests.rs"]
mod tests;
