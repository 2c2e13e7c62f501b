//! `cargo xtask bench`: what a machine costs. Figures are counted at the server, by who asked.

mod admission;
mod allocate;
mod audit;
mod figures;
mod fleet_objects;
mod growth;
mod lint;
mod machines;
mod memory;
mod plan;
mod real;
mod render;
mod trickle;

use std::time::Duration;

use anyhow::Result;
use clap::{Args, Subcommand};

/// How long a benchmark looks whether anything is written at rest.
const REST: Duration = Duration::from_secs(60);

/// What to measure.
#[derive(Debug, Subcommand)]
pub enum Bench {
    /// A fleet comes up in process: requests and memory per machine (run it with `cargo run --release -p xtask`)
    Machines {
        #[command(flatten)]
        fleet: Fleet,
        /// Compare the cost of a machine with that in a fleet of this size
        #[arg(long, value_name = "SIZE")]
        against: Option<usize>,
        /// Print the figures for another benchmark
        #[arg(long, hide = true)]
        raw: bool,
    },
    /// The same on a real API server, with `capm3 manager` as a process (needs Go)
    Real {
        #[command(flatten)]
        fleet: Fleet,
        /// How often, each time followed by a program that sends only the writes that must happen; 0 leaves that out
        #[arg(long, default_value_t = 2)]
        rounds: usize,
        /// So many clusters of one machine instead of one cluster; there is no raw writer for them
        #[arg(long, value_name = "COUNT", conflicts_with_all = ["size", "rounds"])]
        clusters: Option<usize>,
    },
    /// Documents of many machines on one core (with `--release`)
    Render(Many),
    /// Mistakes in the objects of many machines on one core (with `--release`)
    Lint(Many),
    /// Indexes and addresses, and whether their price grows with their number (with `--release`)
    Allocate {
        #[command(flatten)]
        many: Many,
        /// Add claims one by one to a template and a pool that serve many
        #[arg(long)]
        trickle: bool,
    },
    /// The audit of a healthy fleet on one core (with `--release`)
    Audit(Many),
    /// What `capm3 plan` takes for a roll-out in a fleet that runs (with `--release`)
    Plan(Many),
    /// What the provider's caches take of a finished fleet (with `--release`)
    Memory(Many),
    /// Reviews at a fixed rate to the webhooks of a manager on loopback: latency, memory, lost answers (with `--release`)
    Admission(admission::Options),
}

impl Bench {
    /// The webhooks for a few seconds, at a low rate.
    pub fn sample_of_admission() -> Self {
        Self::Admission(admission::Options::sample())
    }
}

/// How many, and how it is printed.
#[derive(Debug, Args)]
pub struct Many {
    /// How many
    #[arg(long, default_value_t = 10_000)]
    size: usize,
    /// Print one JSON line with every figure and its budget
    #[arg(long)]
    json: bool,
}

/// How large, and how it is printed.
#[derive(Debug, Args)]
pub struct Fleet {
    /// How many workers
    #[arg(long, default_value_t = 100)]
    size: usize,
    /// Say on stderr what was asked how often
    #[arg(long)]
    by_kind: bool,
    /// Print one JSON line with every figure and its budget
    #[arg(long)]
    json: bool,
}

/// Measures and prints.
pub fn run(what: &Bench) -> Result<()> {
    let (figures, fleet) = match what {
        Bench::Machines { fleet, raw: true, .. } => return machines::run(fleet.size)?.print_raw(),
        Bench::Machines { fleet, against: Some(against), .. } => (growth::run(fleet.size, *against)?, fleet),
        Bench::Machines { fleet, .. } => (machines::run(fleet.size)?, fleet),
        Bench::Real { fleet, clusters: Some(count), .. } => (real::clusters(*count)?, fleet),
        Bench::Real { fleet, rounds, .. } => (real::run(fleet.size, *rounds)?, fleet),
        Bench::Render(many) => return render::run(many.size, many.json),
        Bench::Lint(many) => return lint::run(many.size, many.json),
        Bench::Allocate { many, trickle: true } => return trickle::run(many.size, many.json),
        Bench::Allocate { many, .. } => return allocate::run(many.size, many.json),
        Bench::Audit(many) => return audit::run(many.size, many.json),
        Bench::Plan(many) => return plan::run(many.size, many.json),
        Bench::Memory(many) => return memory::run(many.size, many.json),
        Bench::Admission(options) => return admission::run(options),
    };
    figures.print(fleet.json, fleet.by_kind);
    figures.judge()
}
