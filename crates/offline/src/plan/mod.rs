//! What the controllers will do, step by step and with times: who comes, on which host, with which index and addresses, who goes,
//! which host returns, and where it stops.
//!
//! Takes the objects of now, changed objects, how long steps take and what fails; gives data. Every decision is made by the
//! controllers themselves: those of the provider ([`capm3_provider::dry_run`]) and those of its neighbours
//! ([`capm3_world::dry_run`]), which between two points in time run until nothing more is written. It must not guess: where the uid
//! of a machine that does not exist yet decides, every possible outcome is named.

mod candidates;
mod facts;
mod failures;
mod result;
mod simulation;
mod site;
mod steps;
mod stops;

use capm3_engine::manifests::{Document, Problem};
pub use capm3_world::Steps as Durations;
use jiff::Timestamp;

pub use self::result::{Event, HostLane, Outcome, Plan, Span, Step, Stop, StuckMachine};
use self::simulation::Simulation;
pub use self::site::wanted;

/// What is asked.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// How long steps take.
    pub durations: Durations,
    /// Hosts that fail at the start, by name.
    pub failed_hosts: Vec<String>,
    /// Failure domains whose hosts fail at the start.
    pub failed_domains: Vec<String>,
}

/// A plan, and what could not be read.
#[derive(Debug)]
pub struct Planned {
    /// The plan.
    pub plan: Plan,
    /// Objects that are left out.
    pub problems: Vec<Problem>,
}

/// Why there is no plan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// A host that is to fail is not there.
    #[error("there is no BareMetalHost {name}{hint}")]
    NoHost {
        /// Its name.
        name: String,
        /// What may be meant.
        hint: String,
    },
    /// A failure domain that is to fail has no hosts.
    #[error("no BareMetalHost has the label {label} with the value {name}{hint}")]
    NoDomain {
        /// Its name.
        name: String,
        /// The label of hosts.
        label: &'static str,
        /// What may be meant.
        hint: String,
    },
}

/// Plans from `now` on: `state` is what is there, `changes` is what is applied to it.
pub fn plan<'d>(
    state: impl IntoIterator<Item = &'d Document>,
    changes: impl IntoIterator<Item = &'d Document>,
    options: &Options,
    now: Timestamp,
) -> Result<Planned, PlanError> {
    let (memory, mut notes, problems) = site::read(state, changes, now);
    let mut simulation = Simulation::new(memory, options.durations, now);
    notes.extend(failures::fail(&mut simulation, options)?);
    let rests = simulation.run();
    Ok(Planned { plan: result::of(&mut simulation, rests, notes), problems })
}

/// The plan as YAML, in the order and with the names of its JSON form.
pub fn to_yaml(plan: &Plan) -> String {
    let value = serde_json::to_value(plan).expect("a plan is made of texts and numbers");
    crate::migrate::to_yaml(&[value])
}
