//! The end of a machine: the host is cleaned and given back first, then the claim goes, so that no index or address
//! is handed out while the old node still runs. Needs neither Machine nor Cluster nor template.

use capm3_api::{
    metadata::MetadataExt,
    neighbours::BareMetalHost,
    vocabulary::{event, finalizer, label, reason},
};
use capm3_domain::release::{ReleaseRequest, ReleaseStep, release_step};
use capm3_engine::{End, Object, Plan, ResourceKind, Write};
use serde_json::Value;

use super::{
    Snapshot,
    decide::{Pass, Step, pause_cause},
};
use crate::finalizers::remove_finalizer;

pub(super) fn run(pass: &mut Pass<'_>) -> Step {
    if !pass.new.metadata.has_finalizer(finalizer::MACHINE) {
        return Ok(());
    }
    if let Some(cause) = pause_cause(&pass.new, pass.snapshot.cluster.as_deref()) {
        pass.status().paused(Some(cause));
        return Err(End::WaitFor("the end of the pause".to_owned()));
    }
    release_hosts(pass)?;
    release_claim(pass);
    remove_finalizer(&mut pass.new.metadata, finalizer::MACHINE);
    Ok(())
}

/// Every host that names this machine must be let go before the machine may go.
fn release_hosts(pass: &mut Pass<'_>) -> Step {
    let snapshot = pass.snapshot;
    let mut again = false;
    let mut waits = None;
    for host in snapshot.host.iter().chain(&snapshot.surplus) {
        match release_step_of(snapshot, host) {
            ReleaseStep::NotOurs => {}
            ReleaseStep::Clear(patch) => {
                push(&mut pass.others, host, patch);
                again = true;
            }
            ReleaseStep::Wait(wait) => waits = Some(wait),
            ReleaseStep::LetGo(patch) => {
                push(&mut pass.others, host, patch);
                pass.event(event::HOST_RELEASED, format!("host {} is given back", host.metadata.name_str()));
            }
        }
    }
    match waits {
        _ if again => Err(End::Again),
        Some(wait) => {
            // The state is left out of the condition: it would cost a write for each step of the operator.
            let hindrance = wait.hindrance.as_ref().map(|h| format!("; {h}")).unwrap_or_default();
            let said = format!("waiting for host {} to be deprovisioned{hindrance}", wait.host);
            pass.status().deleting(reason::DEPROVISIONING, &said);
            Err(End::WaitFor(wait.to_string()))
        }
        None => Ok(()),
    }
}

/// The next step in giving a host back.
pub(super) fn release_step_of(snapshot: &Snapshot, host: &BareMetalHost) -> ReleaseStep {
    let request = ReleaseRequest {
        machine: &snapshot.metal3_machine,
        cluster_name: snapshot.metal3_machine.metadata.label(label::CLUSTER_NAME),
        fast_track: false,
        booking: None,
    };
    release_step(&request, host)
}

/// Adds a guarded patch of a host.
pub(super) fn push(plan: &mut Plan, host: &BareMetalHost, patch: Value) {
    plan.writes.push(Write::Patch {
        kind: ResourceKind::of::<BareMetalHost>(),
        key: host.key(),
        subresource: None,
        version: host.metadata.resource_version.clone(),
        patch,
    });
}

fn release_claim(pass: &mut Pass<'_>) {
    let Some(claim) = pass.snapshot.claim.clone() else {
        return;
    };
    if !claim.metadata.is_owned_by_uid(pass.snapshot.metal3_machine.metadata.uid_str()) {
        return;
    }
    let mut released = claim.as_ref().clone();
    remove_finalizer(&mut released.metadata, finalizer::MACHINE);
    pass.others.update_object(claim.as_ref(), &released);
    if !claim.metadata.is_deleting() {
        pass.others.delete(claim.as_ref());
    }
}
