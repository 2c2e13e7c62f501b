//! What to do with a host that nobody looks after.
//!
//! A host that a machine consumes is cleared and given back here only on request, and only with proof that the machine is
//! gone. Everything else about such a host is reported.

use crate::{
    host_patch::{push_annotations, push_release},
    plan::{End, Plan},
};
use capm3_api::{
    metadata::MetadataExt,
    neighbours::BareMetalHost,
    vocabulary::{annotation, event, label},
};
use capm3_domain::wait::Wait;
use capm3_domain::{
    host::has_image,
    release::{ReleaseRequest, ReleaseStep, release_step, remove_reservation},
};
use capm3_engine::{EventNote, Object, ObjectKey};

use serde_json::{Map, Value, json};

use super::{
    HostSnapshot,
    observe::{Orphan, consumer_machine},
};
use crate::rightful_owner::stand_in;

/// Decides about reservations and free hosts. The owner of a reservation that is not there counts only if `owner_is_gone`, which
/// the caller has proven. A host that is being moved or deleted is left alone.
pub fn decide(snapshot: &HostSnapshot, owner_is_gone: bool) -> Plan {
    let host = &snapshot.host;
    if host.metadata.is_deleting() || snapshot.rests {
        return Plan::done();
    }
    if let (None, Request::Refused(why)) = (&snapshot.orphan, judge_release(snapshot)) {
        return refuse_release(host, &why);
    }
    match &snapshot.absent {
        Some(owner) if owner_is_gone => end_reservation(host, &format!("{owner} is gone")),
        Some(_) => Plan::done(),
        None if snapshot.reservation_is_over => end_reservation(host, "its owner is gone"),
        None if snapshot.is_nobodys => unblock(host),
        None => Plan::done(),
    }
}

/// The machine that a request to release a host names.
pub(super) fn requested_release(host: &BareMetalHost) -> Option<&str> {
    host.metadata.annotation(annotation::RELEASE_HOST)
}

/// What becomes of a request to release a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Request {
    /// There is none.
    None,
    /// It is to be carried out once it is proven that this machine is gone.
    Stands(ObjectKey),
    /// It is not carried out, for this reason.
    Refused(String),
}

/// Judges the request to release a host. Only that of an orphaned host can stand.
pub fn judge_release(snapshot: &HostSnapshot) -> Request {
    match (&snapshot.orphan, requested_release(&snapshot.host)) {
        (_, None) => Request::None,
        (Some(orphan), Some(_)) => judge_request(&snapshot.host, orphan),
        (None, Some(requested)) => Request::Refused(why_refused(&snapshot.host, requested)),
    }
}

/// Judges the request to release an orphaned host.
pub(super) fn judge_request(host: &BareMetalHost, orphan: &Orphan) -> Request {
    let Some(requested) = requested_release(host) else { return Request::None };
    match orphan {
        Orphan::NotFound(machine) if machine.to_string() == requested => Request::Stands(machine.clone()),
        Orphan::NotFound(_) | Orphan::Unreadable { .. } => Request::Refused(why_refused(host, requested)),
        Orphan::NotRecorded(machine) => Request::Refused(format!(
            "Metal3Machine {machine} exists; delete its Machine to release the host, or set annotation \
             metal3.io/BareMetalHost of the Metal3Machine to {} to keep it",
            host.key()
        )),
    }
}

fn why_refused(host: &BareMetalHost, requested: &str) -> String {
    match consumer_machine(host) {
        Some(machine) if machine.to_string() == requested => {
            format!(
                "the host may be in use: Metal3Machine {machine} exists, or another Metal3Machine names the \
                 host in its annotation or provider ID; to release the host, delete the Machine that uses it"
            )
        }
        Some(machine) => {
            format!("the request names {requested}, but the host is consumed by Metal3Machine {machine}")
        }
        None => {
            format!("the request names {requested}, but no Metal3Machine of this namespace consumes the host")
        }
    }
}

/// Takes a request off a host and says why it is not carried out.
pub(super) fn refuse_release(host: &BareMetalHost, why: &str) -> Plan {
    let mut plan = annotated(host, annotation::RELEASE_HOST, Value::Null);
    let message = format!("the host is not released: {why}");
    plan.event(EventNote::warning(host, event::RELEASE_REFUSED, message));
    plan
}

/// Asks for the release of a host whose machine is proven to be gone.
pub(super) fn request_release(host: &BareMetalHost, machine: &ObjectKey) -> Plan {
    let mut plan = annotated(host, annotation::RELEASE_HOST, machine.to_string().into());
    let message = format!(
        "Metal3Machine {machine} is gone; the host is released, because --release-orphaned-hosts-after is set"
    );
    plan.event(EventNote::warning(host, event::RELEASE_REQUESTED, message));
    plan
}

/// The next step in the release of a host whose machine is proven to be gone, as the deletion of the machine would do it.
pub(super) fn release(host: &BareMetalHost, machine: &ObjectKey, fast_track: bool) -> Plan {
    let request = ReleaseRequest {
        machine: &stand_in(machine),
        cluster_name: host.metadata.label(label::CLUSTER_NAME),
        fast_track,
        reservation: None,
    };
    match release_step(&request, host) {
        ReleaseStep::NotOurs => Plan::done(),
        ReleaseStep::Clear(patch) => patched(host, patch).ending(End::Again),
        ReleaseStep::Wait(wait) => Plan::wait_for(Wait::Deprovisioning(wait)),
        ReleaseStep::Release(patch) => {
            let mut plan = patched(host, without_request(patch));
            let message = format!("Metal3Machine {machine} is gone; the host is released on request");
            plan.event(EventNote::normal(host, event::HOST_RELEASED, message));
            plan
        }
    }
}

/// The same patch that takes the request off, too.
fn without_request(mut patch: Value) -> Value {
    let mut members = patch.as_object_mut();
    for member in ["metadata", "annotations"] {
        members =
            members.and_then(|members| members.entry(member).or_insert_with(|| json!({})).as_object_mut());
    }
    if let Some(annotations) = members {
        annotations.insert(annotation::RELEASE_HOST.to_owned(), Value::Null);
    }
    patch
}

/// The report of an orphaned host: a warning that is repeated every hour.
pub(super) fn report(host: &BareMetalHost, orphan: &Orphan) -> Plan {
    let name = host.metadata.name_str();
    let namespace = host.metadata.namespace_str();
    let advice = match orphan {
        Orphan::NotFound(_) => format!("`capm3 release host/{name} -n {namespace}` releases it"),
        Orphan::NotRecorded(_) => format!(
            "to keep it, set annotation metal3.io/BareMetalHost of the Metal3Machine to {}; to release it, delete its \
             Machine",
            host.key()
        ),
        Orphan::Unreadable { .. } => "it is checked again once the kind is served".to_owned(),
    };
    let mut plan = Plan::done();
    let message = format!("{orphan}; the host is not changed; {advice}");
    plan.event(EventNote::warning(host, event::HOST_ORPHANED, message));
    plan
}

/// A reservation ends only where nothing is on the host.
fn end_reservation(host: &BareMetalHost, why: &str) -> Plan {
    let Some(patch) = remove_reservation(host).filter(|_| !has_image(host)) else { return Plan::done() };
    let mut plan = patched(host, patch);
    plan.event(EventNote::normal(host, event::BOOKING_ENDED, format!("the reservation is removed: {why}")));
    plan
}

/// A free host must not hold up a move: older releases left their mark on every host that was ever used.
fn unblock(host: &BareMetalHost) -> Plan {
    if host.metadata.annotation(annotation::BLOCK_MOVE) != Some("") {
        return Plan::done();
    }
    annotated(host, annotation::BLOCK_MOVE, Value::Null)
}

fn patched(host: &BareMetalHost, patch: Value) -> Plan {
    let mut plan = Plan::done();
    push_release(&mut plan, host, patch);
    plan
}

fn annotated(host: &BareMetalHost, annotation: &str, value: Value) -> Plan {
    let mut plan = Plan::done();
    push_annotations(&mut plan, host, Map::from_iter([(annotation.to_owned(), value)]));
    plan
}

#[cfg(test)]
#[path = "decide_tests.rs"]
mod tests;
