//! The command line.

use clap::{Parser, Subcommand};
use tracing::info;

use crate::{
    audit, crds,
    exit::Failure,
    explain, lint, logs,
    manager::{self, LogFormat},
    manifests, migrate, plan, release, render, up, version,
};

/// Cluster API Provider Metal3: turns Machines into bare-metal hosts, each with exactly its own metadata, addresses,
/// VLANs and bonds.
#[derive(Debug, Parser)]
#[command(name = "capm3", version, arg_required_else_help = true, after_help = EXIT_CODES)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

const EXIT_CODES: &str = "Exit codes: 0 success, 1 problems found, 2 wrong usage, 3 could not run.\n\
Data goes to stdout, everything else to stderr. To see logs, set CAPM3_LOG to a level (off, error, warn, info, \
debug, trace) or to a list such as warn,capm3_engine=debug.";

#[derive(Debug, Subcommand)]
enum Command {
    /// Bring a cluster up on simulated racks, on this computer, without Kubernetes
    Up(up::UpArgs),
    /// Run the controllers against a cluster
    Manager(Box<manager::ManagerArgs>),
    /// Print the CustomResourceDefinitions to install, for `kubectl apply -f -`
    Crds(crds::CrdsArgs),
    /// Print or write what installs the provider: for kubectl, clusterctl or kustomize
    Manifests(manifests::ManifestsArgs),
    /// Convert older manifests to v1beta2, with a report of every change
    Migrate(migrate::MigrateArgs),
    /// Print the metaData and networkData that each machine would get, without a cluster
    Render(render::RenderArgs),
    /// Find mistakes in manifests and network data, before a host boots
    Lint(lint::LintArgs),
    /// Show the state of a machine or host, what it waits for, and why each host is used or not
    Explain(explain::ExplainArgs),
    /// Show what the controllers would do: each step with its time, host, index and addresses, and where it stops
    Plan(plan::PlanArgs),
    /// Release a host whose machine is gone: its disk is deprovisioned, then any machine can use it
    Release(release::ReleaseArgs),
    /// Find leaks and contradictions between hosts, machines, data, addresses and Secrets, and repair them
    Audit(audit::AuditArgs),
    /// Print version, commit, target and API versions
    Version(version::VersionArgs),
}

impl Cli {
    /// Runs the command.
    pub fn run(self) -> Result<(), Failure> {
        let (usual, format) = match &self.command {
            Command::Manager(args) => (args.log_level(), args.logging_format()),
            _ => ("error", LogFormat::Text),
        };
        let level = logs::start(usual, format)?;
        info!(version = version::VERSION, commit = version::COMMIT, "capm3 {} starts", self.command.name());
        match self.command {
            Command::Up(args) => up::run(&args),
            Command::Manager(args) => manager::run(&args, level),
            Command::Crds(args) => crds::run(&args),
            Command::Manifests(args) => manifests::run(&args),
            Command::Migrate(args) => migrate::run(&args),
            Command::Render(args) => render::run(&args),
            Command::Lint(args) => lint::run(&args),
            Command::Explain(args) => explain::run(&args),
            Command::Plan(args) => plan::run(&args),
            Command::Release(args) => release::run(&args),
            Command::Audit(args) => audit::run(&args),
            Command::Version(args) => version::run(&args),
        }
    }
}

impl Command {
    fn name(&self) -> &'static str {
        match self {
            Self::Up(_) => "up",
            Self::Manager(_) => "manager",
            Self::Crds(_) => "crds",
            Self::Manifests(_) => "manifests",
            Self::Migrate(_) => "migrate",
            Self::Render(_) => "render",
            Self::Lint(_) => "lint",
            Self::Explain(_) => "explain",
            Self::Plan(_) => "plan",
            Self::Release(_) => "release",
            Self::Audit(_) => "audit",
            Self::Version(_) => "version",
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
