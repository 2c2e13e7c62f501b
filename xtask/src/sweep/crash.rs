//! The provider is cut off before and after every write.

use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Result, ensure};
use capm3_engine::clock::Stopwatch;
use capm3_lab::sweep::{Point, Scenario, Sweep};

use super::{Options, Tally, fails_undisturbed, pool, print_violations};

/// Sweeps scenario after scenario.
pub(super) fn all(scenarios: &[Scenario], options: &Options) -> Result<Tally> {
    let mut all = Tally::default();
    for scenario in scenarios {
        let tally = one(*scenario, options)?;
        all.points += tally.points;
        all.violations += tally.violations;
    }
    Ok(all)
}

fn one(scenario: Scenario, options: &Options) -> Result<Tally> {
    let watch = Stopwatch::start();
    let sweep = Sweep::new(scenario, options.seed)?;
    let undisturbed = sweep.undisturbed()?;
    let last = 2 * undisturbed.writes;
    println!("{scenario}: {} provider writes, {last} points", undisturbed.writes);
    let violations = AtomicU64::new(fails_undisturbed(scenario, &undisturbed).into());
    let points: Vec<Point> = match options.point {
        Some(point) => {
            ensure!((1..=last).contains(&point), "{scenario} has points 1 to {last}");
            vec![Point(point)]
        }
        None => (1..=last).step_by(options.every.max(1)).map(Point).collect(),
    };
    pool::each(&points, |point| {
        let outcome = sweep.run(*point, &undisturbed)?;
        let victim = outcome.victim.as_deref().unwrap_or("not reached");
        if options.point.is_some() {
            println!("{scenario}: {point}: {victim}");
        }
        if !outcome.violations.is_empty() {
            violations.fetch_add(1, Ordering::Relaxed);
            let replay = format!("--scenario {scenario} --point {} --seed {}", point.0, options.seed);
            print_violations(scenario, &format!("{point}, {victim}"), &outcome.violations, &replay);
        }
        Ok(())
    })?;
    let (points, seconds) = (points.len() as u64, watch.elapsed().as_secs_f64());
    println!("{scenario}: {points} points tried in {seconds:.0} s");
    Ok(Tally { points, violations: violations.into_inner() })
}
