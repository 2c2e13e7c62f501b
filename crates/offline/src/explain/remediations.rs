//! What the remediations of a machine have come to: attempts, when the next one begins, and who acts.
//!
//! Takes the Machine and the Metal3Remediations that it owns; gives one sentence each. What a remediation waits for is what
//! its controller has reported: a workload cluster is not asked here.

use capm3_api::{
    conditions::{Condition, find},
    metadata::MetadataExt,
    neighbours::Machine,
    v1beta2::Metal3Remediation,
    vocabulary::{condition, reason},
};
use capm3_domain::{
    remediation::{Phase, Progress, Strategy},
    wait::Actor,
};
use capm3_engine::{Object, Reader};
use capm3_provider::indexes::REMEDIATIONS_BY_MACHINE;

/// A sentence for each remediation of a Machine.
pub(super) fn sentences(reader: &impl Reader, machine: &Machine) -> Vec<String> {
    let all = reader.by_index(&REMEDIATIONS_BY_MACHINE, &machine.key().to_string());
    all.iter().map(|remediation| sentence(remediation)).collect()
}

fn sentence(remediation: &Metal3Remediation) -> String {
    let name = remediation.metadata.name_str();
    let reported = find(&remediation.status.conditions, condition::REMEDIATED);
    let message = reported.map(|it| it.message.as_str()).unwrap_or_default();
    let strategy = match Strategy::of(&remediation.spec) {
        Ok(strategy) => strategy,
        Err(problem) => return format!("Metal3Remediation {name} does nothing: {problem}"),
    };
    let progress = Progress::of(remediation);
    let attempt = progress.retry_count.saturating_add(1);
    let attempts = strategy.attempts().max(attempt);
    let until = progress.last_remediated.and_then(|began| began.checked_add(strategy.timeout).ok());
    let next = match until {
        Some(until) if attempt < attempts => format!("; the next attempt begins at {until}"),
        Some(until) => format!("; it is given up at {until}"),
        None => String::new(),
    };
    match progress.phase {
        Phase::New => format!("Metal3Remediation {name} has not begun"),
        Phase::Exhausted | Phase::HostOffline => format!("Metal3Remediation {name} has ended: {message}"),
        Phase::Running | Phase::Waiting => {
            let who = reported.map(actor).map(|who| format!(" (who acts: {who})")).unwrap_or_default();
            // The message of a power cycle that is done says itself what comes next.
            let is_cycled = reported.is_some_and(|it| it.reason == reason::POWER_CYCLED);
            let next = if is_cycled { String::new() } else { next };
            format!("Metal3Remediation {name}, attempt {attempt} of {attempts}: {message}{next}{who}")
        }
    }
}

/// Who ends what a remediation reports.
fn actor(reported: &Condition) -> Actor {
    match reported.reason.as_str() {
        reason::WAITING_FOR_POWER_OFF | reason::WAITING_FOR_POWER_ON => Actor::HostOperator,
        reason::POWER_CYCLED => Actor::ClusterApi,
        reason::WORKLOAD_CLUSTER_UNREACHABLE => Actor::PlatformEngineer,
        _ => Actor::Nobody,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn of(phase: &str, count: Option<u32>, reason: &str, message: &str) -> String {
        let conditions = json!([{"type": "Remediated", "status": "False", "reason": reason, "message": message,
            "lastTransitionTime": "2026-01-01T00:00:00Z"}]);
        let mut object: Value = json!({"metadata": {"name": "m", "namespace": "n"},
            "spec": {"strategy": {"type": "Reboot", "retryLimit": 1, "timeoutSeconds": 600}},
            "status": {"phase": phase, "lastRemediated": "2026-01-01T00:00:00Z", "conditions": conditions}});
        if let Some(count) = count {
            object["status"]["retryCount"] = json!(count);
        }
        sentence(&serde_json::from_value(object).unwrap())
    }

    #[test]
    fn a_remediation_says_its_attempt_what_it_waits_for_what_comes_next_and_who_acts() {
        let off = "waiting for host h to be powered off";
        for (phase, count, reason, message, expected) in [
            (
                "Running",
                None,
                "WaitingForPowerOff",
                off,
                "Metal3Remediation m, attempt 1 of 2: waiting for host h to be powered off; the next attempt begins at \
                 2026-01-01T00:10:00Z (who acts: the Baremetal Operator, by itself)",
            ),
            (
                "Running",
                Some(1),
                "WaitingForDrain",
                "waiting for Node n to be drained",
                "Metal3Remediation m, attempt 2 of 2: waiting for Node n to be drained; it is given up at \
                 2026-01-01T00:10:00Z (who acts: nobody)",
            ),
            (
                "Waiting",
                None,
                "PowerCycled",
                "waiting for Machine m to be healthy; the next one begins soon",
                "Metal3Remediation m, attempt 1 of 2: waiting for Machine m to be healthy; the next one begins soon \
                 (who acts: \
                 the controllers of Cluster API, by themselves)",
            ),
            (
                "Deleting machine",
                Some(1),
                "Exhausted",
                "host h is marked as unhealthy",
                "Metal3Remediation m has ended: host h is marked as unhealthy",
            ),
            ("", None, "", "", "Metal3Remediation m has not begun"),
        ] {
            assert_eq!(of(phase, count, reason, message), expected);
        }
    }
}
