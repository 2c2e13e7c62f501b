//! The server seems to lack what is there: one kind, one fault, one moment at a time.

use std::{
    collections::BTreeMap,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use anyhow::{Result, ensure};
use capm3_engine::clock::Stopwatch;
use capm3_lab::sweep::{AbsencePoint, Scenario, Sweep, points, sample};

use super::{Options, Tally, fails_undisturbed, pool, print_violations};

/// How many points of each kind and fault were tried, and how many of them had violations.
type Pairs = BTreeMap<String, Tally>;

/// Sweeps scenario after scenario, and says at the end which faults of which kinds are not survived.
pub(super) fn all(scenarios: &[Scenario], options: &Options) -> Result<Tally> {
    let (mut all, mut pairs) = (Tally::default(), Pairs::default());
    for scenario in scenarios {
        all.violations += one(*scenario, options, &mut pairs)?;
    }
    all.points = pairs.values().map(|pair| pair.points).sum();
    for (pair, tally) in pairs.iter().filter(|(_, tally)| tally.violations > 0) {
        println!("{pair}: {} of {} points with violations", tally.violations, tally.points);
    }
    Ok(all)
}

/// Sweeps one scenario; gives the points with violations.
fn one(scenario: Scenario, options: &Options, pairs: &mut Pairs) -> Result<u64> {
    let watch = Stopwatch::start();
    let sweep = Sweep::new(scenario, options.seed)?;
    let undisturbed = sweep.undisturbed()?;
    let chosen = chosen(scenario, options)?;
    println!("{scenario}: {} provider writes, {} points", undisturbed.writes, chosen.len());
    let violations = AtomicU64::new(fails_undisturbed(scenario, &undisturbed).into());
    let tried = Mutex::new(pairs);
    pool::each(&chosen, |point| {
        let outcome = sweep.run_absence(point, &undisturbed)?;
        let is_violated = !outcome.violations.is_empty();
        if is_violated {
            violations.fetch_add(1, Ordering::Relaxed);
            let AbsencePoint { number, .. } = point;
            let replay =
                format!("--fault absence --scenario {scenario} --point {number} --seed {}", options.seed);
            print_violations(scenario, &point.to_string(), &outcome.violations, &replay);
        } else if options.point.is_some() {
            println!("{scenario}: {point}: no violation");
        }
        let mut tried = tried.lock().unwrap_or_else(PoisonError::into_inner);
        let pair = tried.entry(format!("{} {}", point.fault, point.kind.plural)).or_default();
        pair.points += 1;
        pair.violations += u64::from(is_violated);
        Ok(())
    })?;
    println!("{scenario}: {} points tried in {:.0} s", chosen.len(), watch.elapsed().as_secs_f64());
    Ok(violations.into_inner())
}

/// One point to replay, or those that the seed chooses.
fn chosen(scenario: Scenario, options: &Options) -> Result<Vec<AbsencePoint>> {
    let Some(number) = options.point else {
        return Ok(sample(scenario, options.seed).into_iter().step_by(options.every.max(1)).collect());
    };
    let all = points();
    let last = all.len();
    let found: Vec<AbsencePoint> = all.into_iter().filter(|point| point.number == number).collect();
    ensure!(!found.is_empty(), "{scenario} has points 1 to {last}");
    Ok(found)
}
