//! The condition that says whether Nodes get labels of their hosts.
//!
//! The labels are written by the controller of hosts ([`crate::label_sync`]); the annotations that ask for them stand here,
//! so this reports whether they can be read. The condition stays when they are taken away: it shows that Nodes may still have
//! such labels.

use capm3_api::{
    conditions::Condition,
    v1beta2::Metal3Cluster,
    vocabulary::{condition, reason},
};
use capm3_domain::{label_sync::Settings, wait::Wait};

use super::decide::show;
use crate::conditions::{self, Stamp};

const TYPE: &str = condition::LABEL_SYNC_ACTIVE;

pub(super) fn judge(new: &mut Metal3Cluster, stamp: Stamp<'_>) {
    let settings = Settings::of(new);
    let is_requested = Settings::is_requested(new);
    let conditions = &mut new.status.conditions;
    match settings {
        Err(error) => show(new, stamp, &Wait::LabelSync(error)),
        Ok(_) if is_requested => {
            conditions::set(conditions, stamp, TYPE, true, reason::LABEL_SYNC_ACTIVE, "");
        }
        Ok(_) if find(conditions).is_some() => {
            let message = "no annotation asks for labels; what label sync set is removed from each Node that can be reached";
            conditions::set(conditions, stamp, TYPE, false, reason::LABEL_SYNC_OFF, message);
        }
        Ok(_) => {}
    }
}

/// What is wrong with the annotations, if it was not reported before.
pub(super) fn new_problem(old: &Metal3Cluster, new: &Metal3Cluster) -> Option<String> {
    let problem = |cluster: &Metal3Cluster| {
        let condition = find(&cluster.status.conditions).filter(|c| c.reason == reason::LABEL_SYNC_INVALID);
        condition.map(|condition| condition.message.clone())
    };
    problem(new).filter(|text| problem(old).as_ref() != Some(text))
}

fn find(conditions: &[Condition]) -> Option<&Condition> {
    conditions.iter().find(|condition| condition.type_ == TYPE)
}
