//! What to do with a Metal3Cluster.

use capm3_api::{
    metadata::MetadataExt,
    v1beta2::{Initialization, Metal3Cluster},
    vocabulary::{annotation, condition, finalizer, reason},
};
use capm3_engine::{End, Plan};

use super::Snapshot;
use crate::{
    conditions::{self, Severity, Stamp},
    finalizers::{add_finalizer, remove_finalizer},
    patience::still_patient,
};

/// Decides; `now` is written where something changes.
pub fn decide(snapshot: &Snapshot, now: &str) -> Plan {
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
    plan.ending(end)
}

fn judge(snapshot: &Snapshot, new: &mut Metal3Cluster, now: &str) -> End {
    if new.metadata.annotation(annotation::MANAGED_BY).is_some() {
        return End::Done;
    }
    let is_deleting = new.metadata.is_deleting();
    if !is_deleting {
        new.status.failure_domains.clone_from(&new.spec.failure_domains);
        let Some(owner) = &snapshot.owner else {
            return End::WaitFor("an owner reference to a Cluster".to_owned());
        };
        if snapshot.cluster.is_none() {
            return without_owner(new, owner, now);
        }
    }
    let causes = pause_causes(new, snapshot.cluster.as_ref().is_some_and(|cluster| cluster.is_paused()));
    let stamp = Stamp { now, generation: new.metadata.generation };
    if !causes.is_empty() {
        conditions::set(
            &mut new.status.conditions,
            stamp,
            condition::PAUSED,
            true,
            reason::PAUSED,
            causes.join(", "),
        );
        return End::WaitFor("the end of the pause".to_owned());
    }
    if is_deleting {
        return delete(snapshot, new, now);
    }
    conditions::set(&mut new.status.conditions, stamp, condition::PAUSED, false, reason::NOT_PAUSED, "");
    add_finalizer(&mut new.metadata, finalizer::CLUSTER);
    let end = judge_endpoint(new, stamp);
    summarise(new, stamp);
    end
}

/// The Cluster that the owner reference names is not there. It may come in a moment: only a wait that lasts is said.
fn without_owner(new: &mut Metal3Cluster, owner: &str, now: &str) -> End {
    if let Some(rest) = still_patient(&new.metadata, new.status.last_updated.as_deref(), now) {
        return End::After(rest);
    }
    let stamp = Stamp { now, generation: new.metadata.generation };
    let message = format!("Cluster {owner}, which the owner reference names, is not there");
    let (type_, status) = (condition::INFRASTRUCTURE_READY, &mut new.status);
    conditions::set_legacy_false(
        conditions::legacy(&mut status.deprecated),
        now,
        type_,
        Severity::Error,
        reason::LEGACY_INTERNAL_FAILURE,
        message.clone(),
    );
    conditions::set(&mut status.conditions, stamp, type_, false, reason::OWNER_CLUSTER_NOT_FOUND, message);
    set_failure(new, Some("Unable to get owner cluster"));
    summarise(new, stamp);
    End::WaitFor(format!("Cluster {owner}"))
}

fn pause_causes(object: &Metal3Cluster, cluster_paused: bool) -> Vec<&'static str> {
    let mut causes = Vec::new();
    if cluster_paused {
        causes.push("Cluster spec.paused is set to true");
    }
    if object.metadata.annotation(annotation::PAUSED).is_some() {
        causes.push("Metal3Cluster has the cluster.x-k8s.io/paused annotation");
    }
    causes
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
    let message =
        format!("Invalid Metal3Cluster provided: missing fields from Spec: [{}]", missing.join(" "));
    conditions::set_legacy_false(
        conditions::legacy(&mut status.deprecated),
        stamp.now,
        type_,
        Severity::Error,
        reason::INVALID_CONFIGURATION,
        message.clone(),
    );
    conditions::set(&mut status.conditions, stamp, type_, false, reason::INVALID_CONFIGURATION, message);
    set_failure(new, Some("Invalid Metal3Cluster provided"));
    End::WaitFor("a complete spec.controlPlaneEndpoint".to_owned())
}

/// What v1beta1 readers take for a failure; it goes when the cause is gone.
fn set_failure(new: &mut Metal3Cluster, message: Option<&str>) {
    if let Some(v1beta1) = new.status.deprecated.as_mut().and_then(|d| d.v1beta1.as_mut()) {
        v1beta1.failure_reason = message.map(|_| reason::INVALID_CONFIGURATION.to_owned());
        v1beta1.failure_message = message.map(str::to_owned);
    }
}

/// Keeps the object until no Machine needs it.
fn delete(snapshot: &Snapshot, new: &mut Metal3Cluster, now: &str) -> End {
    if snapshot.machines == 0 && !snapshot.is_proven_empty {
        return End::WaitFor("proof that the Cluster has no Machines".to_owned());
    }
    if snapshot.machines == 0 {
        remove_finalizer(&mut new.metadata, finalizer::CLUSTER);
        return End::Done;
    }
    let stamp = Stamp { now, generation: new.metadata.generation };
    // The count is left out of the message: it would cost a write for each Machine that goes.
    let message = "waiting for the Machines of the Cluster to be gone";
    let (type_, why, status) = (condition::READY, reason::DELETING, &mut new.status);
    let legacy = conditions::legacy(&mut status.deprecated);
    conditions::set_legacy_false(legacy, now, type_, Severity::Info, why, message);
    conditions::set(&mut status.conditions, stamp, type_, false, why, message);
    conditions::set(&mut status.conditions, stamp, condition::PAUSED, false, reason::NOT_PAUSED, "");
    End::WaitFor(format!("{} Machines to be gone", snapshot.machines))
}

fn summarise(new: &mut Metal3Cluster, stamp: Stamp<'_>) {
    let parts = [condition::INFRASTRUCTURE_READY];
    conditions::summarise(&mut new.status.conditions, stamp, &parts);
    conditions::summarise_legacy(conditions::legacy(&mut new.status.deprecated), stamp.now, &parts);
}

#[cfg(test)]
#[path = "decide_tests.rs"]
mod tests;
