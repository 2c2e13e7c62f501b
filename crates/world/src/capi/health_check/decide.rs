//! What a health check does: says of each Machine how it is, has unhealthy ones remediated as far as that is allowed, and ends
//! the remediation of healthy ones.

use std::time::Duration;

use capm3_api::{
    metadata::MetadataExt,
    v1beta2::GROUP,
    vocabulary::{annotation, label},
};
use capm3_engine::{End, Object, Plan, ResourceKind, clock};
use serde_json::json;

use super::{
    Snapshot,
    judge::{Verdict, judge},
    limit::{Allowance, Counts, allowance},
    targets::Target,
};
use crate::{
    capi::{count, is_paused},
    kinds::{
        Cluster, HealthCheckStatus, Machine, MachineHealthCheck, Metal3Remediation, Metal3RemediationTemplate,
    },
    metadata::{Saying, add_label, add_owner, owner_reference, say, say_legacy},
};

const SUCCEEDED: &str = "HealthCheckSucceeded";
const OWNER_REMEDIATED: &str = "OwnerRemediated";
const EXTERNALLY_REMEDIATED: &str = "ExternallyRemediated";
const WAITING: &str = "WaitingForRemediation";

pub(super) fn decide(s: &Snapshot) -> Plan {
    let old = &s.check;
    if old.metadata.is_deleting() {
        return Plan::done();
    }
    let Some(cluster) = &s.cluster else {
        return Plan::wait_for("its Cluster");
    };
    if is_paused(&old.metadata, Some(cluster)) {
        return Plan::wait_for("the pause to end");
    }
    let verdicts: Vec<Verdict> = s.targets.iter().map(|target| judged(target, s, cluster)).collect();
    let healthy = verdicts.iter().filter(|verdict| **verdict == Verdict::Healthy).count();
    let allowance =
        allowance(&old.spec.remediation.trigger_if, Counts { expected: s.targets.len(), healthy });
    let mut plan = Plan::done();
    let mut new = MachineHealthCheck::clone(old);
    add_label(&mut new.metadata, label::CLUSTER_NAME, &old.spec.cluster_name);
    add_owner(&mut new.metadata, owner_reference(&**cluster, false));
    new.status = Some(status(s, healthy, &allowance));
    plan.update(&**old, &new);
    let mut lacks_template = false;
    for (target, verdict) in s.targets.iter().zip(&verdicts) {
        lacks_template |= !treat(&mut plan, s, target, verdict, &allowance);
    }
    let suspicions = verdicts.iter().filter_map(|verdict| match verdict {
        Verdict::Suspect(left) => Some(*left),
        _ => None,
    });
    plan.ending(end(suspicions.min(), lacks_template))
}

/// A Machine that goes is not healthy, whatever its Node says.
fn judged(target: &Target, s: &Snapshot, cluster: &Cluster) -> Verdict {
    match judge(target, &s.check.spec.checks, cluster, s.now) {
        Verdict::Healthy if target.machine.metadata.is_deleting() => Verdict::Open,
        verdict => verdict,
    }
}

fn end(suspicion: Option<Duration>, lacks_template: bool) -> End {
    match suspicion {
        Some(left) => End::After(left),
        None if lacks_template => End::WaitFor("its remediation template".into()),
        None => End::Done,
    }
}

fn status(s: &Snapshot, healthy: usize, allowance: &Allowance) -> HealthCheckStatus {
    let generation = s.check.metadata.generation;
    let mut status = s.check.status.clone().unwrap_or_default();
    status.expected_machines = Some(count(s.targets.len()));
    status.current_healthy = Some(count(healthy));
    status.remediations_allowed = Some(count(allowance.further));
    status.targets = s.targets.iter().map(|target| target.machine.key().name).collect();
    status.observed_generation = generation;
    let message = if allowance.is_allowed { "" } else { &allowance.message };
    let saying =
        Saying::of("RemediationAllowed", allowance.is_allowed, "RemediationAllowed", "TooManyUnhealthy");
    let now = clock::text(s.now);
    for saying in [Saying { message, ..saying }, Saying::of("Paused", false, "Paused", "NotPaused")] {
        say(&mut status.conditions, saying, &now, generation);
    }
    status
}

/// Treats one Machine; `false` if its remediation has nothing to be copied from.
fn treat(plan: &mut Plan, s: &Snapshot, target: &Target, verdict: &Verdict, allowance: &Allowance) -> bool {
    let is_left_to_another = s.check.spec.remediation.template_ref.is_some();
    let is_there = target.remediation.is_some();
    let is_treated = allowance.is_allowed && !target.machine.metadata.is_deleting();
    match verdict {
        Verdict::Unhealthy { reason, message } => {
            let remediated = is_treated.then_some(if is_left_to_another {
                EXTERNALLY_REMEDIATED
            } else {
                OWNER_REMEDIATED
            });
            let template = s.template.as_deref();
            let can_be = !is_left_to_another || is_there || template.is_some();
            mark(plan, s, &target.machine, reason, message, remediated.filter(|_| can_be));
            if let (true, true, false, Some(template)) = (is_treated, is_left_to_another, is_there, template)
            {
                create(plan, &target.machine, template);
            }
            can_be || !is_treated
        }
        Verdict::Healthy => {
            report_healthy(plan, s, &target.machine);
            if let Some(remediation) =
                target.remediation.as_deref().filter(|it| is_left_to_another && !it.metadata.is_deleting())
            {
                plan.delete(remediation);
            }
            true
        }
        Verdict::Open | Verdict::Suspect(_) => true,
    }
}

/// Says of a Machine that it is unhealthy, and who is to act.
fn mark(
    plan: &mut Plan,
    s: &Snapshot,
    machine: &Machine,
    reason: &str,
    message: &str,
    remediated: Option<&str>,
) {
    let mut new = machine.clone();
    let (status, now) = (new.status.get_or_insert_default(), clock::text(s.now));
    let pending = remediated.filter(|type_| {
        capm3_api::conditions::find(&status.conditions, type_).is_none_or(|c| c.status != "False")
    });
    let waits = pending.map(|type_| Saying { type_, status: "False", reason: WAITING, message: "" });
    let fails = Saying { type_: SUCCEEDED, status: "False", reason, message };
    for saying in [Some(fails), waits].into_iter().flatten() {
        say(&mut status.conditions, saying, &now, machine.metadata.generation);
        say_legacy(&mut status.deprecated, saying, &now);
    }
    plan.update(machine, &new);
}

/// Says of a Machine that it is healthy; what was reported of its remediation is over.
fn report_healthy(plan: &mut Plan, s: &Snapshot, machine: &Machine) {
    let mut new = machine.clone();
    let (status, now) = (new.status.get_or_insert_default(), clock::text(s.now));
    let saying = Saying { type_: SUCCEEDED, status: "True", reason: SUCCEEDED, message: "" };
    say(&mut status.conditions, saying, &now, machine.metadata.generation);
    say_legacy(&mut status.deprecated, saying, &now);
    let is_over = |type_: &str| matches!(type_, OWNER_REMEDIATED | EXTERNALLY_REMEDIATED);
    status.conditions.retain(|c| !is_over(&c.type_));
    if let Some(older) = status.deprecated.as_mut().and_then(|d| d.v1beta1.as_mut()) {
        older.conditions.retain(|c| !is_over(&c.type_));
    }
    plan.update(machine, &new);
}

/// The remediation has the name of the Machine, so that there is never a second one.
fn create(plan: &mut Plan, machine: &Machine, template: &Metal3RemediationTemplate) {
    let resource = &template.spec.template;
    let mut labels = resource.metadata.labels.clone();
    labels.insert(label::CLUSTER_NAME.to_owned(), machine.spec.cluster_name.clone());
    let mut annotations = resource.metadata.annotations.clone();
    let source = format!("Metal3RemediationTemplate.{GROUP}");
    annotations.insert(annotation::CLONED_FROM_NAME.to_owned(), template.key().name);
    annotations.insert(annotation::CLONED_FROM_GROUP_KIND.to_owned(), source);
    let key = machine.key();
    let object = json!({
        "metadata": {"name": key.name, "namespace": key.namespace, "labels": labels, "annotations": annotations,
            "ownerReferences": [owner_reference(machine, false)]},
        "spec": resource.spec,
    });
    plan.create_value(ResourceKind::of::<Metal3Remediation>(), key, object);
}
