//! What to do about a Metal3Remediation: what must be there, and which step comes next.

use capm3_api::{
    metadata::MetadataExt,
    neighbours::{BareMetalHost, Machine},
    vocabulary::{annotation, event},
};
use capm3_domain::{
    host::{Bond, annotated_host, bond},
    remediation::{HostProblem, Phase, RemediationWait, Strategy},
    wait::Pause,
};
use jiff::Timestamp;

use super::{
    Decision, Question, RemediationSnapshot, attempt,
    clean_up::{self, Left},
    pass::Pass,
    recovery,
};
use crate::plan::End;

/// What an attempt works with.
pub(super) struct Target<'s> {
    pub(super) machine: &'s Machine,
    pub(super) host: &'s BareMetalHost,
    pub(super) strategy: Strategy,
}

/// Decides.
pub fn decide(snapshot: &RemediationSnapshot, now: Timestamp) -> Decision {
    let pass = Pass::new(snapshot, now);
    let metadata = &snapshot.remediation.metadata;
    let is_annotated = metadata.annotation(annotation::PAUSED).is_some();
    let is_cluster_paused = snapshot.cluster.as_ref().is_some_and(|cluster| cluster.is_paused());
    if let Some(pause) = Pause::of("Metal3Remediation", is_annotated, is_cluster_paused) {
        return pass.paused(pause);
    }
    if metadata.is_deleting() {
        return clean_up::of(pass, Left::Deleted).unwrap_or_else(|pass| done(*pass));
    }
    let machine = match owner(snapshot) {
        Owner::There(machine) => machine,
        Owner::Unknown(key) => return Decision::ask(Question::IsMachineGone(key)),
        Owner::Gone => {
            let wait = RemediationWait::Machine(snapshot.owner.clone());
            return clean_up::of(pass, Left::WithoutMachine).unwrap_or_else(|pass| pass.wait(wait));
        }
        Owner::Leaving => return clean_up::of(pass, Left::WithoutMachine).unwrap_or_else(|pass| done(*pass)),
    };
    let strategy = match Strategy::of(&snapshot.remediation.spec) {
        Ok(strategy) => strategy,
        Err(problem) => {
            let wait = RemediationWait::Strategy(problem);
            return clean_up::of(pass, Left::Stopped).unwrap_or_else(|pass| pass.wait(wait));
        }
    };
    if pass.progress.phase == Phase::Exhausted {
        return clean_up::of(pass, Left::Stopped).unwrap_or_else(|pass| done(*pass));
    }
    match host_of(snapshot, machine) {
        Ok(host) => step(pass, &Target { machine, host, strategy }),
        Err(wait) => pass.wait(wait),
    }
}

fn step(mut pass: Pass<'_>, target: &Target<'_>) -> Decision {
    let host = target.host.metadata.name_str();
    if !target.host.spec.online {
        if pass.progress.phase != Phase::HostOffline {
            pass.progress.phase = Phase::HostOffline;
            let message = format!("host {host} is switched off on purpose (spec.online is false)");
            pass.event(true, event::REMEDIATION_FAILED, message);
        }
        let wait = RemediationWait::HostOffline(host.to_owned());
        return clean_up::of(pass, Left::Stopped).unwrap_or_else(|pass| pass.wait(wait));
    }
    match pass.progress.phase {
        Phase::New | Phase::HostOffline => attempt::begin(pass, target),
        Phase::Running => attempt::proceed(pass, target),
        Phase::Waiting => recovery::proceed(pass, target),
        // Only cleaned up, which was done before.
        Phase::Exhausted => done(pass),
    }
}

/// Nothing is left to do.
fn done(pass: Pass<'_>) -> Decision {
    pass.finish(End::Done)
}

/// The Machine that is remediated.
enum Owner<'s> {
    There(&'s Machine),
    /// It is being deleted, and its Node and host with it.
    Leaving,
    /// It is proven to be gone, or was never named.
    Gone,
    /// It is not seen.
    Unknown(capm3_engine::ObjectKey),
}

fn owner(snapshot: &RemediationSnapshot) -> Owner<'_> {
    match (&snapshot.machine, snapshot.machine_key()) {
        (Some(machine), _) if machine.metadata.is_deleting() => Owner::Leaving,
        (Some(machine), _) => Owner::There(machine),
        (None, Some(key)) if !snapshot.answers.is_machine_gone => Owner::Unknown(key),
        (None, _) => Owner::Gone,
    }
}

/// The host is powered off only if it and its machine name each other.
fn host_of<'s>(
    snapshot: &'s RemediationSnapshot,
    machine: &Machine,
) -> Result<&'s BareMetalHost, RemediationWait> {
    let Some(metal3_machine) = snapshot.metal3_machine.as_deref() else {
        let name = machine.spec.infrastructure_ref.as_ref().and_then(|it| it.name.clone());
        let machine = machine.metadata.name_str().to_owned();
        return Err(RemediationWait::Metal3Machine { machine, name });
    };
    let problem = match (annotated_host(metal3_machine), snapshot.host.as_deref()) {
        (Ok(Some(_)), Some(host)) if bond(metal3_machine, host) >= Bond::Claimed => {
            return Ok(host);
        }
        (Ok(Some(name)), Some(_)) => HostProblem::OfAnother(name.to_owned()),
        (Ok(Some(name)), None) => HostProblem::Missing(name.to_owned()),
        (Ok(None) | Err(_), _) => HostProblem::NotRecorded,
    };
    let metal3_machine = metal3_machine.metadata.name_str().to_owned();
    Err(RemediationWait::Host { metal3_machine, problem })
}
