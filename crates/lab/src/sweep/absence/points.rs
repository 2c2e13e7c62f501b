//! The points of the absence sweep, and which of them a seed tries.

use std::time::Duration;

use capm3_engine::{Caches, ResourceKind, rng::Rng};

use crate::{faults::AnswerFault, sweep::Scenario};

/// How long a fault lasts, shorter and longer than every timeout.
const LASTS: [Duration; 2] = [Duration::from_secs(10), Duration::from_secs(3600)];

/// Without a restart of the provider and with one.
const RESTARTS: [bool; 2] = [false, true];

/// When a fault begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Moment {
    /// Before the first write.
    First,
    /// After a quarter of the provider's writes.
    Quarter,
    /// After half of them.
    Half,
    /// After three quarters of them.
    ThreeQuarters,
    /// At rest, when the scenario is over.
    AtRest,
}

impl Moment {
    const ALL: [Self; 5] = [Self::First, Self::Quarter, Self::Half, Self::ThreeQuarters, Self::AtRest];

    /// Before which of so many writes, counted from 1.
    pub(super) fn write(self, of: u64) -> Option<u64> {
        let quarters = match self {
            Self::First => 0,
            Self::Quarter => 1,
            Self::Half => 2,
            Self::ThreeQuarters => 3,
            Self::AtRest => return None,
        };
        Some(1 + of * quarters / 4)
    }
}

impl std::fmt::Display for Moment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::First => "the first write",
            Self::Quarter => "a quarter of the writes",
            Self::Half => "half of the writes",
            Self::ThreeQuarters => "three quarters of the writes",
            Self::AtRest => "rest",
        })
    }
}

/// One fault of one kind: when, for how long, with a restart of the provider or without.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AbsencePoint {
    /// Its number, from 1, in every scenario.
    pub number: u64,
    /// The kind that seems to be absent.
    pub kind: ResourceKind,
    /// How.
    pub fault: AnswerFault,
    /// When it begins.
    pub moment: Moment,
    /// For how long.
    pub lasts: Duration,
    /// Whether the provider is replaced by one with empty caches when it begins.
    pub restart: bool,
}

impl std::fmt::Display for AbsencePoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { number, kind, fault, moment, lasts, restart } = self;
        let restart = if *restart { "with" } else { "without" };
        write!(
            f,
            "point {number} ({fault} of {}.{} for {} s at {moment}, {restart} restart)",
            kind.plural,
            kind.group,
            lasts.as_secs()
        )
    }
}

/// Every point, in the order of numbers: each pair of a kind and a fault has as many as the others.
pub fn points() -> Vec<AbsencePoint> {
    let mut all = Vec::new();
    for (kind, fault) in pairs() {
        for moment in Moment::ALL {
            for lasts in LASTS {
                for restart in RESTARTS {
                    let number = all.len() as u64 + 1;
                    all.push(AbsencePoint { number, kind: kind.clone(), fault, moment, lasts, restart });
                }
            }
        }
    }
    all
}

/// The points that a seed tries in a scenario, in random order: each pair for each duration with and without restart,
/// each time at a random moment.
pub fn sample(scenario: Scenario, seed: u64) -> Vec<AbsencePoint> {
    let number = Scenario::ALL.iter().position(|it| *it == scenario).unwrap_or_default() as u64 + 1;
    let rng = Rng::seeded(seed ^ (number << 40));
    let (all, ways) = (points(), LASTS.len() * RESTARTS.len());
    let mut chosen: Vec<AbsencePoint> = Vec::new();
    for of_pair in all.chunks(Moment::ALL.len() * ways) {
        let at = |way| of_pair.get(below(&rng, Moment::ALL.len()) * ways + way).cloned();
        chosen.extend((0..ways).filter_map(at));
    }
    shuffle(&mut chosen, &rng);
    chosen
}

/// Every kind that the provider reads, with every fault that it can have.
fn pairs() -> Vec<(ResourceKind, AnswerFault)> {
    let mut caches = Caches::default();
    capm3_provider::kinds::register(&mut caches);
    let with_faults = |kind: ResourceKind| {
        let faults = AnswerFault::ALL.into_iter().filter(|fault| fault.applies_to(&kind));
        faults.map(|fault| (kind.clone(), fault)).collect::<Vec<_>>()
    };
    caches.kinds().into_iter().flat_map(with_faults).collect()
}

fn below(rng: &Rng, bound: usize) -> usize {
    usize::try_from(rng.below(bound as u64)).unwrap_or_default()
}

fn shuffle<T>(list: &mut [T], rng: &Rng) {
    for last in (1..list.len()).rev() {
        list.swap(last, below(rng, last + 1));
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_seed_tries_each_pair_for_each_duration_with_and_without_restart() {
        for scenario in Scenario::ALL {
            for seed in [1, 2, 77] {
                let tried = sample(scenario, seed);
                let pairs = pairs().len();
                assert!(pairs >= 150, "{pairs}");
                assert_eq!(tried.len(), 4 * pairs);
                let of = |point: &AbsencePoint| (point.kind.clone(), point.fault, point.lasts, point.restart);
                assert_eq!(tried.iter().map(of).collect::<BTreeSet<_>>().len(), 4 * pairs);
                let moments: BTreeSet<Moment> = tried.iter().map(|point| point.moment).collect();
                assert_eq!(moments.len(), Moment::ALL.len());
            }
        }
    }

    #[test]
    fn equal_seeds_try_equal_points_and_others_do_not() {
        let numbers = |seed| -> Vec<u64> {
            sample(Scenario::RollingUpgrade, seed).iter().map(|point| point.number).collect()
        };
        assert_eq!(numbers(1), numbers(1));
        assert_ne!(numbers(1), numbers(2));
    }

    #[test]
    fn a_number_names_one_point() {
        let all = points();
        assert!(all.len() > 3000, "{}", all.len());
        assert!(all.iter().zip(1..).all(|(point, number)| point.number == number));
    }

    #[test]
    fn moments_are_spread_over_the_writes() {
        assert_eq!(Moment::ALL.map(|moment| moment.write(40)), [Some(1), Some(11), Some(21), Some(31), None]);
        assert_eq!(Moment::ThreeQuarters.write(1), Some(1));
    }
}
