//! What a Metal3Data and its claim say about how far they are: `ready`, `errorMessage`, the condition `Ready`, events.

use crate::plan::Plan;
use capm3_api::{
    conditions::{Condition, find},
    metadata::MetadataExt,
    v1beta2::{Metal3Data, Metal3DataClaim},
    vocabulary::{condition, event, reason},
};
use capm3_domain::wait::Wait;
use capm3_engine::EventNote;

use super::secrets::SecretReport;
use crate::conditions::{Stamp, set};

/// Longest text that the schema allows in `status.errorMessage`.
const LONGEST_MESSAGE: usize = 512;

/// How far a data object is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DataState {
    ready: bool,
    reason: &'static str,
    message: String,
    /// What events say of a failure.
    advice: String,
    /// Whether somebody must act.
    is_failure: bool,
    /// Whether somebody may want to know, although all is well.
    differs: bool,
}

impl DataState {
    /// Every Secret is there; the message has their digests.
    pub(super) fn rendered(report: &SecretReport) -> Self {
        let message = report.message.clone();
        let advice = String::new();
        Self {
            ready: true,
            reason: reason::RENDERED,
            message,
            advice,
            is_failure: false,
            differs: report.differs,
        }
    }

    pub(super) fn waiting(wait: &Wait) -> Self {
        let reason = wait.facts().shown.map_or(reason::NOT_READY, |shown| shown.reason);
        let (advice, is_failure) = match wait {
            Wait::DataError(error) => (error.advice().to_string(), true),
            _ => (String::new(), false),
        };
        let message = wait.message().to_string();
        Self { ready: false, reason, message, advice, is_failure, differs: false }
    }
}

/// Writes the state into the data's status. `secrets_missing`: whether `ready` must be taken back.
pub(super) fn report_on_data(
    plan: &mut Plan,
    old: &Metal3Data,
    new: &mut Metal3Data,
    state: &DataState,
    secrets_missing: bool,
    now: &str,
) {
    let was_unreported = find(&old.status.conditions, condition::READY).is_none();
    let status = &mut new.status;
    if state.ready {
        status.ready = Some(true);
    } else if secrets_missing && (state.is_failure || status.ready == Some(true)) {
        status.ready = Some(false);
    }
    status.error_message = state.is_failure.then(|| shortened(&state.message));
    let stamp = Stamp { now, generation: old.metadata.generation };
    let changed = put(&mut status.conditions, stamp, state);
    if changed {
        note(plan, state, |reason, message| EventNote::warning(old, reason, message));
        if !state.ready && !state.is_failure {
            plan.event(EventNote::normal(old, state.reason, &state.message));
        } else if state.differs {
            plan.event(EventNote::warning(old, event::RENDER_DIFFERS, &state.message));
        } else if state.ready {
            // The condition reports it. It is an event only after something else was reported.
            let note = EventNote::normal(old, event::RENDERED, &state.message);
            plan.event(if was_unreported { note.only_logged() } else { note });
        }
    }
}

/// Repeats it on the claim, where the machine's owner looks first. Readiness is reported only after something else was:
/// `renderedData` shows it, and one write per machine counts.
pub(super) fn report_on_claim(plan: &mut Plan, claim: &Metal3DataClaim, state: &DataState, now: &str) {
    let was_unreported = claim.status.conditions.is_empty() && claim.status.error_message.is_none();
    if claim.metadata.is_deleting() || state.ready && was_unreported {
        return;
    }
    let mut new = claim.clone();
    new.status.error_message = state.is_failure.then(|| shortened(&state.message));
    let reported = DataState {
        // The digests are the data's business.
        message: if state.ready { String::new() } else { state.message.clone() },
        ..state.clone()
    };
    let stamp = Stamp { now, generation: claim.metadata.generation };
    let changed = put(&mut new.status.conditions, stamp, &reported);
    if changed {
        note(plan, &reported, |reason, message| EventNote::warning(claim, reason, message));
    }
    plan.update_status(claim, &new);
}

fn note(plan: &mut Plan, state: &DataState, event: impl Fn(&'static str, &str) -> EventNote) {
    if state.is_failure {
        plan.event(event(state.reason, &state.advice));
    }
}

/// Sets `Ready`; answers whether it says anything new.
fn put(conditions: &mut Vec<Condition>, stamp: Stamp<'_>, state: &DataState) -> bool {
    let status = if state.ready { "True" } else { "False" };
    let says = |c: &Condition| c.status == status && c.reason == state.reason && c.message == state.message;
    if find(conditions, condition::READY).is_some_and(says) {
        return false;
    }
    set(conditions, stamp, condition::READY, state.ready, state.reason, state.message.clone());
    true
}

fn shortened(message: &str) -> String {
    message.chars().take(LONGEST_MESSAGE).collect()
}

/// Whether every document was rendered before.
pub(super) fn was_rendered(data: &Metal3Data) -> bool {
    find(&data.status.conditions, condition::READY).is_some_and(|ready| ready.reason == reason::RENDERED)
}

/// Whether the condition shows these documents.
pub(super) fn is_rendered_as(data: &Metal3Data, report: &SecretReport) -> bool {
    find(&data.status.conditions, condition::READY).is_some_and(|ready| ready.message == report.message)
}
