//! `cargo xtask bench`: what a machine costs. Figures are counted at the server, by who asked.

mod machines;

use anyhow::Result;
use clap::Subcommand;

/// What to measure.
#[derive(Debug, Subcommand)]
pub enum Bench {
    /// A fleet comes up in process: requests and memory per machine (run it with `cargo run --release -p xtask`)
    Machines {
        /// How many workers
        #[arg(long, default_value_t = 100)]
        size: usize,
        /// Print one JSON line with every figure and its budget
        #[arg(long)]
        json: bool,
    },
}

/// Measures and prints.
pub fn run(what: &Bench) -> Result<()> {
    match what {
        Bench::Machines { size, json } => machines::run(*size, *json),
    }
}
