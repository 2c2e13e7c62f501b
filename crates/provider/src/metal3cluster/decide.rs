//! What to do with a Metal3Cluster.

use crate::plan::{End, Plan};
use capm3_api::{
    metadata::MetadataExt,
    v1beta2::{Initialization, Metal3Cluster},
    vocabulary::{annotation, condition, event, finalizer, reason},
};

use capm3_domain::wait::{Pause, Wait};

use capm3_engine::EventNote;

use super::{ClusterSnapshot, label_sync};
use crate::{
    conditions::{self, Stamp},
    finalizers::{add_finalizer, remove_finalizer},
    wait_throttle::is_throttled,
};

/// Decides; `now` is written where something changes.
pub fn decide(snapshot: &ClusterSnapshot, now: &str) -> Plan {
    let old = snapshot.metal3_cluster.as_ref();
    let mut new = old.clone();
    let end = judge(snapshot, &mut new, now);
    let content_changed = {
        let mut before = old.status.clone();
        before.last_updated.clone_from(&new.status.last_updated);
        before != new.status
    };
    if content_changed {
        new.status.last_updated = Some(now.to_owned());
    }
    let mut plan = Plan::done();
    plan.update(old, &new);
    if let Some(problem) = label_sync::new_problem(old, &new) {
        plan.event(EventNote::warning(old, event::LABEL_SYNC_INVALID, problem));
    }
    plan.ending(end)
}

fn judge(snapshot: &ClusterSnapshot, new: &mut Metal3Cluster, now: &str) -> End {
    if new.metadata.annotation(annotation::MANAGED_BY).is_some() {
        return End::Done;
    }
    let is_deleting = new.metadata.is_deleting();
    if !is_deleting {
        new.status.failure_domains.clone_from(&new.spec.failure_domains);
        let Some(owner) = &snapshot.owner else {
            return End::WaitFor(Wait::OwnerClusterReference);
        };
        if snapshot.cluster.is_none() {
            return without_owner(new, owner, now);
        }
    }
    let is_annotated = new.metadata.annotation(annotation::PAUSED).is_some();
    let is_cluster_paused = snapshot.cluster.as_ref().is_some_and(|cluster| cluster.is_paused());
    let stamp = Stamp { now, generation: new.metadata.generation };
    if let Some(pause) = Pause::of("Metal3Cluster", is_annotated, is_cluster_paused) {
        let message = pause.to_string();
        conditions::set(&mut new.status.conditions, stamp, condition::PAUSED, true, reason::PAUSED, message);
        return End::WaitFor(Wait::Paused(pause));
    }
    if is_deleting {
        return delete(snapshot, new, now);
    }
    conditions::set(&mut new.status.conditions, stamp, condition::PAUSED, false, reason::NOT_PAUSED, "");
    add_finalizer(&mut new.metadata, finalizer::CLUSTER);
    let end = judge_endpoint(new, stamp);
    label_sync::judge(new, stamp);
    summarise(new, stamp);
    end
}

/// The Cluster that the owner reference names is not there. It may come in a moment: only a wait that lasts is reported.
fn without_owner(new: &mut Metal3Cluster, owner: &str, now: &str) -> End {
    if let Some(rest) = is_throttled(&new.metadata, new.status.last_updated.as_deref(), now) {
        return End::After(rest);
    }
    let stamp = Stamp { now, generation: new.metadata.generation };
    let wait = Wait::OwnerCluster(owner.to_owned());
    show(new, stamp, &wait);
    set_failure(new, Some("Unable to get owner cluster"));
    summarise(new, stamp);
    End::WaitFor(wait)
}

/// Shows a wait in the conditions that the table of waits names for it.
pub(super) fn show(new: &mut Metal3Cluster, stamp: Stamp<'_>, wait: &Wait) {
    let (Some(shown), status) = (wait.facts().shown, &mut new.status) else { return };
    let message = wait.message().to_string();
    if let Some((type_, reason, severity)) = shown.legacy {
        let legacy = conditions::legacy(&mut status.deprecated);
        conditions::set_legacy_false(legacy, stamp.now, type_, severity, reason, message.clone());
    }
    conditions::set(&mut status.conditions, stamp, shown.condition, false, shown.reason, message);
}

fn judge_endpoint(new: &mut Metal3Cluster, stamp: Stamp<'_>) -> End {
    let endpoint = new.spec.control_plane_endpoint.as_ref();
    let mut missing = Vec::new();
    if endpoint.and_then(|e| e.host.as_deref()).unwrap_or_default().is_empty() {
        missing.push("ControlPlaneEndpoint.Host");
    }
    if endpoint.and_then(|e| e.port).unwrap_or_default() == 0 {
        missing.push("ControlPlaneEndpoint.Port");
    }
    let type_ = condition::INFRASTRUCTURE_READY;
    let status = &mut new.status;
    if missing.is_empty() {
        status.initialization = Some(Initialization { provisioned: Some(true) });
        conditions::set(&mut status.conditions, stamp, type_, true, reason::READY, "");
        conditions::set_legacy_true(conditions::legacy(&mut status.deprecated), stamp.now, type_);
        set_failure(new, None);
        return End::Done;
    }
    let wait = Wait::Endpoint(missing);
    show(new, stamp, &wait);
    set_failure(new, Some("Invalid Metal3Cluster provided"));
    End::WaitFor(wait)
}

/// What v1beta1 readers take for a failure; it goes when the cause is gone.
fn set_failure(new: &mut Metal3Cluster, message: Option<&str>) {
    if let Some(v1beta1) = new.status.deprecated.as_mut().and_then(|d| d.v1beta1.as_mut()) {
        v1beta1.failure_reason = message.map(|_| reason::INVALID_CONFIGURATION.to_owned());
        v1beta1.failure_message = message.map(str::to_owned);
    }
}

/// Keeps the object until no Machine needs it.
fn delete(snapshot: &ClusterSnapshot, new: &mut Metal3Cluster, now: &str) -> End {
    if snapshot.machines == 0 && !snapshot.is_proven_empty {
        return End::WaitFor(Wait::not_asked("every Machine of the Cluster"));
    }
    if snapshot.machines == 0 {
        remove_finalizer(&mut new.metadata, finalizer::CLUSTER);
        return End::Done;
    }
    let stamp = Stamp { now, generation: new.metadata.generation };
    let wait = Wait::MachinesOfCluster(snapshot.machines);
    show(new, stamp, &wait);
    conditions::set(&mut new.status.conditions, stamp, condition::PAUSED, false, reason::NOT_PAUSED, "");
    End::WaitFor(wait)
}

fn summarise(new: &mut Metal3Cluster, stamp: Stamp<'_>) {
    let parts = [condition::INFRASTRUCTURE_READY];
    conditions::summarise(&mut new.status.conditions, stamp, &parts);
    conditions::summarise_legacy(conditions::legacy(&mut new.status.deprecated), stamp.now, &parts);
}

#[cfg(test)]
#[path = "decide_tests.rs"]
mod tests;
