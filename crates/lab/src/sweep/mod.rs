//! The crash sweep: the provider is cut off before and after every write that a story needs, a new one with empty
//! caches takes over, and the end must be that of the run that nobody disturbed.
//!
//! [`Scenario`] is the story, [`Sweep::undisturbed`] counts its writes, [`Sweep::run`] tries one [`Point`]. Equal
//! seeds and points give equal runs, so a failing point is replayed by its number.

mod end_state;
mod kept;
mod racks;
mod scenario;

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use capm3_engine::rng::Rng;

pub use end_state::{EndState, Mask};
use kept::Kept;
pub use scenario::{Scenario, ScenarioError};

use crate::{
    Lab, Options, Settled,
    faults::{Cut, Side},
    invariants::{leaks, mix_ups},
};

/// Longest virtual time that a step may take.
const LIMIT: Duration = Duration::from_secs(3 * 3600);
/// Virtual time in which nothing may be written at the end.
const SILENCE: Duration = Duration::from_secs(60);
/// How long the provider is away where it does not come back at once.
const AWAY: Duration = Duration::from_secs(30);
/// Differences that are told of one run; the first ones say what is wrong.
const TOLD: usize = 5;

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
    /// The provider's writes in the story, until it was cut off.
    pub writes: u64,
    /// The write at which it was cut off.
    pub victim: Option<String>,
    /// The end.
    pub state: EndState,
    /// What must not be.
    pub violations: Vec<String>,
}

/// A story with a seed, and what its end should be.
#[derive(Debug)]
pub struct Sweep {
    scenario: Scenario,
    seed: u64,
    mask: Mask,
}

/// Why a run could not be made at all.
#[derive(Debug, thiserror::Error)]
pub enum SweepError {
    /// The story could not be told.
    #[error("{scenario}: {source}")]
    Scenario {
        /// The story.
        scenario: Scenario,
        /// Why.
        source: ScenarioError,
    },
    /// No runtime, or a broken mask.
    #[error("the sweep cannot run")]
    Set(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl Sweep {
    /// A sweep of a story.
    pub fn new(scenario: Scenario, seed: u64) -> Result<Self, SweepError> {
        let mask = Mask::new().map_err(|error| SweepError::Set(error.into()))?;
        Ok(Self { scenario, seed, mask })
    }

    /// The run that nobody disturbs.
    pub fn undisturbed(&self) -> Result<Outcome, SweepError> {
        self.on_a_runtime(None)
    }

    /// The run in which the provider is cut off at a point, judged by the undisturbed one.
    pub fn run(&self, point: Point, undisturbed: &Outcome) -> Result<Outcome, SweepError> {
        let mut outcome = self.on_a_runtime(Some(point))?;
        if outcome.victim.is_none() {
            outcome.violations.push(format!("the provider never came to write {}", point.write()));
        }
        let differences = undisturbed.state.differences(&outcome.state);
        let more = differences.len().saturating_sub(TOLD);
        outcome
            .violations
            .extend(differences.into_iter().take(TOLD).map(|line| format!("the end differs: {line}")));
        if more > 0 {
            outcome.violations.push(format!("and {more} more differences"));
        }
        Ok(outcome)
    }

    fn on_a_runtime(&self, point: Option<Point>) -> Result<Outcome, SweepError> {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        let runtime = builder.enable_time().start_paused(true).build();
        let runtime = runtime.map_err(|error| SweepError::Set(error.into()))?;
        let told = runtime.block_on(self.tell(point));
        told.map_err(|source| SweepError::Scenario { scenario: self.scenario, source })
    }

    async fn tell(&self, point: Option<Point>) -> Result<Outcome, ScenarioError> {
        let cut = Arc::new(point.map_or_else(Cut::never, |point| Cut::at(point.write(), point.side())));
        let faults = Arc::clone(&cut);
        let options = Options { seed: self.seed, faults, remembered: Some(usize::MAX), ..Options::default() };
        let mut lab = Lab::start(&options).await?;
        let manifests = self.scenario.manifests()?;
        let mut violations = Vec::new();
        if self.scenario.starts_up() {
            lab.apply(&manifests).await?;
            violations.extend(self.rest(&mut lab, &cut, point).await);
        }
        let before = Kept::of(&lab);
        cut.arm();
        for step in self.scenario.steps() {
            violations.extend(self.scenario.take(*step, &mut lab, &options).await?);
            violations.extend(self.rest(&mut lab, &cut, point).await);
        }
        let writes = cut.writes();
        violations.extend(self.scenario.missing(&lab));
        violations.extend(before.lost(&Kept::of(&lab), self.scenario.keeps()));
        violations.extend(noise(&lab).await);
        violations.extend(mix_ups(lab.server()));
        let given: BTreeSet<String> =
            manifests.iter().filter(|m| m.kind() == "Secret").map(|m| m.key().name).collect();
        violations.extend(leaks(&lab.server().objects(None), &given));
        let workload = format!("{}/{}", racks::NAMESPACE, racks::CLUSTER);
        let state = EndState::of(lab.server(), &workload, &self.mask);
        let victim = cut.victim().map(|call| call.to_string());
        Ok(Outcome { writes, victim, state, violations })
    }

    /// Waits for rest; replaces the provider when it is cut off meanwhile.
    async fn rest(&self, lab: &mut Lab, cut: &Cut, point: Option<Point>) -> Option<String> {
        let end = tokio::time::Instant::now() + LIMIT;
        loop {
            let left = end.duration_since(tokio::time::Instant::now());
            tokio::select! {
                biased;
                () = cut.happened() => {}
                settled = lab.settle(left) => {
                    return (settled == Settled::Busy).then(|| "it never came to rest".to_owned());
                }
            }
            lab.stop_providers();
            cut.over();
            if self.stays_away(point) {
                tokio::time::sleep(AWAY).await;
            }
            lab.add_provider();
        }
    }

    /// The next provider starts at once, or only after everybody else has done what they could without it.
    fn stays_away(&self, point: Option<Point>) -> bool {
        let rng = Rng::seeded(self.seed ^ point.map_or(0, |point| point.write() << 8));
        rng.below(2) == 1
    }
}

/// Writes at rest.
async fn noise(lab: &Lab) -> Option<String> {
    let before = writes(lab);
    tokio::time::sleep(SILENCE).await;
    let after = writes(lab);
    (after != before).then(|| format!("{} writes in {} s at rest", after - before, SILENCE.as_secs()))
}

fn writes(lab: &Lab) -> u64 {
    let requests = lab.server().requests();
    let writes = requests.iter().filter(|r| !matches!(r.verb.as_str(), "get" | "list" | "watch"));
    writes.map(|r| r.count).sum()
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
