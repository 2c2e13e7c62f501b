//! The `capm3` binary: argument parsing and presentation only.

mod cli;
mod columns;
mod crds;
mod exit;
mod explain;
mod manager;
mod migrate;
mod paint;
mod remote;
mod render;
mod stop;
mod up;

use clap::Parser;

fn main() -> std::process::ExitCode {
    exit::report(cli::Cli::parse().run())
}
