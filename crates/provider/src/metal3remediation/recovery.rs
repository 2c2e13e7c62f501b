//! An attempt after the host may be powered on: power, then the Node back in service, then the Machine healthy.

use capm3_api::metadata::MetadataExt;
use capm3_domain::{
    remediation::{NodeBackup, RemediationWait},
    wait::{Text, Wait},
};
use jiff::SignedDuration;

use super::{
    Decision, Question, attempt,
    decide::Target,
    give_up,
    node::{self, NodePart},
    pass::Pass,
};
use crate::plan::End;

/// The next step.
pub(super) fn proceed(mut pass: Pass<'_>, target: &Target<'_>) -> Decision {
    pass.set_power_off(target.host, None);
    let is_on = target.host.status.powered_on == Some(true) && pass.power_off_of(target.host).is_none();
    let may_owe = pass.may_owe();
    let state = match (is_on, may_owe) {
        (false, _) => {
            let host = target.host.metadata.name_str().to_owned();
            State::Waits(RemediationWait::PowerOn(host).into(), None)
        }
        (true, true) => node_state(&pass, target),
        (true, false) => State::Recovered,
    };
    match (state, pass.rest(&target.strategy)) {
        (State::Ask(question), _) => Decision::ask(question),
        (State::Restore, _) => node::restore(pass).unwrap_or_else(|pass| recovered(*pass, target)),
        (State::Recovered, Some(rest)) => {
            if may_owe {
                return recovered(pass, target);
            }
            let wait = health(&pass, target, rest);
            pass.wait_at_most(wait, rest)
        }
        (State::Waits(wait, connect), Some(rest)) => pass.wait_at_most(wait, rest).connecting(connect),
        (State::Recovered | State::Waits(..), None) => attempt_failed(pass, target),
    }
}

/// How far the Node is back.
enum State {
    /// Something must be asked first.
    Ask(Question),
    /// The Node is there and lacks what it had.
    Restore,
    /// Nothing is left to do for it.
    Recovered,
    /// It is not there yet, or not known.
    Waits(Wait, Option<capm3_engine::ObjectKey>),
}

fn node_state(pass: &Pass<'_>, target: &Target<'_>) -> State {
    match node::part(pass.snapshot) {
        NodePart::None | NodePart::Forbidden => State::Recovered,
        NodePart::Unreachable(cause) => {
            let cluster = target.machine.spec.cluster_name.clone();
            State::Waits(Wait::WorkloadCluster { cluster, cause: Text::new(cause) }, None)
        }
        NodePart::NotKnown(cluster) => State::Waits(Wait::Nodes(cluster.name.clone()), Some(cluster)),
        NodePart::Absent(name) => State::Waits(RemediationWait::NodeReturn(name).into(), None),
        NodePart::There(found) if found.metadata.is_deleting() => {
            State::Waits(RemediationWait::NodeDeletion(found.metadata.name_str().to_owned()).into(), None)
        }
        // Another provider may have put the taint there without a record of ours.
        NodePart::There(_) => match pass.snapshot.node_to_read() {
            Some(question) if !node::is_answered(pass.snapshot, &question) => {
                State::Ask(Question::Node(question))
            }
            _ => State::Restore,
        },
    }
}

/// The Node has everything that it had.
fn recovered(mut pass: Pass<'_>, target: &Target<'_>) -> Decision {
    let had_backup = NodeBackup::of_remediation(&pass.snapshot.remediation).is_some();
    if had_backup || pass.progress.tainted_node.is_some() {
        pass.event_node_restored();
    }
    pass.release();
    let rest = pass.rest(&target.strategy);
    match rest {
        Some(rest) => {
            let wait = health(&pass, target, rest);
            pass.wait_at_most(wait, rest)
        }
        None => pass.finish(End::Again),
    }
}

fn health(pass: &Pass<'_>, target: &Target<'_>, rest: SignedDuration) -> RemediationWait {
    let until =
        pass.progress.last_remediated.and_then(|began| began.checked_add(target.strategy.timeout).ok());
    RemediationWait::Health {
        machine: target.machine.metadata.name_str().to_owned(),
        attempt: pass.progress.retry_count + 1,
        attempts: target.strategy.attempts().max(pass.progress.retry_count + 1),
        until: until.or_else(|| pass.now.checked_add(rest).ok()),
    }
}

/// The time of the attempt is over, and the Machine is not healthy: nobody has deleted the object.
fn attempt_failed(pass: Pass<'_>, target: &Target<'_>) -> Decision {
    match target.strategy.is_exhausted(pass.progress.retry_count) {
        true => give_up::now(pass, target),
        false => attempt::begin_again(pass, target),
    }
}
