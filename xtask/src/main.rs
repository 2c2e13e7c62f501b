//! Repository chores: `cargo xtask --help`.

mod acceptance;
mod ci;
mod readme;
mod repo;

use anyhow::Result;
use clap::{Parser, Subcommand};

/// Chores of the repository.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Xtask {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Debug, Subcommand)]
enum Chore {
    /// Write what is generated from the sources: docs/acceptance.md
    Generate {
        /// Change nothing; fail if something is out of date
        #[arg(long)]
        check: bool,
    },
    /// Everything that must hold before a change lands, seconds printed per stage
    Ci,
}

fn main() -> Result<()> {
    match Xtask::parse().chore {
        Chore::Generate { check } => acceptance::generate(check),
        Chore::Ci => ci::run(),
    }
}
