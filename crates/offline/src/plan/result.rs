//! A plan as data, and how it is made of a simulation that is at rest.

use std::collections::BTreeSet;

use capm3_domain::wait::{Actor, Code};
use serde::Serialize;

use super::{simulation::Simulation, stops};
use crate::explain::Advice;

/// What will happen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Plan {
    /// Whether everybody who asks for machines has them, ready and up to date, in the end.
    pub finishes: bool,
    /// After how many seconds nothing happens any more.
    pub seconds: u64,
    /// What happens, in order.
    pub steps: Vec<Step>,
    /// Every machine as it is in the end.
    pub machines: Vec<Outcome>,
    /// Who does not get what they ask for, and why.
    pub stops: Vec<Stop>,
    /// Hosts to which something happens, with what they do when.
    pub hosts: Vec<HostLane>,
    /// What the plan takes for granted.
    pub notes: Vec<String>,
}

/// What happens to a machine or a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Event {
    /// A host fails, as was asked.
    HostFails,
    /// A machine begins to go: its host is deprovisioned and cleaned.
    MachineGoes,
    /// A machine is gone.
    MachineGone,
    /// A host is available again.
    HostReturns,
    /// A machine is created and waits for a host.
    MachineComes,
    /// A machine takes a host, and its image is written.
    MachineTakesHost,
    /// A machine gets its data later than its host.
    MachineGetsData,
    /// A machine is ready: its Node has joined.
    MachineReady,
}

/// One step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Step {
    /// Seconds from the start.
    pub at: u64,
    /// What happens.
    pub event: Event,
    /// Namespace.
    pub namespace: String,
    /// Who asks for the machine, as `kind/name`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// The machine; one that does not exist yet is numbered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine: Option<String>,
    /// The host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// The hosts among which a uid that is not known yet decides; empty if the host is certain.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub possible_hosts: BTreeSet<String>,
    /// The failure domain of the host, and those of all possible ones.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub racks: BTreeSet<String>,
    /// The data template; several if it depends on the host.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub data_templates: BTreeSet<String>,
    /// The index; several if machines that come together share them; none if it depends on other machines' hosts.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub indexes: BTreeSet<i64>,
    /// The addresses, each after its pool, in the same way.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub addresses: BTreeSet<String>,
    /// For whom the host is kept, as the value of its node-reuse label.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kept_for: Option<String>,
}

/// A machine in the end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Outcome {
    /// Namespace.
    pub namespace: String,
    /// The machine; one that does not exist yet is numbered.
    pub machine: String,
    /// Who asks for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// Whether it does not exist yet.
    pub is_new: bool,
    /// Whether its Node has joined.
    pub is_ready: bool,
    /// Its host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// As in [`Step`].
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub possible_hosts: BTreeSet<String>,
    /// As in [`Step`].
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub racks: BTreeSet<String>,
    /// As in [`Step`].
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub data_templates: BTreeSet<String>,
    /// As in [`Step`].
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub indexes: BTreeSet<i64>,
    /// As in [`Step`].
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub addresses: BTreeSet<String>,
}

/// Somebody who asks for machines and does not get them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Stop {
    /// Who, as `kind/name`.
    pub owner: String,
    /// Namespace.
    pub namespace: String,
    /// How many machines are asked for.
    pub wanted: u64,
    /// How many of these are there, ready and up to date.
    pub reached: u64,
    /// Why, where no machine tells.
    pub why: Vec<String>,
    /// What would help.
    pub what_to_do: Vec<Advice>,
    /// The machines that do not make progress.
    pub machines: Vec<StuckMachine>,
    /// How many more there are.
    pub more: usize,
}

/// A machine that does not make progress, as `explain` says it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StuckMachine {
    /// Which.
    pub machine: String,
    /// Where it stands.
    pub stands: String,
    /// The code of its wait.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<Code>,
    /// Why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// How many hosts were not taken for which kind of reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host_counts: Option<String>,
    /// Who must act.
    pub who: Actor,
    /// What would help.
    pub what_to_do: Vec<Advice>,
}

/// What a host does when.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HostLane {
    /// Namespace.
    pub namespace: String,
    /// The host.
    pub host: String,
    /// Its failure domain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rack: Option<String>,
    /// Its states, in order.
    pub spans: Vec<Span>,
}

/// A state of a host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Span {
    /// Seconds from the start.
    pub from: u64,
    /// Until when.
    pub to: u64,
    /// The provisioning state.
    pub state: String,
    /// The machine that uses it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine: Option<String>,
}

/// The plan of a simulation that is at rest, or was given up.
pub(super) fn of(simulation: &mut Simulation, rests: bool, mut notes: Vec<String>) -> Plan {
    let stops = stops::stops(simulation, rests);
    let seconds = simulation.last_event();
    if !rests {
        notes.push("the controllers do not come to rest; the plan ends where it was given up".to_owned());
    }
    let (steps, machines, hosts) = simulation.take_story();
    Plan { finishes: rests && stops.is_empty(), seconds, steps, machines, stops, hosts, notes }
}
