//! The sweeps: a fault at many points of a scenario; the end must be that of the undisturbed run.
//!
//! In the crash sweep the provider is cut off before and after every write, and a new one with empty caches takes over.
//! In the absence sweep the server seems to lack objects of one kind for a while.
//!
//! [`Scenario`] is what happens, [`Sweep::undisturbed`] counts its writes, [`Sweep::run`] tries one [`Point`] of the crash
//! sweep and [`Sweep::run_absence`] one [`AbsencePoint`]. Equal seeds and points give equal runs, so a failing point is
//! replayed by its number.

mod absence;
mod auditor;
mod end_state;
mod kept;
mod racks;
mod remediation;
mod scenario;
mod scenario_run;

use std::{sync::Arc, time::Duration};

use capm3_engine::rng::Rng;

pub use absence::{AbsencePoint, Moment, points, sample};
pub use auditor::Audited;
pub use end_state::{EndState, Mask};
pub use scenario::{Scenario, ScenarioError};
use scenario_run::Disturbance;

use crate::{
    Lab,
    faults::{CrashAtWrite, Faults, Side},
};

/// How long the provider is away where it does not come back at once.
const AWAY: Duration = Duration::from_secs(30);
/// Differences that are reported of one run; the first ones show what is wrong.
const MAX_REPORTED: usize = 5;

/// Where the provider is cut off: points 1 and 2 are before and after the first write, and so on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Point(pub u64);

impl Point {
    /// The write, counted from 1.
    pub fn write(self) -> u64 {
        self.0.div_ceil(2)
    }

    /// On which side of it.
    pub fn side(self) -> Side {
        if self.0 % 2 == 1 { Side::Before } else { Side::After }
    }
}

impl std::fmt::Display for Point {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let side = if self.side() == Side::Before { "before" } else { "after" };
        write!(f, "point {} ({side} write {})", self.0, self.write())
    }
}

/// What became of a run.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// The provider's writes in the scenario, until it was cut off.
    pub writes: u64,
    /// The write at which it was cut off.
    pub victim: Option<String>,
    /// The end.
    pub state: EndState,
    /// What must not be.
    pub violations: Vec<String>,
    /// What an audit beside the scenario found.
    pub audited: Audited,
}

/// A scenario with a seed, and what its end should be.
#[derive(Debug)]
pub struct Sweep {
    scenario: Scenario,
    seed: u64,
    mask: Mask,
}

/// Why a run could not be made at all.
#[derive(Debug, thiserror::Error)]
pub enum SweepError {
    /// The scenario could not be run.
    #[error("{scenario}: {source}")]
    Scenario {
        /// The scenario.
        scenario: Scenario,
        /// Why.
        source: ScenarioError,
    },
    /// No runtime, or a broken mask.
    #[error("the sweep cannot run")]
    Set(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl Sweep {
    /// A sweep of a scenario.
    pub fn new(scenario: Scenario, seed: u64) -> Result<Self, SweepError> {
        let mask = Mask::new().map_err(|error| SweepError::Set(error.into()))?;
        Ok(Self { scenario, seed, mask })
    }

    /// The run that nobody disturbs.
    pub fn undisturbed(&self) -> Result<Outcome, SweepError> {
        self.on_a_runtime(&Crash { cut: Arc::new(CrashAtWrite::never()), stays_away: false })
    }

    /// The run in which the provider is cut off at a point, judged by the undisturbed one.
    pub fn run(&self, point: Point, undisturbed: &Outcome) -> Result<Outcome, SweepError> {
        let cut = Arc::new(CrashAtWrite::at(point.write(), point.side()));
        let mut outcome = self.on_a_runtime(&Crash { cut, stays_away: self.stays_away(point) })?;
        if outcome.victim.is_none() {
            outcome.violations.push(format!("the provider never came to write {}", point.write()));
        }
        outcome.compare(undisturbed);
        Ok(outcome)
    }

    fn on_a_runtime(&self, disturbance: &impl Disturbance) -> Result<Outcome, SweepError> {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        let runtime = builder.enable_time().start_paused(true).build();
        let runtime = runtime.map_err(|error| SweepError::Set(error.into()))?;
        let result = runtime.block_on(self.run_scenario(disturbance));
        result.map_err(|source| SweepError::Scenario { scenario: self.scenario, source })
    }

    /// The next provider starts at once, or only after everybody else has done what they could without it.
    fn stays_away(&self, point: Point) -> bool {
        let rng = Rng::seeded(self.seed ^ (point.write() << 8));
        rng.below(2) == 1
    }
}

impl Outcome {
    /// Adds how the end differs from that of the undisturbed run.
    fn compare(&mut self, undisturbed: &Self) {
        let differences = undisturbed.state.differences(&self.state);
        let more = differences.len().saturating_sub(MAX_REPORTED);
        self.violations.extend(
            differences.into_iter().take(MAX_REPORTED).map(|line| format!("the end differs: {line}")),
        );
        if more > 0 {
            self.violations.push(format!("and {more} more differences"));
        }
    }
}

/// The provider dies once.
struct Crash {
    cut: Arc<CrashAtWrite>,
    stays_away: bool,
}

impl Disturbance for Crash {
    fn faults(&self) -> Arc<dyn Faults> {
        Arc::clone(&self.cut) as Arc<dyn Faults>
    }

    fn arm(&self) {
        self.cut.arm();
    }

    fn writes(&self) -> u64 {
        self.cut.writes()
    }

    fn victim(&self) -> Option<String> {
        self.cut.victim().map(|call| call.to_string())
    }

    async fn happened(&self) {
        self.cut.happened().await;
    }

    fn is_audited(&self) -> bool {
        true
    }

    async fn pass(&self, lab: &mut Lab) {
        lab.stop_providers();
        self.cut.over();
        if self.stays_away {
            tokio::time::sleep(AWAY).await;
        }
        lab.add_provider();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_before_and_after_each_write() {
        let shown: Vec<String> = (1..=3).map(|number| Point(number).to_string()).collect();
        assert_eq!(
            shown,
            ["point 1 (before write 1)", "point 2 (after write 1)", "point 3 (before write 2)"]
        );
    }
}
