//! What a machine says when the server refuses what its look wanted to write: the condition of the step it was at. Nothing
//! else is written then; the next look tries again.

use capm3_api::{conditions::find, v1beta2::Metal3Machine, vocabulary::condition, vocabulary::reason};
use capm3_engine::{ActError, End, Plan};

use super::{
    Decision, Stage,
    decide::{Pass, is_provisioned},
};
use crate::batch::refusal;

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

/// Ends a look whose writes were refused with a word about that.
pub(super) fn tell(mut pass: Pass<'_>, sentence: &str) -> Decision {
    let old = pass.snapshot.metal3_machine.as_ref();
    let judged = std::mem::replace(&mut pass.new, old.clone()).status;
    // What was seen is true; what was to come of it is not.
    pass.new.status.conditions = judged.conditions;
    pass.new.status.deprecated = judged.deprecated;
    let (stage, wakes) = (pass.stage, pass.wakes_host);
    let failed = if is_provisioned(old) { reason::UPDATE_ERROR } else { reason::CREATE_ERROR };
    let mut status = pass.status();
    match stage {
        Stage::Deletion => status.deleting(reason::DELETION_FAILED, sentence),
        Stage::Pause => status.pause_failed(true, sentence),
        _ if wakes => status.pause_failed(false, sentence),
        stage if stage <= Stage::Host => status.host_refused(sentence),
        _ => status.meta_data_fails(failed, sentence),
    }
    pass.say_now = true;
    pass.with_status.clear();
    let mut plan = Plan::done();
    pass.say(old, &mut plan, End::Done);
    Decision { plan, stage, ..Decision::default() }
}
