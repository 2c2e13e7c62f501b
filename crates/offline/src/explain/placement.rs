//! Where a machine is to stand, where its host stands, and what is worth a word about the host of a machine that runs.

use capm3_api::{
    metadata::MetadataExt,
    neighbours::BareMetalHost,
    vocabulary::{annotation, label},
};
use capm3_domain::host::Ownership;
use capm3_provider::metal3machine::{MachineSnapshot, Stage};
use serde::Serialize;

use super::paused;

/// The failure domains of a machine.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Placement {
    /// The one that the machine was assigned to.
    pub assigned: Option<String>,
    /// That of the host that it has.
    pub of_host: Option<String>,
}

pub(super) fn placement(snapshot: &MachineSnapshot<'_>) -> Placement {
    let of_machine = snapshot.machine.as_ref().map(|machine| machine.spec.failure_domain.clone());
    let assigned = of_machine.unwrap_or_else(|| snapshot.metal3_machine.spec.failure_domain.clone());
    let of_host = own_host(snapshot).and_then(|host| host.metadata.label(label::FAILURE_DOMAIN));
    Placement {
        assigned: assigned.filter(|domain| !domain.is_empty()),
        of_host: of_host.filter(|domain| !domain.is_empty()).map(str::to_owned),
    }
}

/// What is worth a word about a host that is in use.
pub(super) fn remarks(snapshot: &MachineSnapshot<'_>, stage: Stage) -> Vec<String> {
    let Some(host) = own_host(snapshot) else { return Vec::new() };
    let elsewhere = elsewhere(&placement(snapshot), host.metadata.name_str());
    elsewhere.into_iter().chain(troubles(host).into_iter().filter(|_| stage >= Stage::Node)).collect()
}

fn own_host<'s>(snapshot: &'s MachineSnapshot<'_>) -> Option<&'s BareMetalHost> {
    let host = snapshot.host.as_deref()?;
    (snapshot.ownership(host) == Ownership::Ours).then_some(host)
}

fn elsewhere(placement: &Placement, host: &str) -> Option<String> {
    let assigned = placement.assigned.as_ref().filter(|domain| placement.of_host.as_ref() != Some(domain))?;
    Some(match &placement.of_host {
        Some(domain) => {
            format!("host {host} is in failure domain {domain}, but the machine was assigned to {assigned}")
        }
        None => format!("host {host} has no failure domain, but the machine was assigned to {assigned}"),
    })
}

/// What is wrong with a host though the node on it runs: its operator cannot help when that ends.
fn troubles(host: &BareMetalHost) -> Vec<String> {
    let (name, metadata) = (host.metadata.name_str(), &host.metadata);
    let error = host.status.error_message.as_deref().filter(|message| !message.is_empty());
    let error = error.map(|message| format!("host {name} is in error: {message}"));
    let deleted = metadata.is_deleting().then(|| format!("host {name} is being deleted"));
    let away = |key: &'static str, word: &str| {
        metadata.annotation(key).map(|_| format!("host {name} is {word} (annotation {key})"))
    };
    [
        error,
        deleted,
        away(annotation::HOST_DETACHED, "detached from its operator"),
        away(annotation::HOST_PAUSED, "paused").map(|words| words + &paused::by(host)),
    ]
    .into_iter()
    .flatten()
    .collect()
}
