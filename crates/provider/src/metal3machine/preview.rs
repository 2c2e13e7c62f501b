//! What the controller would decide about a machine now, for people to read. Nothing is carried out.

use std::collections::BTreeMap;

use crate::plan::End;
use capm3_api::{conditions::find, neighbours::BareMetalHost, v1beta2::Metal3Machine, vocabulary::condition};
use capm3_domain::{
    host::{Eligibility, HostRequest, eligibility, reuse_label},
    wait::{Actor, Code, Facts, Text, Wait},
};
use capm3_engine::{Object, ObjectKey, Reader, Write, clock};

use serde::Serialize;

use super::{Decision, Inputs, Live, MachineSnapshot, Nodes, Stage, decide, observe, refusal};
use crate::causes::{self, Cause};

/// What was observed and what follows from it.
#[derive(Debug, Clone)]
pub struct Preview<'r> {
    /// What was observed.
    pub snapshot: MachineSnapshot<'r>,
    /// What the controller would do now.
    pub decision: Decision,
    /// Hosts that belong to other machines, and the names of these.
    of_others: BTreeMap<String, String>,
}

/// What the controller would decide now; `None` if the machine is not there. What the reader does not show is not there, and
/// workload clusters are not asked. `host_lacks` are fields that the CRD of hosts does not have; without `knows_secrets` no
/// Secret is reported as missing.
pub fn preview<'r>(
    reader: &'r impl Reader,
    key: &ObjectKey,
    host_lacks: &[&'static str],
    knows_secrets: bool,
) -> Option<Preview<'r>> {
    let live = Live::trusting_the_reader();
    let inputs = Inputs { host_lacks, is_preview: true, knows_secrets, ..Inputs::trusting(&live) };
    let snapshot = observe(reader, &inputs, key)?;
    let decision = decide(&snapshot, "");
    let mut of_others = snapshot.candidates.all().of_others;
    of_others.extend(snapshot.of_others.clone());
    Some(Preview { snapshot, decision, of_others })
}

/// Why a machine does not make progress.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Reported {
    /// The stable code.
    pub code: Code,
    /// For people.
    #[serde(rename = "message")]
    pub text: Text,
    /// Since when, as far as the status shows it.
    pub since: Option<String>,
    /// Who must act.
    pub actor: Actor,
}

impl Preview<'_> {
    /// What a host is to the machine, going by the two alone.
    pub fn judge_host(&self, host: &BareMetalHost) -> Eligibility {
        let machine = self.snapshot.machine.as_deref().cloned().unwrap_or_default();
        let reuse = reuse_label(&machine, self.snapshot.machine_set.as_deref());
        let request =
            HostRequest::new(&self.snapshot.metal3_machine, &machine, reuse).sparing(&self.of_others);
        eligibility(&request, host)
    }

    /// What the controller would wait for now; `None` if it does not wait.
    pub fn wait(&self) -> Option<&Wait> {
        match &self.decision.plan()?.end {
            End::WaitFor(wait) | End::Retry(wait, _) => Some(wait),
            End::Done | End::Again | End::After(_) => None,
        }
    }

    /// What the machine waits for, as it is reported; `None` if it does not wait. A refusal goes first: it
    /// keeps the controller from everything else.
    pub fn reported(&self, reader: &impl Reader) -> Option<Reported> {
        if let Some(refused) = self.refused() {
            return Some(self.report(Facts::of_refusal(), refused));
        }
        let Some(wait) = self.wait() else {
            let (facts, text) = self.shown_of_deletion()?;
            return Some(self.report(facts, text));
        };
        // The Nodes are not listed here, so what the controller last reported of them counts.
        let is_blind =
            self.decision.stage == Stage::Node && matches!(self.snapshot.nodes, Nodes::NotConnected);
        let of_node = shown_of_node(&self.snapshot.metal3_machine).filter(|_| is_blind);
        let (facts, text) = of_node
            .or_else(|| self.cause(reader).map(of_cause))
            .unwrap_or_else(|| (wait.facts(), Text::new(wait)));
        Some(self.report(facts, text))
    }

    fn report(&self, facts: Facts, text: Text) -> Reported {
        Reported { code: facts.code, text, since: self.since(), actor: facts.actor }
    }

    /// Since when the machine is where it is; nothing where the status does not show it.
    pub fn since(&self) -> Option<String> {
        let machine = &self.snapshot.metal3_machine;
        if let Some(time) = &machine.metadata.deletion_timestamp {
            return Some(clock::text(time.0));
        }
        let (type_, status) = match self.decision.stage {
            // The update reports a host that is gone in this condition.
            Stage::Host if self.snapshot.is_host_gone() => (condition::ASSOCIATE_META_DATA, "False"),
            Stage::Owner | Stage::Cluster | Stage::Infrastructure | Stage::Bootstrap | Stage::Host => {
                (condition::ASSOCIATE_HOST, "False")
            }
            Stage::Pause => (condition::PAUSED, "True"),
            Stage::Data => (condition::DATA_READY, "False"),
            Stage::Provisioning => (condition::HOST_PROVISIONED, "False"),
            Stage::Node => (condition::ASSOCIATE_META_DATA, "False"),
            Stage::Ready => (condition::READY, "True"),
            Stage::Deletion => return None,
        };
        let condition = find(&machine.status.conditions, type_).filter(|c| c.status == status)?;
        Some(condition.last_transition_time.clone()).filter(|time| !time.is_empty())
    }

    /// What the object that the machine waits for waits for itself: the decision of that object's own controller.
    pub fn cause(&self, reader: &impl Reader) -> Option<Cause> {
        causes::cause(reader, &self.snapshot.metal3_machine.key(), self.wait()?)
    }

    /// What the controller reported last of a deletion that nothing here stands in the way of: what the server answers is
    /// not known here.
    fn shown_of_deletion(&self) -> Option<(Facts, Text)> {
        let machine = self.snapshot.metal3_machine.as_ref();
        let shown = find(&machine.status.conditions, condition::ASSOCIATE_META_DATA)
            .filter(|shown| shown.status == "False" && self.decision.stage == Stage::Deletion)?;
        Some((Facts::of_deletion(&shown.reason)?, Text::new(&shown.message)))
    }

    /// What the controller wants to write and the server refuses, as the controller reported it.
    pub fn refused(&self) -> Option<Text> {
        let is_status = |write: &Write| matches!(write, Write::Patch { subresource: Some(_), .. });
        let is_open = self.decision.plan().is_some_and(|plan| !plan.writes.iter().all(is_status));
        let shown = refusal::shown(&self.snapshot.metal3_machine).filter(|_| is_open)?;
        Some(Text::new(&shown.message))
    }
}

fn of_cause(cause: Cause) -> (Facts, Text) {
    (cause.wait.facts(), cause.message)
}

/// What the controller reported last of the Node that it waits for, or of those among which it cannot tell.
fn shown_of_node(machine: &Metal3Machine) -> Option<(Facts, Text)> {
    let shown = find(&machine.status.conditions, condition::ASSOCIATE_META_DATA)?;
    let facts = Facts::of_node(&shown.reason).filter(|_| shown.status == "False")?;
    Some((facts, Text::new(&shown.message)))
}

#[cfg(test)]
mod tests {
    use capm3_api::vocabulary::reason;
    use serde_json::json;

    use super::*;

    #[test]
    fn waits_and_conflicts_of_the_node_are_read_from_the_condition() {
        let code_of = |type_: &str, status: &str, reason: &str| {
            let machine: Metal3Machine = serde_json::from_value(json!({"status": {"conditions": [
                {"type": type_, "status": status, "reason": reason, "message": "words", "lastTransitionTime": "t"}]}}))
            .unwrap();
            shown_of_node(&machine).map(|(facts, _)| facts.code.to_string())
        };
        for (type_, status, reason, code) in [
            (condition::ASSOCIATE_META_DATA, "False", reason::WAITING_FOR_NODE, Some("CAPM3-W052")),
            (condition::ASSOCIATE_META_DATA, "False", reason::CREATE_ERROR, Some("CAPM3-W054")),
            (condition::ASSOCIATE_META_DATA, "False", reason::AMBIGUOUS_NODE, Some("CAPM3-W053")),
            (
                condition::ASSOCIATE_META_DATA,
                "False",
                reason::WORKLOAD_CLUSTER_UNREACHABLE,
                Some("CAPM3-W051"),
            ),
            (condition::ASSOCIATE_META_DATA, "False", reason::META_DATA_FAILED, None),
            (condition::ASSOCIATE_META_DATA, "True", reason::META_DATA_SUCCESS, None),
            (condition::ASSOCIATE_HOST, "False", reason::CREATE_ERROR, None),
        ] {
            assert_eq!(code_of(type_, status, reason).as_deref(), code, "{type_} {status} {reason}");
        }
    }
}
