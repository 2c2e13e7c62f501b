//! `cargo xtask full`: the long counts of every sweep, property and benchmark, with a summary at the end.
//!
//! Each part runs as a command of its own, so that a failing one does not hide the others.

use std::process::{Command, ExitCode};

use anyhow::Result;
use capm3_engine::clock::Stopwatch;

use crate::repo;

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
const PARTS: [(&str, &str); 12] = [
    ("properties", PROPERTIES),
    ("conversion and admission", CONVERSION),
    ("replicas and storms", "test --release --package capm3-lab --locked --test faults"),
    ("sweep, seed 1", "run --release --quiet --package xtask -- sweep --seed 1"),
    ("sweep, seed 2", "run --release --quiet --package xtask -- sweep --seed 2"),
    ("10,000 documents", "run --release --quiet --package xtask -- bench render --size 10000"),
    ("10,000 indexes and addresses", "run --release --quiet --package xtask -- bench allocate"),
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

/// Runs every part and prints what became of each; 1 if one failed.
pub fn run() -> Result<ExitCode> {
    let cases = std::env::var(CASES_VARIABLE).unwrap_or_else(|_| CASES.to_owned());
    println!("{cases} cases of each property ({CASES_VARIABLE})");
    let mut results = Vec::new();
    for (name, arguments) in PARTS {
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
