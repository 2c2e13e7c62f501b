//! How one Machine is: healthy, unhealthy and why, or unhealthy soon if nothing changes.
//!
//! Takes the target, the checks and the time; gives a verdict. It knows nothing of the other Machines.

use std::time::Duration;

use capm3_api::{
    conditions::{Condition, find, is_true},
    metadata::MetadataExt,
    vocabulary::label,
};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Node;

use super::targets::{Seen, Target};
use crate::kinds::{Checks, Cluster, Machine, UnhealthyCondition};

/// Annotation with which a user has a Machine remediated.
const REMEDIATE_MACHINE: &str = "cluster.x-k8s.io/remediate-machine";
/// How long a Machine may be without a Node unless the check says otherwise.
const NODE_STARTUP_TIMEOUT: i32 = 600;

/// How a Machine is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Verdict {
    Healthy,
    /// Nothing can be judged until something changes.
    Open,
    /// Not healthy and not unhealthy yet; it is so after this time.
    Suspect(Duration),
    Unhealthy {
        reason: &'static str,
        message: String,
    },
}

pub(super) fn judge(target: &Target, checks: &Checks, cluster: &Cluster, now: Timestamp) -> Verdict {
    let machine = &target.machine;
    if machine.metadata.annotation(REMEDIATE_MACHINE).is_some() {
        return unhealthy("HasRemediateAnnotation", format!("annotation {REMEDIATE_MACHINE} asks for it"));
    }
    if let Seen::Gone = target.node {
        let name = machine.node_name().unwrap_or_default();
        return unhealthy("NodeDeleted", format!("its Node {name} is gone"));
    }
    let leads = machine.metadata.label(label::CONTROL_PLANE).is_some();
    let is_up = cluster.control_plane_is_initialized() || leads;
    if !is_up || !cluster.infrastructure_is_provisioned() {
        return Verdict::Open;
    }
    let verdicts = match &target.node {
        // A real kubelet reports when it registers, the simulated one a moment later.
        Seen::There(node) if !has_reported(node) => vec![Verdict::Open],
        Seen::There(node) => {
            checks.unhealthy_node_conditions.iter().map(|it| of_node(node, it, now)).collect()
        }
        _ => vec![of_startup(machine, checks, cluster, now)],
    };
    let of_machine = checks.unhealthy_machine_conditions.iter().map(|it| of_machine(machine, it, now));
    verdicts.into_iter().chain(of_machine).fold(Verdict::Healthy, worse)
}

fn unhealthy(reason: &'static str, what: String) -> Verdict {
    Verdict::Unhealthy { reason, message: format!("the Machine is unhealthy: {what}") }
}

/// The worse of two verdicts: of two suspicions the one that comes true first.
fn worse(one: Verdict, other: Verdict) -> Verdict {
    match (one, other) {
        (found @ Verdict::Unhealthy { .. }, _) | (_, found @ Verdict::Unhealthy { .. }) => found,
        (Verdict::Suspect(one), Verdict::Suspect(other)) => Verdict::Suspect(one.min(other)),
        (found @ Verdict::Suspect(_), _) | (_, found @ Verdict::Suspect(_)) => found,
        (Verdict::Open, _) | (_, Verdict::Open) => Verdict::Open,
        (Verdict::Healthy, Verdict::Healthy) => Verdict::Healthy,
    }
}

/// What is left of a time limit; nothing once it has passed.
fn left(since: Timestamp, seconds: i32, now: Timestamp) -> Option<Duration> {
    let due = since.checked_add(SignedDuration::from_secs(seconds.into())).unwrap_or(Timestamp::MAX);
    Duration::try_from(due.duration_since(now)).ok().filter(|left| !left.is_zero())
}

fn has_reported(node: &Node) -> bool {
    node.status.iter().flat_map(|s| s.conditions.iter().flatten()).next().is_some()
}

fn of_node(node: &Node, check: &UnhealthyCondition, now: Timestamp) -> Verdict {
    let conditions = node.status.iter().flat_map(|s| s.conditions.iter().flatten());
    let mut found = conditions.filter(|c| c.type_ == check.type_ && c.status == check.status);
    let Some(found) = found.next() else { return Verdict::Healthy };
    let since = found.last_transition_time.as_ref().map_or(now, |time| time.0);
    judged(check, since, now, "UnhealthyNode", "Node")
}

fn of_machine(machine: &Machine, check: &UnhealthyCondition, now: Timestamp) -> Verdict {
    let found = find(conditions(machine), &check.type_).filter(|c| c.status == check.status);
    let Some(since) = found.and_then(time) else { return Verdict::Healthy };
    judged(check, since, now, "UnhealthyMachine", "Machine")
}

fn judged(
    check: &UnhealthyCondition,
    since: Timestamp,
    now: Timestamp,
    reason: &'static str,
    of: &str,
) -> Verdict {
    let UnhealthyCondition { type_, status, timeout_seconds } = check;
    match left(since, *timeout_seconds, now) {
        Some(left) => Verdict::Suspect(left),
        None => {
            unhealthy(reason, format!("condition {type_} of the {of} is {status} for {timeout_seconds} s"))
        }
    }
}

/// A Machine without a Node: its time begins when everything that a Node needs is there.
fn of_startup(machine: &Machine, checks: &Checks, cluster: &Cluster, now: Timestamp) -> Verdict {
    let seconds = checks.node_startup_timeout_seconds.unwrap_or(NODE_STARTUP_TIMEOUT);
    if seconds == 0 {
        return Verdict::Open;
    }
    let of_cluster = cluster.status.as_ref().map(|s| s.conditions.as_slice()).unwrap_or_default();
    let began = [
        machine.metadata.creation_timestamp.as_ref().map(|time| time.0),
        holds_since(of_cluster, "ControlPlaneInitialized"),
        holds_since(of_cluster, "InfrastructureReady"),
        holds_since(conditions(machine), "InfrastructureReady"),
    ];
    let since = began.into_iter().flatten().max().unwrap_or(now);
    match left(since, seconds, now) {
        Some(left) => Verdict::Suspect(left),
        None => unhealthy("NodeStartupTimeout", format!("it has no Node after {seconds} s")),
    }
}

fn conditions(machine: &Machine) -> &[Condition] {
    machine.status.as_ref().map(|s| s.conditions.as_slice()).unwrap_or_default()
}

fn time(condition: &Condition) -> Option<Timestamp> {
    condition.last_transition_time.parse().ok()
}

fn holds_since(conditions: &[Condition], type_: &str) -> Option<Timestamp> {
    find(conditions, type_).filter(|_| is_true(conditions, type_)).and_then(time)
}

#[cfg(test)]
#[path = "judge_tests.rs"]
mod tests;
