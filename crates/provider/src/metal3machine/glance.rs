//! A look at a machine that acts on nothing: what the controller would decide now, for people to read.

use std::sync::Arc;

use capm3_api::{
    conditions::find,
    metadata::MetadataExt,
    v1beta2::Metal3Machine,
    vocabulary::{condition, finalizer, reason},
};
use capm3_engine::{End, ObjectKey, Reader, Write};

use super::{Decision, Live, Nodes, Snapshot, Stage, decide, observe, refusal};
use crate::{finalizers::add_finalizer, workload::Workload};

/// What was seen and what follows from it.
#[derive(Debug, Clone)]
pub struct Glance {
    /// What was seen.
    pub snapshot: Snapshot,
    /// What the controller would do now.
    pub decision: Decision,
}

/// Looks at a machine; `None` if it is not there. The word of the reader is final, and workload clusters are not asked. The
/// CRD of hosts is taken as complete; whoever knows better says so in the snapshot and decides again.
pub fn glance(reader: &impl Reader, key: &ObjectKey) -> Option<Glance> {
    let mut snapshot = observe(reader, |_| Workload::Unknown, key)?;
    snapshot.live = Live::trusting_the_reader();
    let machine = &snapshot.metal3_machine.metadata;
    if !machine.is_deleting() && !machine.has_finalizer(finalizer::MACHINE) {
        // The controller writes it by itself and goes on: nobody waits for it.
        add_finalizer(&mut Arc::make_mut(&mut snapshot.metal3_machine).metadata, finalizer::MACHINE);
    }
    let decision = decide(&snapshot, "");
    Some(Glance { snapshot, decision })
}

impl Glance {
    /// What the machine waits for, as the controller says it; `None` if it does not wait.
    pub fn waits_for(&self) -> Option<&str> {
        if let Some(refused) = self.refused() {
            return Some(refused);
        }
        let End::WaitFor(words) = &self.decision.plan.end else { return None };
        // The Nodes are not looked at here, so of them the controller's own last word counts.
        let is_silent =
            self.decision.stage == Stage::Node && matches!(self.snapshot.nodes, Nodes::NotConnected);
        let said = said_of_node(&self.snapshot.metal3_machine).filter(|_| is_silent);
        Some(said.unwrap_or(words))
    }

    /// What the controller wants to write and the server refuses, as the controller said it.
    pub fn refused(&self) -> Option<&str> {
        let is_status = |write: &Write| matches!(write, Write::Patch { subresource: Some(_), .. });
        let is_open = !self.decision.plan.writes.iter().all(is_status);
        refusal::said(&self.snapshot.metal3_machine).filter(|_| is_open)
    }
}

/// What the controller said last of the Node that it waits for, or of those among which it cannot tell.
fn said_of_node(machine: &Metal3Machine) -> Option<&str> {
    let said = find(&machine.status.conditions, condition::ASSOCIATE_META_DATA)?;
    let is_of_node = matches!(said.reason.as_str(), reason::WAITING_FOR_NODE | reason::CREATE_ERROR);
    (is_of_node && said.status == "False").then_some(said.message.as_str())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn waits_and_conflicts_are_the_last_word_on_the_node() {
        let said = |type_: &str, status: &str, reason: &str| {
            let machine: Metal3Machine = serde_json::from_value(json!({"status": {"conditions": [
                {"type": type_, "status": status, "reason": reason, "message": "words", "lastTransitionTime": "t"}]}}))
            .unwrap();
            said_of_node(&machine).map(str::to_owned)
        };
        for (type_, status, reason, is_said) in [
            (condition::ASSOCIATE_META_DATA, "False", reason::WAITING_FOR_NODE, true),
            (condition::ASSOCIATE_META_DATA, "False", reason::CREATE_ERROR, true),
            (condition::ASSOCIATE_META_DATA, "False", reason::META_DATA_FAILED, false),
            (condition::ASSOCIATE_META_DATA, "True", reason::META_DATA_SUCCESS, false),
            (condition::ASSOCIATE_HOST, "False", reason::CREATE_ERROR, false),
        ] {
            assert_eq!(said(type_, status, reason).is_some(), is_said, "{type_} {status} {reason}");
        }
    }
}
