//! The `capm3` binary: argument parsing and presentation only.

mod cli;
mod crds;
mod exit;
mod manager;
mod migrate;
mod render;
mod stop;
mod up;

use clap::Parser;

fn main() -> std::process::ExitCode {
    exit::report(cli::Cli::parse().run())
}
