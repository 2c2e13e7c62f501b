//! What a machine says when the server refuses what its look wanted to write: the condition of the step it was at. Nothing
//! else is written then; the next look tries again.

use capm3_api::{
    conditions::find,
    neighbours::BareMetalHost,
    v1beta2::Metal3Machine,
    vocabulary::{condition, reason},
};
use capm3_engine::{ActError, End, Plan};

use super::{
    Decision, Stage,
    decide::{Pass, is_provisioned},
};
use crate::{batch::refusal, patience::still_patient};

/// How every such sentence begins.
const REFUSED: &str = "the API server refuses to ";

/// The sentence for a failure, if it is one that no other try will overcome by itself.
pub(super) fn sentence(failure: &ActError) -> Option<String> {
    refusal(failure).map(|words| format!("{REFUSED}{}: {words}", failure.what))
}

/// What the server refused to the machine, as the controller said it last.
pub(super) fn said(machine: &Metal3Machine) -> Option<&str> {
    let types = [condition::PAUSED, condition::ASSOCIATE_HOST, condition::ASSOCIATE_META_DATA];
    let mut said = types.iter().filter_map(|type_| find(&machine.status.conditions, type_));
    said.find(|said| said.message.starts_with(REFUSED)).map(|said| said.message.as_str())
}

/// Takes off what was said of a refusal: if it stands in the way still, it is said again.
pub(super) fn forget(machine: &mut Metal3Machine) {
    machine.status.conditions.retain(|said| !said.message.starts_with(REFUSED));
    let v1beta1 = machine.status.deprecated.as_mut().and_then(|deprecated| deprecated.v1beta1.as_mut());
    if let Some(v1beta1) = v1beta1 {
        v1beta1.conditions.retain(|said| !said.message.as_deref().unwrap_or_default().starts_with(REFUSED));
    }
}

/// The words that are there already, where they tell of the same write and are new: a server that has others each time
/// must not cost a write each time.
fn steady<'a>(old: &'a Metal3Machine, sentence: &'a str, now: &str) -> &'a str {
    let aim = |sentence: &'a str| sentence.split_once(": ").map(|(aim, _)| aim);
    let before = said(old).filter(|said| aim(said) == aim(sentence));
    let is_new = still_patient(&old.metadata, old.status.last_updated.as_deref(), now).is_some();
    before.filter(|_| is_new).unwrap_or(sentence)
}

/// Ends a look whose writes were refused with a word about that.
pub(super) fn tell(mut pass: Pass<'_>, sentence: &str) -> Decision {
    let old = pass.snapshot.metal3_machine.as_ref();
    let sentence = steady(old, sentence, pass.now);
    let judged = std::mem::replace(&mut pass.new, old.clone()).status;
    // What was seen is true; what was to come of it is not.
    pass.new.status.conditions = judged.conditions;
    pass.new.status.deprecated = judged.deprecated;
    pass.new.status.user_data = judged.user_data;
    let (stage, wakes) = (pass.stage, pass.wakes_host);
    let is_of_host = sentence.starts_with(&format!("{REFUSED}patch {} ", BareMetalHost::API.kind));
    let failed = if is_provisioned(old) { reason::UPDATE_ERROR } else { reason::CREATE_ERROR };
    let mut status = pass.status();
    match stage {
        Stage::Deletion => status.deleting(reason::DELETION_FAILED, sentence),
        _ if wakes && is_of_host => status.pause_failed(false, sentence),
        Stage::Pause if is_of_host => status.pause_failed(true, sentence),
        stage if stage <= Stage::Host => status.host_refused(sentence),
        _ => status.meta_data_fails(failed, sentence),
    }
    pass.say_now = true;
    pass.with_status.clear();
    let mut plan = Plan::done();
    pass.say(old, &mut plan, End::Done);
    Decision { plan, stage, ..Decision::default() }
}
