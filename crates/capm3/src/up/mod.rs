//! `capm3 up`: embedded API server, simulated world and provider in this process.

mod example;
mod explain;
mod table;

use std::{path::PathBuf, sync::Arc, time::Duration};

use capm3_engine::clock::Stopwatch;
use capm3_lab::{
    Lab, Options, Progress, Settled,
    manifests::{self, Manifest, ManifestError},
    report::{Report, report},
};
use capm3_world::Profile;
use clap::{Args, ValueEnum};

use crate::exit::Failure;

/// Virtual time after which a run that never comes to rest is given up.
const LONGEST_RUN: Duration = Duration::from_secs(6 * 3600);

/// Bring a cluster up on simulated racks.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    capm3 up --once                      three racks, three control-plane machines, three workers\n  \
    capm3 up --once -o json              the same as one JSON document\n  \
    capm3 up --once -f my-cluster/       your own manifests")]
pub struct UpArgs {
    /// Manifests to bring up: a file or a folder of YAML files; without it, the three-rack example
    #[arg(short = 'f', long = "filename", value_name = "PATH")]
    files: Vec<PathBuf>,

    /// End when everything is provisioned (0), or cannot be (1, with an explanation)
    #[arg(long, required = true)]
    once: bool,

    /// How the result is printed
    #[arg(short = 'o', long = "output", value_enum, default_value_t = Output::Table)]
    output: Output,

    /// How much time hosts and nodes take; the time is simulated and passes at once
    #[arg(long, value_enum, default_value_t = ProfileArg::Instant)]
    profile: ProfileArg,

    /// Seed of names, uids and durations: equal seeds give equal runs
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Output {
    /// One row a machine
    Table,
    /// One JSON document
    Json,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ProfileArg {
    /// Nothing takes time
    Instant,
    /// Seconds, to watch
    Demo,
    /// Minutes, as real hosts take
    Realistic,
}

impl From<ProfileArg> for Profile {
    fn from(profile: ProfileArg) -> Self {
        match profile {
            ProfileArg::Instant => Self::Instant,
            ProfileArg::Demo => Self::Demo,
            ProfileArg::Realistic => Self::Realistic,
        }
    }
}

/// Prints steps to stderr with the simulated time that has passed.
struct Lines {
    started: tokio::time::Instant,
}

impl Progress for Lines {
    fn step(&self, line: &str) {
        eprintln!("{:>8.1}s  {line}", self.started.elapsed().as_secs_f64());
    }
}

/// Runs the command.
pub fn run(args: &UpArgs) -> Result<(), Failure> {
    let stopwatch = Stopwatch::start();
    let manifests = read(args)?;
    // Time is virtual: it passes when nobody has anything to do, so even realistic hosts are ready at once.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    let runtime = runtime.map_err(|e| Failure::CouldNotRun(format!("cannot start the runtime: {e}")))?;
    runtime.block_on(bring_up(args, &manifests, stopwatch))
}

fn read(args: &UpArgs) -> Result<Vec<Manifest>, Failure> {
    if args.files.is_empty() {
        return example::three_racks().map_err(|e| Failure::CouldNotRun(e.to_string()));
    }
    let mut all = Vec::new();
    for path in &args.files {
        all.extend(manifests::read(path).map_err(|error: ManifestError| match error.is_usage() {
            true => Failure::Usage(error.to_string()),
            false => Failure::Invalid(error.to_string()),
        })?);
    }
    Ok(all)
}

async fn bring_up(args: &UpArgs, manifests: &[Manifest], stopwatch: Stopwatch) -> Result<(), Failure> {
    let options = Options { seed: args.seed, profile: args.profile.into(), ..Options::default() };
    let lab = Lab::start(&options).await.map_err(|e| Failure::CouldNotRun(e.to_string()))?;
    let lines: Arc<dyn Progress> = Arc::new(Lines { started: tokio::time::Instant::now() });
    lab.report_progress(&lines);
    lab.apply(manifests).await.map_err(|e| Failure::Invalid(e.to_string()))?;
    let settled = lab.settle(LONGEST_RUN).await;
    let report = report(&lab, stopwatch.elapsed().as_millis());
    print(args.output, &report)?;
    explain::judge(&lab, &report, settled == Settled::Quiet)
}

fn print(output: Output, report: &Report) -> Result<(), Failure> {
    match output {
        Output::Table => println!("{}", table::table(report)),
        Output::Json => {
            let text = serde_json::to_string_pretty(report);
            println!("{}", text.map_err(|e| Failure::CouldNotRun(e.to_string()))?);
        }
    }
    Ok(())
}
