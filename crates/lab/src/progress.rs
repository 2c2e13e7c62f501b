//! What happens while a lab runs, step by step.

use std::sync::Arc;

use capm3_api::{
    conditions::{Condition, find},
    metadata::MetadataExt,
    neighbours::BareMetalHost,
    v1beta2::{self, Metal3DataClaim, Metal3Machine},
    vocabulary::{annotation, condition, host_state, label, reason},
};
use capm3_engine::{Object, ObjectKey};

use crate::Lab;

/// A step of a machine or a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgressStep {
    /// What it is: `machine` or `host`.
    pub kind: &'static str,
    /// Which one.
    pub key: ObjectKey,
    /// What it did, in words that follow its name.
    pub what: String,
}

/// Receives the steps.
pub trait Progress: Send + Sync + 'static {
    /// One step was made.
    fn step(&self, step: ProgressStep);
}

impl Lab {
    /// Reports every step that machines and hosts make from now on.
    pub fn report_progress(&self, to: &Arc<dyn Progress>) {
        let Some(provider) = self.provider() else { return };
        let caches = provider.caches();
        if let Some(machines) = caches.store::<Metal3Machine>() {
            let to = Arc::clone(to);
            machines.subscribe(move |change| {
                for step in machine_steps(change.old.as_deref(), change.new.as_deref()) {
                    to.step(step);
                }
            });
        }
        if let Some(claims) = caches.store::<Metal3DataClaim>() {
            let to = Arc::clone(to);
            claims.subscribe(move |change| {
                if let Some(step) = claim_step(change.old.as_deref(), change.new.as_deref()) {
                    to.step(step);
                }
            });
        }
        if let Some(hosts) = caches.store::<BareMetalHost>() {
            let to = Arc::clone(to);
            hosts.subscribe(move |change| {
                if let Some(step) = host_step(change.old.as_deref(), change.new.as_deref()) {
                    to.step(step);
                }
            });
        }
    }
}

fn machine_steps(old: Option<&Metal3Machine>, new: Option<&Metal3Machine>) -> Vec<ProgressStep> {
    let step = |machine: &Metal3Machine, what| ProgressStep { kind: "machine", key: machine.key(), what };
    let Some(new) = new else {
        return old.map(|old| step(old, "is gone".to_owned())).into_iter().collect();
    };
    let mut steps = Vec::new();
    let host = |m: &Metal3Machine| m.metadata.annotation(annotation::HOST).map(str::to_owned);
    if let Some(value) = host(new).filter(|_| old.and_then(host).is_none()) {
        let host = value.split_once('/').map_or(value.as_str(), |(_, name)| name);
        steps.push(step(new, format!("takes host {host}")));
    }
    if let Some(id) =
        new.spec.provider_id.as_ref().filter(|_| old.is_none_or(|o| o.spec.provider_id.is_none()))
    {
        steps.push(step(new, format!("has provider ID {id}")));
    }
    if let Some(wait) =
        wait(new).filter(|wait| old.and_then(self::wait).is_none_or(|before| before.reason != wait.reason))
    {
        steps.push(step(new, format!("is not ready yet: {}", wait.message)));
    }
    steps
}

/// What a machine waits for, where that lasts: only then its status shows it. Steps of the host are reported for the
/// host.
fn wait(machine: &Metal3Machine) -> Option<&Condition> {
    let parts = [
        condition::PAUSED,
        condition::ASSOCIATE_HOST,
        condition::ASSOCIATE_META_DATA,
        condition::DATA_READY,
        condition::HOST_PROVISIONED,
    ];
    let host_reasons = [reason::HOST_PROVISIONING, reason::DEPROVISIONING, reason::NOT_PAUSED];
    let shown = parts.iter().filter_map(|type_| find(&machine.status.conditions, type_));
    let mut waits =
        shown.filter(|shown| shown.status == "False" && !host_reasons.contains(&shown.reason.as_str()));
    waits.find(|shown| !shown.message.is_empty())
}

/// From the claim: the machine's own status repeats it later.
fn claim_step(old: Option<&Metal3DataClaim>, new: Option<&Metal3DataClaim>) -> Option<ProgressStep> {
    let data = |claim: &Metal3DataClaim| claim.status.rendered_data.as_ref().and_then(|r| r.name.clone());
    let given = data(new?).filter(|_| old.and_then(data).is_none())?;
    let machine = &new?.metadata.owner(v1beta2::GROUP, "Metal3Machine")?.name;
    let key = ObjectKey::new(new?.metadata.namespace_str(), machine);
    Some(ProgressStep { kind: "machine", key, what: format!("gets data {given}") })
}

fn host_step(old: Option<&BareMetalHost>, new: Option<&BareMetalHost>) -> Option<ProgressStep> {
    let new = new?;
    let state = new.state();
    let shown = [host_state::AVAILABLE, host_state::PROVISIONED, host_state::DEPROVISIONING];
    if old.is_some_and(|old| old.state() == state) || !shown.contains(&state) {
        return None;
    }
    let stands = new.metadata.label(label::FAILURE_DOMAIN).map(|d| format!("in {d} ")).unwrap_or_default();
    Some(ProgressStep { kind: "host", key: new.key(), what: format!("{stands}is {state}") })
}
