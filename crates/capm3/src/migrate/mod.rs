//! `capm3 migrate`: older manifests to v1beta2.

mod report;

use std::path::PathBuf;

use capm3_engine::manifests;
use capm3_offline::migrate::{self, Migration, Options};
use clap::{Args, ValueEnum};
use tracing::info;

use crate::exit::{self, Failure};

/// What `migrate` takes.
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub struct MigrateArgs {
    /// Files or folders of manifests, or - for standard input
    #[arg(short, long = "filename", required = true, value_name = "FILE")]
    filename: Vec<PathBuf>,
    /// Remove fields that no version knows, instead of reporting them as errors
    #[arg(long)]
    prune: bool,
    /// Write only what the reference implementation also supports: an IPPool for each inline range, with the same address
    /// for each index
    #[arg(long)]
    portable: bool,
    /// What to print: the documents as YAML, with the report on stderr, or both together as JSON
    #[arg(short, long, value_enum, default_value_t = Output::Yaml)]
    output: Output,
}

const HELP: &str = "Reads manifests of any version from v1alpha4 on, corrects common mistakes in them, and prints \
them as v1beta2. The fields of a document decide how it is read, not its apiVersion. Every change is reported on \
stderr with file, line and reason. If a field can be read in two ways with different effects, neither is chosen: \
the error proposes what to write, and the exit code is 1.";

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Output {
    Yaml,
    Json,
}

/// Runs `migrate`.
pub fn run(args: &MigrateArgs) -> Result<(), Failure> {
    let texts = manifests::texts(&args.filename)?;
    info!(files = texts.len(), "manifests are read");
    let migration = migrate::migrate_texts(&texts, Options { prune: args.prune, portable: args.portable });
    print(&migration, args.output)?;
    if migration.has_errors() { Err(Failure::Problems) } else { Ok(()) }
}

fn print(migration: &Migration, output: Output) -> Result<(), Failure> {
    match output {
        Output::Json => exit::print_json(serde_json::to_string_pretty(migration)),
        Output::Yaml => {
            exit::print(&migrate::to_yaml(&migration.documents))?;
            let report = report::text(migration);
            report.lines().for_each(exit::say);
            Ok(())
        }
    }
}
