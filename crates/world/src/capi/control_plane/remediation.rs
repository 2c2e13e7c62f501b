//! Which given-up machine a control plane replaces now: one at a time, and only while the others keep the cluster alive.

use std::sync::Arc;

use super::decide::Snapshot;
use crate::kinds::Machine;

/// The machine to delete, if that is safe: the one without a Node first, then the oldest.
pub(super) fn next(s: &Snapshot) -> Option<&Machine> {
    let given_up = s.machines.iter().filter(|machine| machine.is_given_up());
    let born = |m: &Machine| m.metadata.creation_timestamp.as_ref().map_or(0, |time| time.0.as_second());
    let first = given_up.min_by_key(|m| (m.node_name().is_some(), born(m), m.metadata.name.clone()))?;
    is_safe(s, first).then_some(&**first)
}

/// Before the control plane is up nothing can be lost. Afterwards another machine must be there, none may be on its way in, and
/// those that are left must keep a majority.
fn is_safe(s: &Snapshot, machine: &Arc<Machine>) -> bool {
    if !s.control_plane.is_initialized() {
        return true;
    }
    let others: Vec<&Arc<Machine>> = s.machines.iter().filter(|other| !Arc::ptr_eq(other, machine)).collect();
    let sound = others.iter().filter(|other| is_sound(other)).count();
    others.iter().all(|other| other.node_name().is_some()) && sound > others.len() / 2
}

/// Whether a machine counts for the majority.
fn is_sound(machine: &Machine) -> bool {
    machine.node_name().is_some() && !machine.denies("HealthCheckSucceeded") && !machine.denies("NodeReady")
}
