//! Takes back what a remediation has done: the host has power again, the Node its labels and no taint, and nothing holds the
//! object any more.

use capm3_api::metadata::MetadataExt;
use capm3_domain::{
    remediation::{NodeBackup, RemediationWait},
    wait::{Text, Wait},
};

use super::{Decision, Nodes, Question, node, pass::Pass};
use crate::plan::End;

/// Why a remediation ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Left {
    /// The object is being deleted.
    Deleted,
    /// The Machine is gone or being deleted, and its Node with it.
    WithoutMachine,
    /// The object stays and does nothing more, or nothing for now.
    Stopped,
}

/// Takes back what was done; `Err` if nothing is left.
pub(super) fn of(mut pass: Pass<'_>, left: Left) -> Result<Decision, Box<Pass<'_>>> {
    let snapshot = pass.snapshot;
    if !snapshot.powered_off.is_empty() {
        for host in &snapshot.powered_off {
            pass.set_power_off(host, None);
        }
        return Ok(pass.finish(End::Again));
    }
    if !pass.may_owe() {
        return Err(Box::new(pass));
    }
    match node_step(&pass, left) {
        Step::Ask(question) => Ok(Decision::ask(question)),
        // Why it has ended stays reported while it stays.
        Step::Wait(wait, connect) if left == Left::Deleted => Ok(pass.wait(wait).connecting(connect)),
        Step::Wait(wait, connect) => Ok(pass.finish(End::WaitFor(wait)).connecting(connect)),
        Step::Restore => Ok(node::restore(pass).unwrap_or_else(|pass| released(*pass))),
        Step::Done => Ok(released(pass)),
    }
}

fn released(mut pass: Pass<'_>) -> Decision {
    pass.release();
    pass.finish(End::Again)
}

enum Step {
    Ask(Question),
    Wait(Wait, Option<capm3_engine::ObjectKey>),
    Restore,
    Done,
}

/// What is to be done for the Node before the object may forget it.
fn node_step(pass: &Pass<'_>, left: Left) -> Step {
    let snapshot = pass.snapshot;
    let has_backup = NodeBackup::of_remediation(&snapshot.remediation).is_some();
    if left == Left::WithoutMachine || !(has_backup || pass.progress.tainted_node.is_some()) {
        return Step::Done;
    }
    let Some(machine) = snapshot.machine.as_ref().filter(|machine| !machine.metadata.is_deleting()) else {
        return match (snapshot.machine_key(), snapshot.machine.is_none()) {
            (Some(key), true) if !snapshot.answers.is_machine_gone => Step::Ask(Question::IsMachineGone(key)),
            _ => Step::Done,
        };
    };
    let Some(place) = snapshot.node_to_read() else { return Step::Done };
    match &snapshot.nodes {
        Nodes::NotNamed | Nodes::Forbidden => Step::Done,
        Nodes::NotConnected | Nodes::Connecting => {
            Step::Wait(Wait::Nodes(place.cluster.name.clone()), Some(place.cluster))
        }
        Nodes::Unreachable(cause) => {
            let cluster = machine.spec.cluster_name.clone();
            Step::Wait(Wait::WorkloadCluster { cluster, cause: Text::new(cause) }, None)
        }
        // Labels wait for the next Node of that name.
        Nodes::Known(None) if has_backup => {
            Step::Wait(RemediationWait::NodeReturn(place.node.name).into(), None)
        }
        // A watch may lack what is there: the record of a taint is given up only if the workload cluster itself has no such Node.
        Nodes::Known(_) if !node::is_answered(snapshot, &place) => Step::Ask(Question::Node(place)),
        Nodes::Known(_) if node::answer(snapshot, &place).is_none() && has_backup => {
            Step::Wait(RemediationWait::NodeReturn(place.node.name).into(), None)
        }
        // A taint goes with its Node.
        Nodes::Known(_) => Step::Restore,
    }
}
