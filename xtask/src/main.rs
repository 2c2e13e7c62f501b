//! Repository chores: `cargo xtask --help`.

mod acceptance;
mod audit_log;
mod bench;
mod capi;
mod ci;
mod compare;
mod conformance;
mod debian;
mod differences;
mod e2e;
mod embedded;
mod full;
mod generate;
mod image;
mod install;
mod kubectl_script;
mod manager_process;
mod mask;
mod memory;
mod metrics_page;
mod mutate_rules;
mod node_parsers;
mod parity;
mod processor;
mod promtool;
mod pyyaml;
mod readme;
mod real;
mod replicas;
mod repo;
mod requests;
mod seeds;
mod sweep;
mod webhook_client;

use std::{ffi::OsString, process::ExitCode};

use anyhow::Result;
use clap::{Parser, Subcommand};

/// The allocator of the product, so that benchmarks measure what users run.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Chores of the repository.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Xtask {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Debug, Subcommand)]
enum Chore {
    /// Write what is generated from the sources: docs/acceptance.md, docs/lint.md, docs/metrics.md, docs/parity.md, docs/rbac.md,
    /// config
    Generate {
        /// Change nothing; fail if something is out of date
        #[arg(long)]
        check: bool,
    },
    /// Everything that must hold before a change lands, seconds printed per stage
    Ci,
    /// Measure what a machine costs
    #[command(subcommand)]
    Bench(bench::Bench),
    /// Cut the provider off at every write of a few scenarios, or hide objects from it; the end must be the same
    Sweep(sweep::Options),
    /// The long counts of every sweep, property and benchmark, with a summary at the end
    Full(full::Options),
    /// A real Kubernetes API server on this machine, built from pinned sources (needs Go)
    #[command(subcommand)]
    Real(real::Real),
    /// The pinned kubectl, built once (needs Go)
    #[command(disable_help_flag = true)]
    Kubectl {
        /// What kubectl is given
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    /// Have PyYAML read back what the renderer writes (needs Python; installs PyYAML below `target/`)
    Pyyaml,
    /// Have promtool check a scrape, the alert rules and the dashboard (needs apt-get; unpacks the tool below `target/`)
    Promtool,
    /// Have cloud-init, netplan and NetworkManager judge what the model says of them, on generated documents (needs apt-get;
    /// unpacks them below `target/`)
    NodeParsers(node_parsers::Options),
    /// Build the image of the manager as an OCI archive, without a container engine
    Image(image::Options),
    /// Leave out each rule of `capm3 lint` once; a test case must notice
    MutateRules,
    /// Print every CRD that the scenarios need, for `kubectl apply -f -`
    Crds,
}

fn main() -> ExitCode {
    match run(Xtask::parse().chore) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            // As the product does: 1 is for problems that were found, 3 for what could not be tried.
            ExitCode::from(if error.is::<real::CannotRun>() { 3 } else { 1 })
        }
    }
}

fn run(chore: Chore) -> Result<ExitCode> {
    match chore {
        Chore::Generate { check } => generate::run(check)?,
        Chore::Ci => ci::run()?,
        Chore::Bench(what) => bench::run(&what)?,
        Chore::Sweep(options) => return sweep::run(&options),
        Chore::Full(options) => return full::run(&options),
        Chore::Real(what) => return real::run(what),
        Chore::Kubectl { arguments } => return real::kubectl(&arguments),
        Chore::Pyyaml => pyyaml::run()?,
        Chore::Promtool => promtool::run()?,
        Chore::NodeParsers(options) => node_parsers::run(&options)?,
        Chore::Image(options) => image::run(&options)?,
        Chore::MutateRules => mutate_rules::run()?,
        Chore::Crds => real::print_crds()?,
    }
    Ok(ExitCode::SUCCESS)
}
