//! `cargo xtask sweep`: a fault at many points of a few scenarios; the end must be the same.

mod absence;
mod crash;
mod pool;

use std::process::ExitCode;

use anyhow::{Result, bail};
use capm3_lab::sweep::{Outcome, Scenario};
use clap::{Args, ValueEnum};

/// What to sweep.
#[derive(Debug, Clone, Args)]
pub struct Options {
    /// What goes wrong: the provider dies, or the server seems to lack what is there
    #[arg(long, value_enum, default_value_t = FaultKind::Crash)]
    fault: FaultKind,
    /// One scenario (default: all): three-racks-up, rolling-upgrade, delete-cluster, pause-move-unpause,
    /// remediation-with-taint, remediation-without-taint or remediation-exhausted
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

/// What goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum FaultKind {
    /// The provider is cut off before and after every write, and a new one takes over
    Crash,
    /// Lists, reads and watches of one kind leave out what is there, for ten seconds or an hour
    Absence,
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
    match options.fault {
        FaultKind::Crash => crash::all(&scenarios, options),
        FaultKind::Absence => absence::all(&scenarios, options),
    }
}

/// Says what an undisturbed run already does wrong; whether it does.
fn fails_undisturbed(scenario: Scenario, undisturbed: &Outcome) -> bool {
    if undisturbed.violations.is_empty() {
        return false;
    }
    println!("{scenario}: the undisturbed run already fails");
    undisturbed.violations.iter().for_each(|violation| println!("  {violation}"));
    true
}

/// A violation in one piece, because several threads print: the point, what is wrong, and how to replay it.
fn print_violations(scenario: Scenario, point: &str, violations: &[String], replay: &str) {
    let lines: String = violations.iter().map(|violation| format!("  {violation}\n")).collect();
    println!("{scenario}: {point}: VIOLATION\n{lines}  replay: cargo xtask sweep {replay}");
}
