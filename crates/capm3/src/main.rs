//! The `capm3` binary: argument parsing and presentation only.
#![cfg_attr(
    not(test),
    deny(
        clippy::print_stdout,
        clippy::print_stderr,
        reason = "both panic when nobody reads: use exit::print and exit::say"
    )
)]

mod ask;
mod audit;
mod cli;
mod columns;
mod crds;
mod exit;
mod explain;
mod lint;
mod logs;
mod manager;
mod manifests;
mod migrate;
mod numbers;
mod paint;
mod plan;
mod problems;
mod quote;
mod release;
mod remote;
mod render;
mod stop;
mod up;
mod version;

use std::{ffi::OsString, path::Path};

use clap::Parser;

/// Objects come and go by the million and few sizes are alike: the allocators of C libraries slow down as such a heap
/// grows, and that of static binaries is slow from the start.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    exit::report(cli::Cli::parse_from(arguments(std::env::args_os())).run())
}

/// A program that is called `manager` is `capm3 manager`: images of the Go provider have it as `/manager`, and existing
/// Deployments start that.
fn arguments(given: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = given.collect();
    let is_manager = |name: &OsString| Path::new(name).file_name().is_some_and(|name| name == "manager");
    if arguments.first().is_some_and(is_manager) {
        arguments.insert(1, "manager".into());
    }
    arguments
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_called_manager_is_the_manager() {
        let words = |text: &str| text.split(' ').map(OsString::from).collect::<Vec<_>>();
        for (given, expected) in [
            ("/manager --leader-elect", "/manager manager --leader-elect"),
            ("manager", "manager manager"),
            ("/usr/bin/capm3 manager", "/usr/bin/capm3 manager"),
        ] {
            assert_eq!(arguments(words(given).into_iter()), words(expected), "{given}");
        }
    }
}
