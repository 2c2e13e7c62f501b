//! When a machine says how far it is: troubles, and what others act on, at once; the steps on the way only if one of them
//! lasts. A machine passes through half a dozen of them, and a write for each would be a third of all it costs.

use std::time::Duration;

use capm3_api::{
    conditions::{Condition, find, is_true},
    metadata::MetadataExt,
    v1beta2::Metal3Machine,
    vocabulary::{condition, reason},
};

use crate::{
    batch::STATUS_PACE,
    wait_throttle::{is_throttled_for, throttle_time},
};

/// Reasons of conditions that are false for a while on every machine's way.
const PASSING: [&str; 9] = [
    reason::NOT_PAUSED,
    reason::WAITING_FOR_OWNER,
    reason::WAITING_FOR_INFRASTRUCTURE,
    reason::WAITING_FOR_METAL3_CLUSTER,
    reason::WAITING_FOR_BOOTSTRAP,
    reason::WAITING_FOR_DATA,
    reason::HOST_PROVISIONING,
    reason::WAITING_FOR_NODE,
    reason::DEPROVISIONING,
];

/// How long the new status is kept back; none if it is to be written now. `machines_in_progress`: how many machines come up or go.
pub(super) fn status_throttle(
    old: &Metal3Machine,
    new: &Metal3Machine,
    machines_in_progress: usize,
    now: &str,
) -> Option<Duration> {
    // Cluster API waits for it.
    if old.status.initialization != new.status.initialization {
        return None;
    }
    let last_updated = old.status.last_updated.as_deref();
    let was_written_just_now = (last_updated == Some(now)).then_some(STATUS_PACE);
    if turned(old, new) || has_new_problem(old, new) {
        return was_written_just_now;
    }
    is_throttled_for(throttle_time(machines_in_progress), &old.metadata, last_updated, now)
        .or(was_written_just_now)
}

/// Whether the machine became ready or ceased to be, or its pause began or ended.
fn turned(old: &Metal3Machine, new: &Metal3Machine) -> bool {
    let differs = |type_| is_true(&old.status.conditions, type_) != is_true(&new.status.conditions, type_);
    // That a machine being deleted is not ready is no change.
    differs(condition::PAUSED) || differs(condition::READY) && !new.metadata.is_deleting()
}

fn has_new_problem(old: &Metal3Machine, new: &Metal3Machine) -> bool {
    let is_problem = |c: &&Condition| {
        c.type_ != condition::READY && c.status != "True" && !PASSING.contains(&c.reason.as_str())
    };
    let is_known = |c: &Condition| {
        find(&old.status.conditions, &c.type_)
            .is_some_and(|o| o.status == c.status && o.reason == c.reason && o.message == c.message)
    };
    new.status.conditions.iter().filter(is_problem).any(|c| !is_known(c))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const NOW: &str = "2026-01-01T00:00:20Z";

    /// A machine of a second ago with these conditions: type, status, reason.
    fn machine(conditions: &[(&str, &str, &str)]) -> Metal3Machine {
        let of = |(type_, status, reason): &(&str, &str, &str)| json!({"type": type_, "status": status, "reason": reason, "lastTransitionTime": NOW});
        let conditions: Vec<Value> = conditions.iter().map(of).collect();
        serde_json::from_value(json!({
            "metadata": {"name": "m", "creationTimestamp": "2026-01-01T00:00:19Z"},
            "spec": {"image": {"url": "u"}}, "status": {"conditions": conditions}}))
        .unwrap()
    }

    #[test]
    fn passing_steps_are_throttled_and_problems_are_not() {
        let (host, ready) = (condition::ASSOCIATE_HOST, condition::READY);
        let waits = (host, "False", reason::WAITING_FOR_BOOTSTRAP);
        let fails = (host, "False", reason::ASSOCIATE_HOST_FAILED);
        let taken = (host, "True", reason::ASSOCIATE_HOST_SUCCESS);
        let provisioning = (condition::HOST_PROVISIONED, "False", reason::HOST_PROVISIONING);
        let is_ready = (ready, "True", reason::READY);
        let not_ready = (ready, "False", reason::NOT_READY);
        let rests = (condition::PAUSED, "True", reason::PAUSED);
        let works = (condition::PAUSED, "False", reason::NOT_PAUSED);
        for (what, old, new, is_kept_back) in [
            ("a first wait", vec![], vec![waits, not_ready, works], true),
            ("progress", vec![waits, not_ready], vec![taken, provisioning, not_ready], true),
            ("a problem", vec![waits, not_ready], vec![fails, not_ready], false),
            ("a step beside a known problem", vec![fails], vec![fails, provisioning], true),
            ("readiness", vec![provisioning, not_ready], vec![taken, is_ready], false),
            ("the end of readiness", vec![taken, is_ready], vec![taken, provisioning, not_ready], false),
            ("a pause", vec![works], vec![rests], false),
            ("the end of a pause", vec![rests], vec![works], false),
        ] {
            let kept_back = status_throttle(&machine(&old), &machine(&new), 1, NOW);
            assert_eq!(kept_back, is_kept_back.then_some(Duration::from_secs(4)), "{what}");
        }
    }

    #[test]
    fn a_step_that_lasts_is_reported_and_problems_that_follow_within_a_second_share_a_write() {
        let waits = machine(&[(condition::ASSOCIATE_HOST, "False", reason::WAITING_FOR_BOOTSTRAP)]);
        let fails = machine(&[(condition::ASSOCIATE_HOST, "False", reason::ASSOCIATE_HOST_FAILED)]);
        assert_eq!(status_throttle(&machine(&[]), &waits, 1, "2026-01-01T00:00:24Z"), None);
        let mut written = machine(&[]);
        written.status.last_updated = Some(NOW.into());
        assert_eq!(status_throttle(&written, &fails, 1, NOW), Some(STATUS_PACE));
        assert_eq!(status_throttle(&written, &waits, 1, NOW), Some(Duration::from_secs(5)));
        assert_eq!(status_throttle(&written, &fails, 1, "2026-01-01T00:00:21Z"), None);
    }

    #[test]
    fn a_deleted_machine_waits_for_its_host_at_first_without_a_status_write() {
        let mut old = machine(&[(condition::READY, "True", reason::READY)]);
        old.metadata.deletion_timestamp = serde_json::from_value(json!("2026-01-01T00:00:18Z")).unwrap();
        let mut new = old.clone();
        new.status.conditions = machine(&[
            (condition::READY, "False", reason::NOT_READY),
            (condition::ASSOCIATE_META_DATA, "False", reason::DEPROVISIONING),
        ])
        .status
        .conditions;
        old.metadata.creation_timestamp = None;
        assert_eq!(status_throttle(&old, &new, 1, NOW), Some(Duration::from_secs(3)));
        assert_eq!(status_throttle(&old, &new, 1, "2026-01-01T00:00:23Z"), None);
    }
}
