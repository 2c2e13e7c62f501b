//! What a machine reports when the server refuses a write: a condition with a reason of its own, of the stage where the
//! pass was. Nothing else is written then; the next pass tries again.

use capm3_api::{
    conditions::Condition, neighbours::BareMetalHost, v1beta2::Metal3Machine, vocabulary::reason,
};
use capm3_domain::{
    host::annotated_host,
    wait::{Refusal, Text, Wait},
};
use capm3_engine::{ActError, Next};

use super::{Decision, Stage, decide::Pass, status::RefusedAt};
use crate::{
    batch,
    plan::{End, Plan},
    wait_throttle::is_throttled,
};

/// The refusal in a failure, if it is one that no other try overcomes by itself.
pub(super) fn of(failure: &ActError) -> Option<Refusal> {
    let cause = batch::refusal(failure)?;
    let is_of_host = failure.kind.as_ref().is_some_and(|kind| kind.kind == BareMetalHost::API.kind);
    Some(Refusal { write: Text::new(&failure.what), is_of_host, cause })
}

/// Reasons of conditions that show a refusal. A pause that cannot be written has reasons of its own, which users of the Go
/// provider know; a record of the host that cannot be read shares them.
const SHOWN_AS: [&str; 3] = [reason::WRITE_REFUSED, reason::HOST_PAUSE_FAILED, reason::HOST_UNPAUSE_FAILED];
/// The same in older conditions.
const LEGACY_SHOWN_AS: [&str; 3] =
    [reason::WRITE_REFUSED, reason::LEGACY_HOST_PAUSE_FAILED, reason::LEGACY_HOST_UNPAUSE_FAILED];

/// The refusal that the conditions show.
pub(super) fn shown(machine: &Metal3Machine) -> Option<&Condition> {
    let mut shown = machine.status.conditions.iter();
    shown.find(|shown| SHOWN_AS.contains(&shown.reason.as_str())).filter(|_| annotated_host(machine).is_ok())
}

/// Takes a refusal out of the conditions: if it still stands in the way, it is shown again.
pub(super) fn forget(machine: &mut Metal3Machine) {
    machine.status.conditions.retain(|shown| !SHOWN_AS.contains(&shown.reason.as_str()));
    let v1beta1 = machine.status.deprecated.as_mut().and_then(|deprecated| deprecated.v1beta1.as_mut());
    if let Some(v1beta1) = v1beta1 {
        let is_refusal = |reason: &str| LEGACY_SHOWN_AS.contains(&reason);
        v1beta1.conditions.retain(|shown| !shown.reason.as_deref().is_some_and(is_refusal));
    }
}

/// The text that is shown already while it is new: a server that has other words each time must not cost a write each
/// time.
fn text(old: &Metal3Machine, refusal: &Refusal, now: &str) -> Text {
    let is_new = is_throttled(&old.metadata, old.status.last_updated.as_deref(), now).is_some();
    let shown = shown(old).filter(|_| is_new);
    shown.map_or_else(|| Text::new(refusal), |shown| Text::new(&shown.message))
}

/// Ends a pass whose write was refused with a report of that.
pub(super) fn report(mut pass: Pass<'_>, refusal: &Refusal) -> Decision {
    let old = pass.snapshot.metal3_machine.as_ref();
    let judged = std::mem::replace(&mut pass.new, old.clone()).status;
    // What was seen is true; what was to come of it is not.
    pass.new.status.conditions = judged.conditions;
    pass.new.status.deprecated = judged.deprecated;
    pass.new.status.user_data = judged.user_data;
    let at = match pass.stage {
        Stage::Deletion => RefusedAt::Deletion,
        _ if pass.wakes_host && refusal.is_of_host => RefusedAt::Unpause,
        Stage::Pause if refusal.is_of_host => RefusedAt::Pause,
        stage if stage <= Stage::Host => RefusedAt::Host,
        _ => RefusedAt::MetaData,
    };
    let text = text(old, refusal, pass.now);
    pass.status().refused(at, &text);
    pass.say_now = true;
    pass.with_status.clear();
    let mut plan = Plan::done();
    pass.say(old, &mut plan, End::Done);
    pass.decision(Next::Act(plan.ending(End::WaitFor(Wait::Refused(refusal.clone())))))
}
