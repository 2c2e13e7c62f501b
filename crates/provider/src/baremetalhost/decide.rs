//! What to do with a host that nobody looks after.

use capm3_api::{
    metadata::MetadataExt,
    neighbours::BareMetalHost,
    vocabulary::{annotation, event, label},
};
use capm3_domain::release::{ReleaseRequest, ReleaseStep, release_step, unbook};
use capm3_engine::{End, EventNote, Object, ObjectKey, Plan, ResourceKind, Write};
use serde_json::{Value, json};

use super::{Absent, Snapshot};
use crate::belonging::stand_in;

/// Decides. An owner that is not there counts only if `owner_is_gone`: the caller has asked the server and waited.
/// A host that is being moved or deleted is left alone.
pub fn decide(snapshot: &Snapshot, owner_is_gone: bool, fast_track: bool) -> Plan {
    let host = &snapshot.host;
    if host.metadata.is_deleting() || snapshot.rests {
        return Plan::done();
    }
    match &snapshot.absent {
        Some(Absent::Machine(machine)) if owner_is_gone => give_back(host, machine, fast_track),
        Some(owner @ (Absent::Cluster(_) | Absent::ControlPlane(_) | Absent::Deployment(_)))
            if owner_is_gone =>
        {
            end_booking(host, &format!("{owner} is gone"))
        }
        Some(_) => Plan::done(),
        None if snapshot.booking_is_over => end_booking(host, "its owner is gone"),
        None if snapshot.is_nobodys => unblock(host),
        None => Plan::done(),
    }
}

/// A host whose machine is gone without having given it back.
fn give_back(host: &BareMetalHost, machine: &ObjectKey, fast_track: bool) -> Plan {
    let request = ReleaseRequest {
        machine: &stand_in(machine),
        cluster_name: host.metadata.label(label::CLUSTER_NAME),
        fast_track,
        booking: None,
    };
    match release_step(&request, host) {
        ReleaseStep::NotOurs => Plan::done(),
        ReleaseStep::Clear(patch) => patched(host, patch).ending(End::Again),
        ReleaseStep::Wait(wait) => Plan::wait_for(wait.to_string()),
        ReleaseStep::LetGo(patch) => {
            let mut plan = patched(host, patch);
            let message = format!("Metal3Machine {machine} is gone; the host it left behind is given back");
            plan.event(EventNote::warning(host, event::HOST_RELEASED, message));
            plan
        }
    }
}

fn end_booking(host: &BareMetalHost, why: &str) -> Plan {
    let Some(patch) = unbook(host) else { return Plan::done() };
    let mut plan = patched(host, patch);
    plan.event(EventNote::normal(host, event::BOOKING_ENDED, format!("the host is free again: {why}")));
    plan
}

/// A free host must not hold up a move: older releases left their mark on every host that was ever used.
fn unblock(host: &BareMetalHost) -> Plan {
    if host.metadata.annotation(annotation::BLOCK_MOVE) != Some("") {
        return Plan::done();
    }
    patched(host, json!({"metadata": {"annotations": {annotation::BLOCK_MOVE: null}}}))
}

fn patched(host: &BareMetalHost, patch: Value) -> Plan {
    let mut plan = Plan::done();
    plan.writes.push(Write::Patch {
        kind: ResourceKind::of::<BareMetalHost>(),
        key: host.key(),
        subresource: None,
        version: host.metadata.resource_version.clone(),
        patch,
    });
    plan
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn snapshot(host: Value, absent: Option<Absent>, booking_is_over: bool) -> Snapshot {
        Snapshot {
            host: Arc::new(serde_json::from_value(host).unwrap()),
            absent,
            booking_is_over,
            rests: false,
            is_nobodys: true,
        }
    }

    fn used() -> Value {
        json!({"metadata": {"name": "h", "namespace": "ns", "labels": {label::CLUSTER_NAME: "c"},
                "annotations": {annotation::BLOCK_MOVE: ""}},
            "spec": {"online": true, "image": {"url": "http://i"}, "consumerRef": {"kind": "Metal3Machine",
                "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "name": "m", "namespace": "ns"}},
            "status": {"provisioning": {"state": "provisioned"}}})
    }

    fn gone() -> Option<Absent> {
        Some(Absent::Machine(ObjectKey::new("ns", "m")))
    }

    #[test]
    fn the_host_of_a_machine_that_is_gone_is_wiped_then_given_back() {
        let clears = decide(&snapshot(used(), gone(), false), true, false);
        assert!(clears.to_string().contains("\"image\":null"), "{clears}");
        let mut clean = used();
        clean["spec"]["image"] = Value::Null;
        clean["spec"]["online"] = json!(false);
        assert!(matches!(decide(&snapshot(clean.clone(), gone(), false), true, false).end, End::WaitFor(_)));
        clean["status"]["provisioning"]["state"] = json!("available");
        let frees = decide(&snapshot(clean, gone(), false), true, false);
        assert!(frees.to_string().contains("\"consumerRef\":null"), "{frees}");
        assert!(frees.events[0].warning);
    }

    #[test]
    fn a_host_in_doubt_under_way_or_leaving_is_left_alone() {
        assert!(decide(&snapshot(used(), gone(), false), false, false).is_quiet(), "not confirmed");
        let mut moving = used();
        moving["metadata"]["annotations"] = json!({annotation::HOST_PAUSED: annotation::HOST_PAUSED_BY_US});
        let mut moving = snapshot(moving, gone(), false);
        moving.rests = true;
        assert!(decide(&moving, true, false).is_quiet(), "being moved");
        moving.rests = false;
        let text = decide(&moving, true, false).to_string();
        assert!(text.contains(&format!("{}\":null", annotation::HOST_PAUSED)), "the pause is over: {text}");
        let mut leaving = used();
        leaving["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        assert!(decide(&snapshot(leaving, gone(), false), true, false).is_quiet(), "being deleted");
    }

    #[test]
    fn a_booking_whose_owner_is_gone_ends_and_a_free_host_does_not_hold_up_a_move() {
        let booked = json!({"metadata": {"name": "h", "namespace": "ns", "labels": {label::NODE_REUSE: "md-a"}},
            "spec": {"consumerRef": {"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "name": "c",
                "namespace": "ns"}}});
        let over = decide(&snapshot(booked.clone(), None, true), false, false);
        assert!(over.to_string().contains("node-reuse\":null"), "{over}");
        assert!(decide(&snapshot(booked, None, false), false, false).is_quiet());
        let free = json!({"metadata": {"name": "h", "annotations": {annotation::BLOCK_MOVE: ""}}});
        let text = decide(&snapshot(free, None, false), false, false).to_string();
        assert!(text.contains("block-move\":null"), "{text}");
    }
}
