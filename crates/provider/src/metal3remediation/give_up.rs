//! The end of a remediation whose last attempt has failed: the host is marked, and the Machine is replaced.

use capm3_api::{
    conditions::{Condition, LegacyCondition, Severity},
    metadata::MetadataExt,
    neighbours::Machine,
    vocabulary::{annotation, condition, event, reason},
};
use capm3_domain::remediation::{OnExhausted, Phase};
use capm3_engine::{Object, ObjectKey, ResourceKind, Write};
use serde_json::{Map, Value, json};

use super::{Decision, Question, decide::Target, pass::Pass};
use crate::{
    conditions::{self, Stamp},
    host_patch,
    plan::{End, Plan},
};

/// Gives up. The host is marked first, so that the Machine that replaces this one does not take it.
pub(super) fn now(mut pass: Pass<'_>, target: &Target<'_>) -> Decision {
    let choice = target.strategy.on_exhausted;
    if choice.marks_host() && target.host.metadata.annotation(annotation::UNHEALTHY).is_none() {
        let mark = Map::from_iter([(annotation::UNHEALTHY.to_owned(), json!(annotation::UNHEALTHY_NODE))]);
        host_patch::push_annotations(&mut pass.first, target.host, mark);
    }
    if choice.replaces_machine() {
        let Some(machine) = pass.snapshot.answers.machine.clone() else {
            return Decision::ask(Question::Machine(target.machine.key()));
        };
        let now = pass.now_text();
        request_replacement(&mut pass.first, &target.machine.key(), &machine, &now);
    }
    pass.progress.phase = Phase::Exhausted;
    let message = message(target, pass.progress.retry_count + 1);
    pass.report(false, reason::EXHAUSTED, message.clone());
    pass.event(true, event::REMEDIATION_EXHAUSTED, message);
    pass.finish(End::Again)
}

fn message(target: &Target<'_>, attempts: u32) -> String {
    let (machine, host) = (target.machine.metadata.name_str(), target.host.metadata.name_str());
    let failed = match attempts {
        1 => format!("Machine {machine} is unhealthy after one attempt"),
        _ => format!("Machine {machine} is unhealthy after {attempts} attempts"),
    };
    match target.strategy.on_exhausted {
        OnExhausted::MarkUnhealthyAndReplace => {
            format!(
                "{failed}: host {host} is marked as unhealthy, and the owner of the Machine replaces the Machine"
            )
        }
        OnExhausted::MarkUnhealthyOnly => {
            format!("{failed}: host {host} is marked as unhealthy; the Machine stays")
        }
        OnExhausted::ReplaceOnly => {
            format!("{failed}: the owner of the Machine replaces it; host {host} is not marked")
        }
    }
}

/// Tells the owner of the Machine, in both generations of conditions: MachineSets and control planes read the new one.
fn request_replacement(plan: &mut Plan, key: &ObjectKey, machine: &Value, now: &str) {
    let read = |path: &str| machine.pointer(path).cloned().unwrap_or_default();
    let mut conditions: Vec<Condition> =
        serde_json::from_value(read("/status/conditions")).unwrap_or_default();
    let mut legacy: Vec<LegacyCondition> =
        serde_json::from_value(read("/status/deprecated/v1beta1/conditions")).unwrap_or_default();
    let before = (conditions.clone(), legacy.clone());
    let stamp = Stamp { now, generation: read("/metadata/generation").as_i64() };
    let (type_, reason) = (condition::OWNER_REMEDIATED, reason::WAITING_FOR_REMEDIATION);
    conditions::set(&mut conditions, stamp, type_, false, reason, "");
    conditions::set_legacy_false(&mut legacy, now, type_, Severity::Warning, reason, "");
    if before == (conditions.clone(), legacy.clone()) {
        return;
    }
    let deprecated = json!({"v1beta1": {"conditions": legacy}});
    plan.writes.push(Write::Patch {
        kind: ResourceKind::of::<Machine>(),
        key: key.clone(),
        subresource: Some("status"),
        version: read("/metadata/resourceVersion").as_str().map(str::to_owned),
        patch: json!({"status": {"conditions": conditions, "deprecated": deprecated}}),
    });
}
