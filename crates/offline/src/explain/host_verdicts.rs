//! Every host of the machine's namespace, with the reason that it was taken or not.

use capm3_api::{metadata::MetadataExt, neighbours::BareMetalHost, vocabulary::label};
use capm3_domain::host::{Eligibility, HostChoice, HostOutcome, Ownership, annotated_host};
use capm3_engine::{Object, Reader};
use capm3_provider::{
    indexes::HOSTS_BY_NAMESPACE,
    metal3machine::{Preview, Stage, choose_host},
};
use serde::Serialize;

use super::{Site, paused, returning::leaving_consumer};

/// One host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HostLine {
    /// Name of the host.
    pub name: String,
    /// Provisioning state, empty while it has none.
    pub state: String,
    /// Where it stands.
    pub failure_domain: Option<String>,
    /// Whether the machine has it.
    pub taken: Taken,
    /// Why, in one word.
    pub reason: &'static str,
    /// Why, for people.
    pub message: String,
}

/// Whether a machine has a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Taken {
    /// It has.
    Yes,
    /// It would take this one.
    Next,
    /// It has not.
    No,
}

/// The hosts, and the choice among them where the machine is to choose.
#[derive(Debug)]
pub(super) struct Hosts {
    pub(super) lines: Vec<HostLine>,
    pub(super) choice: Option<HostChoice>,
}

pub(super) fn hosts(site: &Site, preview: &Preview<'_>) -> Hosts {
    let snapshot = &preview.snapshot;
    let machine = &snapshot.metal3_machine;
    let has_none = snapshot.host.is_none() && matches!(annotated_host(machine), Ok(None));
    let choice = (has_none && !machine.metadata.is_deleting()).then(|| choose_host(snapshot));
    let all = site.objects.by_index(&HOSTS_BY_NAMESPACE, machine.metadata.namespace_str());
    let mut lines: Vec<HostLine> =
        all.iter().map(|host| line(site, preview, choice.as_ref(), host)).collect();
    lines.sort_by_key(|line| match line.taken {
        Taken::Yes => 0,
        Taken::Next => 1,
        Taken::No => 2,
    });
    Hosts { lines, choice }
}

fn line(site: &Site, preview: &Preview<'_>, choice: Option<&HostChoice>, host: &BareMetalHost) -> HostLine {
    let (taken, reason, mut message) = own(preview, host)
        .or_else(|| choice.and_then(|choice| chosen(preview, choice, host.metadata.name_str())))
        .unwrap_or_else(|| judged(preview, host));
    if reason == "Paused" {
        message.push_str(&paused::by(host));
    }
    if taken == Taken::No && leaving_consumer(site, host).is_some() {
        message.push_str(", which is being deleted");
    }
    HostLine {
        name: host.metadata.name_str().to_owned(),
        state: host.state().to_owned(),
        failure_domain: host.metadata.label(label::FAILURE_DOMAIN).map(str::to_owned),
        taken,
        reason,
        message,
    }
}

type Judgement = (Taken, &'static str, String);

/// A host that the machine has, had or has recorded.
fn own(preview: &Preview<'_>, host: &BareMetalHost) -> Option<Judgement> {
    let snapshot = &preview.snapshot;
    if snapshot.surplus.iter().any(|surplus| surplus.key() == host.key()) {
        let message = "refers to this machine too, which does not use it: it is released";
        return Some((Taken::No, "Surplus", message.to_owned()));
    }
    if snapshot.held.iter().any(|held| held.key() == host.key()) {
        let message = "refers to this machine, which has no record of it: it is left as it is";
        return Some((Taken::No, "NotRecorded", message.to_owned()));
    }
    let is_used = snapshot.host.as_ref().is_some_and(|used| used.key() == host.key());
    is_used.then(|| match snapshot.ownership(host) {
        Ownership::Ours => (Taken::Yes, "Taken", "the host of this machine".to_owned()),
        Ownership::Nobody => (Taken::No, "Recorded", "recorded by this machine, but not claimed".to_owned()),
        Ownership::Other(other) => {
            (Taken::No, "Consumed", format!("recorded by this machine, but consumed by {other}"))
        }
    })
}

/// What the choice says of a host.
fn chosen(preview: &Preview<'_>, choice: &HostChoice, name: &str) -> Option<Judgement> {
    if let HostOutcome::Err(_) = &choice.outcome {
        return Some((Taken::No, "NotJudged", "not checked: spec.hostSelector cannot be used".to_owned()));
    }
    if let HostOutcome::Chosen(chosen) = &choice.outcome
        && chosen.host == name
    {
        let words = match preview.decision.stage {
            Stage::Host => "free: the machine takes it now",
            _ => "free: the machine would take it",
        };
        return Some((Taken::Next, "Chosen", words.to_owned()));
    }
    let verdict = choice.verdicts.iter().find(|verdict| verdict.host == name)?;
    Some((Taken::No, verdict.rejection.word(), verdict.rejection.to_string()))
}

/// What a host is to a machine that does not choose.
fn judged(preview: &Preview<'_>, host: &BareMetalHost) -> Judgement {
    let snapshot = &preview.snapshot;
    match preview.judge_host(host) {
        Eligibility::Rejected(rejection) => (Taken::No, rejection.word(), rejection.to_string()),
        Eligibility::ReservedLater(state) => (Taken::No, "NotAvailable", format!("not available: {state}")),
        Eligibility::Free | Eligibility::Reserved | Eligibility::Own => {
            let why = if snapshot.metal3_machine.metadata.is_deleting() {
                "this machine is being deleted"
            } else if snapshot.host.is_some() {
                "this machine already has a host"
            } else {
                "this machine has recorded another one"
            };
            (Taken::No, "NotNeeded", format!("usable, but {why}"))
        }
    }
}
