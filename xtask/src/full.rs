//! `cargo xtask full`: the long counts of every sweep, property and benchmark, with a summary at the end.
//!
//! Each part runs as a command of its own, so that a failing one does not hide the others.

use std::process::{Command, ExitCode};

use anyhow::{Result, ensure};
use capm3_engine::clock::Stopwatch;
use clap::Args;

use crate::{real, repo};

/// Cases of each property, unless [`CASES_VARIABLE`] says otherwise.
const CASES: &str = "10000";
/// Names the number of cases.
const CASES_VARIABLE: &str = "CAPM3_PROPERTY_CASES";

/// Where properties are: the unit tests of these crates, and the protocol test of the server.
const PROPERTIES: &str = "test --release --locked -p capm3-api -p capm3-domain -p capm3-engine -p capm3-provider \
    -p capm3-apiserver --lib --test protocol";

/// Round trips of every kind, and a hundred arbitrary inputs for each case, into conversion and into admission.
const CONVERSION: &str =
    "test --release --locked -p capm3-api -p capm3-admission --test conversion --test arbitrary_json";

/// The parts: a name and the arguments to cargo. Sweeps and benchmarks are built for speed.
const PARTS: [(&str, &str); 30] = [
    ("properties", PROPERTIES),
    ("conversion and admission", CONVERSION),
    ("forecast equals fact", "test --release --locked --package capm3 --test forecast -- --nocapture"),
    ("plan equals fact", "test --release --locked --package capm3 --test plan_fact -- --nocapture"),
    ("each right taken away", "test --release --locked --package capm3 --test rights without -- --nocapture"),
    ("replicas and storms", "test --release --package capm3-lab --locked --test faults"),
    ("sweep, seed 1", "run --release --quiet --package xtask -- sweep --seed 1"),
    ("sweep, seed 2", "run --release --quiet --package xtask -- sweep --seed 2"),
    ("absence sweep, seed 1", "run --release --quiet --package xtask -- sweep --fault absence --seed 1"),
    ("absence sweep, seed 2", "run --release --quiet --package xtask -- sweep --fault absence --seed 2"),
    (
        "2,000 documents, cloud-init and its model",
        "run --release --quiet --package xtask -- node-parsers --documents 2000",
    ),
    ("10,000 documents", "run --release --quiet --package xtask -- bench render --size 10000"),
    ("an audit of 10,000 machines", "run --release --quiet --package xtask -- bench audit"),
    ("lint of 10,000 machines", "run --release --quiet --package xtask -- bench lint --size 10000"),
    ("10,000 indexes and addresses", "run --release --quiet --package xtask -- bench allocate"),
    (
        "one more index and address beside 10,000",
        "run --release --quiet --package xtask -- bench allocate --trickle",
    ),
    (
        "a plan among 10,000 machines",
        "run --release --quiet --package xtask -- bench plan --size 10000 --json",
    ),
    ("1,000 reviews a second", "run --release --quiet --package xtask -- bench admission --json"),
    ("the real Cluster API", "run --release --quiet --package xtask -- real e2e --capi real"),
    ("two replicas, ten kills", "run --release --quiet --package xtask -- real replicas"),
    ("image, digest twice", "run --release --quiet --package xtask -- image --twice"),
    ("image, run as a pod", "run --release --quiet --package xtask -- real image"),
    (
        "200 machines on a real server",
        "run --release --quiet --package xtask -- bench real --size 200 --by-kind --json",
    ),
    (
        "500 machines on a real server",
        "run --release --quiet --package xtask -- bench real --size 500 --json",
    ),
    (
        "200 clusters on a real server",
        "run --release --quiet --package xtask -- bench real --clusters 200 --by-kind --json",
    ),
    ("caches of 10,000 machines", "run --release --quiet --package xtask -- bench memory --size 10000"),
    ("100 machines", "run --release --quiet --package xtask -- bench machines --size 100 --json"),
    (
        "1,000 machines",
        "run --release --quiet --package xtask -- bench machines --size 1000 --against 100 --json",
    ),
    (
        "5,000 machines",
        "run --release --quiet --package xtask -- bench machines --size 5000 --against 100 --json",
    ),
    (
        "10,000 machines",
        "run --release --quiet --package xtask -- bench machines --size 10000 --against 100 --json",
    ),
];

/// What to run.
#[derive(Debug, Clone, Default, Args)]
pub struct Options {
    /// Only the parts whose name contains this
    #[arg(long, value_name = "PART")]
    only: Option<String>,
}

/// Runs the parts and prints what became of each; 1 if one failed.
pub fn run(options: &Options) -> Result<ExitCode> {
    let parts = chosen(options.only.as_deref())?;
    let cases = std::env::var(CASES_VARIABLE).unwrap_or_else(|_| CASES.to_owned());
    println!("{cases} cases of each property ({CASES_VARIABLE})");
    let mut results = Vec::new();
    for (name, arguments) in parts {
        if let Some(cause) = obstacle(arguments) {
            println!("\nleft out: {name}: {cause}");
            continue;
        }
        println!("\n== {name}: cargo {arguments}");
        let watch = Stopwatch::start();
        let mut cargo = Command::new("cargo");
        cargo.env("PROPTEST_CASES", &cases).env(CASES_VARIABLE, &cases);
        let status = cargo.args(arguments.split_whitespace()).current_dir(repo::root()).status()?;
        results.push((name, status.success(), watch.elapsed().as_secs_f64()));
    }
    println!("\nsummary:");
    for (name, ok, seconds) in &results {
        println!("{} {seconds:>8.0} s  {name}", if *ok { "ok    " } else { "FAILED" });
    }
    let all = results.iter().all(|(_, ok, _)| *ok);
    Ok(if all { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Why a part cannot run here: a real server needs Go.
fn obstacle(arguments: &str) -> Option<String> {
    real::can_build().err().filter(|_| is_real(arguments)).map(|cause| format!("{cause:#}"))
}

/// Whether a part starts a real server.
fn is_real(arguments: &str) -> bool {
    [" -- real ", " -- bench real "].iter().any(|chore| arguments.contains(chore))
}

/// The parts whose name contains `only`; an error that lists all names if there is none.
fn chosen(only: Option<&str>) -> Result<Vec<(&'static str, &'static str)>> {
    let wanted = only.unwrap_or_default();
    let chosen: Vec<_> = PARTS.into_iter().filter(|(name, _)| name.contains(wanted)).collect();
    let names = PARTS.map(|(name, _)| name).join("; ");
    ensure!(!chosen.is_empty(), "no part contains {wanted:?}; there are: {names}");
    Ok(chosen)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_on_a_real_server_are_known_by_their_chore() {
        let real: Vec<&str> =
            PARTS.into_iter().filter(|(_, arguments)| is_real(arguments)).map(|(name, _)| name).collect();
        let expected = [
            "the real Cluster API",
            "two replicas, ten kills",
            "image, run as a pod",
            "200 machines on a real server",
            "500 machines on a real server",
            "200 clusters on a real server",
        ];
        assert_eq!(real, expected);
    }

    #[test]
    fn parts_are_chosen_by_a_piece_of_their_name() {
        let names = |only| chosen(only).map(|parts| parts.iter().map(|(name, _)| *name).collect::<Vec<_>>());
        assert_eq!(names(None).unwrap().len(), PARTS.len());
        let absence = ["absence sweep, seed 1", "absence sweep, seed 2"];
        assert_eq!(names(Some("absence")).unwrap(), absence);
        let error = names(Some("nothing of that name")).unwrap_err().to_string();
        assert!(PARTS.iter().all(|(name, _)| error.contains(name)), "{error}");
    }
}
