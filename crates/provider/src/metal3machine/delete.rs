//! The end of a machine: the host is cleaned and given back first, then the claim goes, so that no index or address
//! is handed out while the old node still runs. Needs neither Machine nor Cluster nor template.

use capm3_api::{
    metadata::MetadataExt,
    neighbours::BareMetalHost,
    vocabulary::{event, finalizer, label, reason},
};
use capm3_domain::release::{ReleaseRequest, ReleaseStep, release_step};
use capm3_engine::{End, Object, ResourceKind, Write};
use serde_json::Value;

use super::decide::{Pass, Step, pause_cause};

pub(super) fn run(pass: &mut Pass<'_>) -> Step {
    if !pass.new.metadata.has_finalizer(finalizer::MACHINE) {
        return Ok(());
    }
    if let Some(cause) = pause_cause(&pass.new, pass.snapshot.cluster.as_deref()) {
        pass.status().paused(Some(cause));
        return Err(End::WaitFor("the end of the pause".to_owned()));
    }
    release_host(pass)?;
    release_claim(pass);
    if let Some(finalizers) = &mut pass.new.metadata.finalizers {
        finalizers.retain(|f| f != finalizer::MACHINE);
    }
    // The other writes must be done before the last hold is let go.
    Ok(())
}

fn release_host(pass: &mut Pass<'_>) -> Step {
    let Some(host) = pass.snapshot.host.clone() else {
        return Ok(());
    };
    let request = ReleaseRequest {
        machine: &pass.snapshot.metal3_machine,
        cluster_name: pass.snapshot.metal3_machine.metadata.label(label::CLUSTER_NAME),
        fast_track: false,
        booking: None,
    };
    let name = host.metadata.name_str();
    match release_step(&request, &host) {
        ReleaseStep::NotOurs => Ok(()),
        ReleaseStep::Clear(patch) => {
            push(pass, &host, patch);
            let what = format!("waiting for host {name} to be deprovisioned");
            pass.status().deleting(reason::DEPROVISIONING, &what);
            Err(End::Again)
        }
        ReleaseStep::Wait(wait) => {
            // The state is left out of the condition: it would cost a write for each step of the operator.
            let hindrance = wait.hindrance.as_ref().map(|h| format!("; {h}")).unwrap_or_default();
            let said = format!("waiting for host {name} to be deprovisioned{hindrance}");
            pass.status().deleting(reason::DEPROVISIONING, &said);
            Err(End::WaitFor(wait.to_string()))
        }
        ReleaseStep::LetGo(patch) => {
            push(pass, &host, patch);
            pass.event(event::HOST_RELEASED, format!("host {name} is given back"));
            Ok(())
        }
    }
}

fn push(pass: &mut Pass<'_>, host: &BareMetalHost, patch: Value) {
    pass.others.writes.push(Write::Patch {
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
    if let Some(finalizers) = &mut released.metadata.finalizers {
        finalizers.retain(|f| f != finalizer::MACHINE);
    }
    pass.others.update_object(claim.as_ref(), &released);
    if !claim.metadata.is_deleting() {
        pass.others.delete(claim.as_ref());
    }
}
