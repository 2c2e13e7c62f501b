//! The state machine of a host, one step per pass.
//!
//! Takes a host, the time that is left of its present phase and, where the image is being written, whether its
//! config drive could be made. Each step is at most one patch of the host and one of its status; the own write
//! brings the host back for the next step.

use std::{sync::Arc, time::Duration};

use capm3_api::{
    metadata::MetadataExt,
    vocabulary::{
        annotation::{HOST_DETACHED, HOST_PAUSED},
        host_state::{AVAILABLE, DEPROVISIONING, EXTERNALLY_PROVISIONED, PROVISIONED, PROVISIONING, READY},
    },
};
use capm3_engine::{End, Plan};

use super::{
    FINALIZER,
    desired::{
        DELETING, INSPECTING, POWERING_OFF, PREPARING, REBOOT, REGISTERING, UNMANAGED, is_cancelled,
        is_external, is_stable, wants_deploy, wants_power,
    },
    hardware,
    status::{Kept, details_are_used, first, without},
};
use crate::{
    kinds::{BareMetalHost, HostStatus},
    metadata::{add_finalizer, remove_finalizer},
};

/// Annotation that restores a status after a move.
const STATUS: &str = "baremetalhost.metal3.io/status";
/// Annotation that asks for another inspection, or with `disabled` for none.
const INSPECT: &str = "inspect.metal3.io";
/// What a step is decided from.
#[derive(Debug)]
pub(crate) struct Snapshot {
    pub(crate) host: Arc<BareMetalHost>,
    pub(crate) now: String,
    /// Time left of the present phase.
    pub(crate) left: Duration,
    pub(crate) drive: Drive,
}

/// The config drive of a host whose image is being written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Drive {
    NotNeeded,
    Made,
    Refused(String),
}

/// The next step.
pub(crate) fn decide(snapshot: &Snapshot) -> Plan {
    let (host, now) = (&snapshot.host, snapshot.now.as_str());
    if host.metadata.annotation(HOST_PAUSED).is_some() {
        return Plan::wait_for("the pause to end");
    }
    if host.metadata.is_deleting() {
        return delete(snapshot);
    }
    if !host.metadata.has_finalizer(FINALIZER) {
        let mut new = BareMetalHost::clone(host);
        add_finalizer(&mut new.metadata, FINALIZER);
        return change(host, &new);
    }
    let Some(status) = &host.status else {
        return change_status(host, restored(host, now));
    };
    if host.metadata.annotation(STATUS).is_some() {
        return change(host, &without(host, STATUS));
    }
    if is_stable(host.state()) && host.metadata.annotation(HOST_DETACHED).is_some() {
        return detach(host, status, now);
    }
    match host.state() {
        UNMANAGED if host.spec.bmc.is_none() => Plan::wait_for("the address of a management controller"),
        "" | UNMANAGED => enter(host, status, now, REGISTERING, |s| s.began(Kept::Register, now)),
        REGISTERING => after(snapshot, || registered(host, status, now)),
        INSPECTING => after(snapshot, || inspected(host, status, now)),
        PREPARING => {
            after(snapshot, || enter(host, status, now, AVAILABLE, |s| s.powered_on = host.spec.online))
        }
        AVAILABLE | READY => available(snapshot, status),
        PROVISIONING => provisioning(snapshot, status),
        PROVISIONED if is_cancelled(host) => start_cleaning(host, status, now),
        EXTERNALLY_PROVISIONED if !is_external(host) => enter(host, status, now, PROVISIONED, |_| {}),
        DEPROVISIONING => after(snapshot, || cleaned(host, status, now, AVAILABLE)),
        _ => power(snapshot, status),
    }
}

fn restored(host: &BareMetalHost, now: &str) -> HostStatus {
    let moved =
        host.metadata.annotation(STATUS).and_then(|text| serde_json::from_str::<HostStatus>(text).ok());
    match (moved, host.spec.bmc.is_some()) {
        (Some(moved), _) => HostStatus { last_updated: Some(now.to_owned()), ..moved },
        (None, true) => {
            let mut status = first(host, REGISTERING, now);
            status.began(Kept::Register, now);
            status
        }
        (None, false) => first(host, UNMANAGED, now),
    }
}

fn registered(host: &BareMetalHost, status: &HostStatus, now: &str) -> Plan {
    if is_external(host) {
        return enter(host, status, now, EXTERNALLY_PROVISIONED, |s| s.ended(Kept::Register, now));
    }
    let disabled = host.spec.inspection_mode.as_deref() == Some("disabled")
        || host.metadata.annotation(INSPECT) == Some("disabled");
    if disabled {
        let supplied = host.metadata.annotation(hardware::DETAILS).and_then(|_| hardware::inspect(host).ok());
        return enter(host, status, now, PREPARING, |s| {
            s.ended(Kept::Register, now);
            s.hardware = supplied.or(s.hardware.take());
        });
    }
    enter(host, status, now, INSPECTING, |s| {
        s.ended(Kept::Register, now);
        s.began(Kept::Inspect, now);
    })
}

fn inspected(host: &BareMetalHost, status: &HostStatus, now: &str) -> Plan {
    match hardware::inspect(host) {
        Ok(found) => enter(host, status, now, PREPARING, |s| {
            s.ended(Kept::Inspect, now);
            s.hardware = Some(found);
            s.hardware_profile = Some("unknown".to_owned());
        }),
        Err(problem) => fail(host, status, "inspection error", &problem, now),
    }
}

fn available(snapshot: &Snapshot, status: &HostStatus) -> Plan {
    let (host, now) = (&snapshot.host, snapshot.now.as_str());
    if is_external(host) {
        return enter(host, status, now, EXTERNALLY_PROVISIONED, |_| {});
    }
    if host.metadata.annotation(INSPECT).is_some_and(|value| value != "disabled") {
        let mut new = without(host, INSPECT);
        if let Some(status) = &mut new.status {
            status.enter(INSPECTING, now);
            status.began(Kept::Inspect, now);
        }
        return change(host, &new);
    }
    if host.spec.online && wants_deploy(host) {
        return enter(host, status, now, PROVISIONING, |s| s.began(Kept::Provision, now));
    }
    power(snapshot, status)
}

fn provisioning(snapshot: &Snapshot, status: &HostStatus) -> Plan {
    let (host, now) = (&snapshot.host, snapshot.now.as_str());
    if is_cancelled(host) {
        return start_cleaning(host, status, now);
    }
    if let Drive::Refused(problem) = &snapshot.drive {
        return fail(host, status, "provisioning error", problem, now);
    }
    if !snapshot.left.is_zero() {
        let mut new = status.clone();
        if !status.error_message.is_empty() {
            new.recover(now);
        }
        return change_status(host, new).ending(End::After(snapshot.left));
    }
    enter(host, status, now, PROVISIONED, |s| {
        s.ended(Kept::Provision, now);
        s.provisioning_fail_count = 0;
        s.provisioning.image.clone_from(&host.spec.image);
        s.provisioning.custom_deploy.clone_from(&host.spec.custom_deploy);
        s.powered_on = true;
    })
}

fn start_cleaning(host: &BareMetalHost, status: &HostStatus, now: &str) -> Plan {
    enter(host, status, now, DEPROVISIONING, |s| s.began(Kept::Deprovision, now))
}

fn cleaned(host: &BareMetalHost, status: &HostStatus, now: &str, next: &str) -> Plan {
    let mut new = without(host, REBOOT);
    let mut status = status.clone();
    status.enter(next, now);
    status.ended(Kept::Deprovision, now);
    status.provisioning.image = None;
    status.provisioning.custom_deploy = None;
    status.powered_on = host.spec.online;
    new.status = Some(status);
    change(host, &new)
}

/// Follows the wanted power state, and removes used annotations, in a stable state.
fn power(snapshot: &Snapshot, status: &HostStatus) -> Plan {
    let (host, now) = (&snapshot.host, snapshot.now.as_str());
    if status.operational_status == "detached" {
        let mut new = status.clone();
        new.recover(now);
        return change_status(host, new);
    }
    if details_are_used(host) {
        return change(host, &without(host, hardware::DETAILS));
    }
    if !status.powered_on && host.metadata.annotation(REBOOT).is_some() {
        return change(host, &without(host, REBOOT));
    }
    let wanted = wants_power(host);
    if wanted == status.powered_on {
        return Plan::done();
    }
    after(snapshot, || {
        let mut new = status.clone();
        new.powered_on = wanted;
        new.last_updated = Some(now.to_owned());
        change_status(host, new)
    })
}

fn detach(host: &BareMetalHost, status: &HostStatus, now: &str) -> Plan {
    if status.operational_status == "detached" {
        return Plan::wait_for("the host to be attached again");
    }
    let mut new = status.clone();
    new.recover(now);
    "detached".clone_into(&mut new.operational_status);
    change_status(host, new)
}

/// The way out: deprovision what is provisioned, power off, go.
fn delete(snapshot: &Snapshot) -> Plan {
    let (host, now) = (&snapshot.host, snapshot.now.as_str());
    let gone = || {
        let mut new = BareMetalHost::clone(host);
        remove_finalizer(&mut new.metadata, FINALIZER);
        change(host, &new)
    };
    let Some(status) = &host.status else { return gone() };
    let detached = host.metadata.annotation(HOST_DETACHED);
    if detached.is_some_and(|value| value.contains("\"delay\"")) {
        return Plan::wait_for("the host to be attached again");
    }
    match host.state() {
        DELETING => after(snapshot, gone),
        _ if detached.is_some() => enter(host, status, now, DELETING, |_| {}),
        "" | UNMANAGED | REGISTERING => enter(host, status, now, DELETING, |_| {}),
        PROVISIONING | PROVISIONED => start_cleaning(host, status, now),
        DEPROVISIONING => after(snapshot, || cleaned(host, status, now, POWERING_OFF)),
        POWERING_OFF => after(snapshot, || enter(host, status, now, DELETING, |s| s.powered_on = false)),
        _ => enter(host, status, now, POWERING_OFF, |_| {}),
    }
}

/// What `then` says once the present phase is over.
fn after(snapshot: &Snapshot, then: impl FnOnce() -> Plan) -> Plan {
    match snapshot.left.is_zero() {
        true => then(),
        false => Plan::done().ending(End::After(snapshot.left)),
    }
}

fn enter(
    host: &BareMetalHost,
    status: &HostStatus,
    now: &str,
    state: &str,
    more: impl FnOnce(&mut HostStatus),
) -> Plan {
    let mut status = status.clone();
    status.enter(state, now);
    more(&mut status);
    change_status(host, status)
}

fn fail(host: &BareMetalHost, status: &HostStatus, type_: &str, problem: &str, now: &str) -> Plan {
    let mut status = status.clone();
    status.fail(type_, problem, now);
    change_status(host, status).ending(End::WaitFor(problem.to_owned().into()))
}

fn change_status(host: &BareMetalHost, status: HostStatus) -> Plan {
    let mut new = host.clone();
    new.status = Some(status);
    change(host, &new)
}

fn change(old: &BareMetalHost, new: &BareMetalHost) -> Plan {
    let mut plan = Plan::done();
    plan.update(old, new);
    plan
}

#[cfg(test)]
#[path = "decide_tests.rs"]
mod tests;
