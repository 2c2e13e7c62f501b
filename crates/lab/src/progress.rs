//! What happens while a lab runs, one line a step.

use std::sync::Arc;

use capm3_api::{
    metadata::MetadataExt,
    neighbours::BareMetalHost,
    v1beta2::{self, Metal3DataClaim, Metal3Machine},
    vocabulary::{annotation, host_state, label},
};

use crate::Lab;

/// Receives the lines.
pub trait Progress: Send + Sync + 'static {
    /// One step was made.
    fn step(&self, line: &str);
}

impl Lab {
    /// Tells every step that machines and hosts make from now on.
    pub fn report_progress(&self, to: &Arc<dyn Progress>) {
        let Some(provider) = self.provider() else { return };
        let caches = provider.caches();
        if let Some(machines) = caches.store::<Metal3Machine>() {
            let to = Arc::clone(to);
            machines.subscribe(move |change| {
                for line in machine_steps(change.old.as_deref(), change.new.as_deref()) {
                    to.step(&line);
                }
            });
        }
        if let Some(claims) = caches.store::<Metal3DataClaim>() {
            let to = Arc::clone(to);
            claims.subscribe(move |change| {
                if let Some(line) = claim_step(change.old.as_deref(), change.new.as_deref()) {
                    to.step(&line);
                }
            });
        }
        if let Some(hosts) = caches.store::<BareMetalHost>() {
            let to = Arc::clone(to);
            hosts.subscribe(move |change| {
                if let Some(line) = host_step(change.old.as_deref(), change.new.as_deref()) {
                    to.step(&line);
                }
            });
        }
    }
}

fn machine_steps(old: Option<&Metal3Machine>, new: Option<&Metal3Machine>) -> Vec<String> {
    let Some(new) = new else {
        return old.map(|old| format!("machine {} is gone", old.metadata.name_str())).into_iter().collect();
    };
    let name = new.metadata.name_str();
    let mut lines = Vec::new();
    let host = |m: &Metal3Machine| m.metadata.annotation(annotation::HOST).map(str::to_owned);
    if let Some(value) = host(new).filter(|_| old.and_then(host).is_none()) {
        let host = value.split_once('/').map_or(value.as_str(), |(_, name)| name);
        lines.push(format!("machine {name} takes host {host}"));
    }
    if let Some(id) =
        new.spec.provider_id.as_ref().filter(|_| old.is_none_or(|o| o.spec.provider_id.is_none()))
    {
        lines.push(format!("machine {name} is {id}"));
    }
    lines
}

/// Told by the claim: the machine's own status repeats it later.
fn claim_step(old: Option<&Metal3DataClaim>, new: Option<&Metal3DataClaim>) -> Option<String> {
    let data = |claim: &Metal3DataClaim| claim.status.rendered_data.as_ref().and_then(|r| r.name.clone());
    let given = data(new?).filter(|_| old.and_then(data).is_none())?;
    let machine = &new?.metadata.owner(v1beta2::GROUP, "Metal3Machine")?.name;
    Some(format!("machine {machine} gets data {given}"))
}

fn host_step(old: Option<&BareMetalHost>, new: Option<&BareMetalHost>) -> Option<String> {
    let new = new?;
    let state = new.state();
    let shown = [host_state::AVAILABLE, host_state::PROVISIONED, host_state::DEPROVISIONING];
    if old.is_some_and(|old| old.state() == state) || !shown.contains(&state) {
        return None;
    }
    let stands = new.metadata.label(label::FAILURE_DOMAIN).map(|d| format!(" in {d}")).unwrap_or_default();
    Some(format!("host {}{stands} is {state}", new.metadata.name_str()))
}
