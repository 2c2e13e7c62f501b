//! `cargo xtask sweep`: the provider is cut off before and after every write of a few stories.

use std::{
    process::ExitCode,
    sync::atomic::{AtomicU64, Ordering},
};

use anyhow::{Result, bail, ensure};
use capm3_engine::clock::Stopwatch;
use capm3_lab::sweep::{Outcome, Point, Scenario, Sweep};
use clap::Args;

/// What to sweep.
#[derive(Debug, Clone, Args)]
pub struct Options {
    /// One story: three-racks-up, rolling-upgrade, delete-cluster or pause-move-unpause (default: all)
    #[arg(long)]
    scenario: Option<String>,
    /// One point, to replay it
    #[arg(long, requires = "scenario")]
    point: Option<u64>,
    /// Seed of everything that is left to chance
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Only every so many points
    #[arg(long, default_value_t = 1)]
    every: usize,
}

/// Points that were tried and violations that were found.
#[derive(Debug, Clone, Copy, Default)]
struct Tally {
    points: u64,
    violations: u64,
}

/// Sweeps and prints; 1 when a violation was found.
pub fn run(options: &Options) -> Result<ExitCode> {
    let tally = sweep(options)?;
    println!("{} points, {} violations", tally.points, tally.violations);
    Ok(if tally.violations == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Sweeps and prints what it finds.
fn sweep(options: &Options) -> Result<Tally> {
    let scenarios = match &options.scenario {
        None => Scenario::ALL.to_vec(),
        Some(name) => match Scenario::named(name) {
            Some(scenario) => vec![scenario],
            None => bail!("no scenario {name}; there are {}", Scenario::ALL.map(Scenario::name).join(", ")),
        },
    };
    let mut all = Tally::default();
    for scenario in scenarios {
        let tally = one(scenario, options)?;
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
    let mut tally = Tally::default();
    if !undisturbed.violations.is_empty() {
        tally.violations += 1;
        println!("{scenario}: the undisturbed run already fails");
        tell(&undisturbed.violations);
    }
    let points: Vec<Point> = match options.point {
        Some(point) => {
            ensure!((1..=last).contains(&point), "{scenario} has points 1 to {last}");
            vec![Point(point)]
        }
        None => (1..=last).step_by(options.every.max(1)).map(Point).collect(),
    };
    tally.points = points.len() as u64;
    tally.violations += try_all(&sweep, scenario, options, &points, &undisturbed)?;
    let seconds = watch.elapsed().as_secs_f64();
    println!("{scenario}: {} points tried in {seconds:.0} s", tally.points);
    Ok(tally)
}

/// Tries the points on every core; violations are told in the order in which they are found.
fn try_all(
    sweep: &Sweep,
    scenario: Scenario,
    options: &Options,
    points: &[Point],
    undisturbed: &Outcome,
) -> Result<u64> {
    let (next, violations) = (AtomicU64::new(0), AtomicU64::new(0));
    let work = || -> Result<()> {
        loop {
            let at = usize::try_from(next.fetch_add(1, Ordering::Relaxed)).unwrap_or(usize::MAX);
            let Some(point) = points.get(at) else { return Ok(()) };
            let outcome = sweep.run(*point, undisturbed)?;
            if let (Some(victim), true) = (&outcome.victim, options.point.is_some()) {
                println!("{scenario}: {point}: {victim}");
            }
            if !outcome.violations.is_empty() {
                violations.fetch_add(1, Ordering::Relaxed);
                let victim = outcome.victim.as_deref().unwrap_or("not reached");
                println!("{scenario}: {point}, {victim}: VIOLATION");
                tell(&outcome.violations);
                let (point, seed) = (point.0, options.seed);
                println!("  replay: cargo xtask sweep --scenario {scenario} --point {point} --seed {seed}");
            }
        }
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..cores.min(points.len())).map(|_| scope.spawn(work)).collect();
        for worker in workers {
            match worker.join() {
                Ok(result) => result?,
                Err(_) => bail!("a run of {scenario} panicked"),
            }
        }
        Ok(())
    })?;
    Ok(violations.into_inner())
}

fn tell(violations: &[String]) {
    for violation in violations {
        println!("  {violation}");
    }
}
