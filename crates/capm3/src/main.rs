//! The `capm3` binary: argument parsing and presentation only.
#![cfg_attr(
    not(test),
    deny(
        clippy::print_stdout,
        clippy::print_stderr,
        reason = "both panic when nobody reads: use exit::print and exit::say"
    )
)]

mod cli;
mod columns;
mod crds;
mod exit;
mod explain;
mod logs;
mod manager;
mod manifests;
mod migrate;
mod numbers;
mod paint;
mod problems;
mod quote;
mod release;
mod remote;
mod render;
mod stop;
mod up;

use clap::Parser;

/// Objects come and go by the million and few sizes are alike: the allocators of C libraries slow down as such a heap
/// grows, and that of static binaries is slow from the start.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    exit::report(cli::Cli::parse().run())
}
