//! What must hold before a change lands.

use std::process::Command;

use anyhow::{Result, bail};

use crate::{
    bench, conformance, e2e, generate, image, install, kubectl_script, node_parsers, promtool, pyyaml,
    readme, real, replicas, repo, seeds,
};

/// Why a test is ignored that a plain `cargo test` cannot run: `#[ignore = "needs Go: run by cargo xtask ci"]`.
const NEEDS_GO: &str = "needs Go";

/// Runs every stage and prints its seconds; the first failing one ends it.
pub fn run() -> Result<()> {
    let mut stages = Stages::default();
    let outcome = all(&mut stages);
    stages.print();
    outcome
}

fn all(stages: &mut Stages) -> Result<()> {
    stages.run("fmt", || command("cargo fmt --all --check"))?;
    stages.run("clippy", || command("cargo clippy --workspace --all-targets --locked -- -D warnings"))?;
    stages.run("generated files", || generate::run(true))?;
    // `up` without `--once` runs until Ctrl-C; a test starts and stops it.
    let ends = |line: &String| line.starts_with("cargo ") && !line.ends_with(" up");
    for line in readme::commands()?.into_iter().filter(ends) {
        stages.run(&line.clone(), || command(&line))?;
    }
    stages.run("crash sweep, one scenario whole", || {
        command("cargo xtask sweep --scenario pause-move-unpause")
    })?;
    stages.run("crash sweep, a sample", || command("cargo xtask sweep --every 61"))?;
    let absence = "cargo xtask sweep --fault absence --every 47";
    stages.run("absence sweep, a sample", || command(absence))?;
    stages.run("bench admission, a sample", || bench::run(&bench::Bench::sample_of_admission()))?;
    match pyyaml::obstacle() {
        None => stages.run("read back by PyYAML", pyyaml::run)?,
        Some(cause) => println!("\nleft out: reading back by PyYAML: {cause}"),
    }
    match promtool::obstacle() {
        None => stages.run("metrics and alerts by promtool", promtool::run)?,
        Some(cause) => println!("\nleft out: checks by promtool: {cause}"),
    }
    match node_parsers::obstacle() {
        None => stages.run("the model of cloud-init and the real one", || {
            node_parsers::run(&node_parsers::Options::sample())
        })?,
        Some(cause) => println!("\nleft out: the model of cloud-init and the real one: {cause}"),
    }
    match image::obstacle() {
        None => stages.run("format of the image by skopeo and umoci", image::check_format)?,
        Some(cause) => println!("\nleft out: format of the image: {cause}"),
    }
    against_the_real_server(stages)
}

/// Where Go is, nothing that needs it may be left out.
fn against_the_real_server(stages: &mut Stages) -> Result<()> {
    if let Err(cause) = real::can_build() {
        println!("\nleft out: everything on a real API server: {cause}");
        return Ok(());
    }
    stages.run("build the real API server", real::build_all)?;
    stages.run("real run", || conformance::run(&conformance::Args::default()))?;
    stages.run("real seeds", || seeds::run(&seeds::Args::default()))?;
    stages.run("real install", install::run)?;
    stages.run("real e2e", e2e::run)?;
    stages.run("real webhooks", e2e::webhooks)?;
    stages.run("real replicas, a sample", || replicas::run(&replicas::Options::sample()))?;
    stages.run("real script", || kubectl_script::run(kubectl_script::Args::default()))?;
    stages.run("tests that need Go", tests_that_need_go)
}

/// Runs the ignored tests if there are any, and fails unless each one ran.
fn tests_that_need_go() -> Result<()> {
    let mut expected = 0;
    for file in repo::rust_files(&repo::root().join("crates"))? {
        expected += count_ignored(&std::fs::read_to_string(file)?);
    }
    println!("{expected} tests are ignored because they need Go");
    if expected == 0 {
        return Ok(());
    }
    let line = "cargo test --workspace --locked -- --ignored";
    let output =
        Command::new("cargo").args(line.split_whitespace().skip(1)).current_dir(repo::root()).output()?;
    let stdout = String::from_utf8_lossy(&output.stdout);
    println!("{stdout}");
    let ran = stdout.lines().filter(|line| line.starts_with("test ") && line.ends_with(" ... ok")).count();
    if !output.status.success() || ran < expected {
        let cause = String::from_utf8_lossy(&output.stderr);
        bail!("`{line}` ran {ran} of {expected} tests that need Go ({}):\n{cause}", output.status);
    }
    Ok(())
}

fn count_ignored(source: &str) -> usize {
    source.lines().filter(|line| line.trim().starts_with(&format!("#[ignore = \"{NEEDS_GO}"))).count()
}

/// Stages so far and how long they took.
#[derive(Default)]
struct Stages(Vec<(String, f64)>);

impl Stages {
    fn run(&mut self, name: &str, work: impl FnOnce() -> Result<()>) -> Result<()> {
        println!("\n== {name}");
        #[expect(clippy::disallowed_methods, reason = "a chore reports how long it took")]
        let start = std::time::Instant::now();
        let outcome = work();
        self.0.push((name.to_owned(), start.elapsed().as_secs_f64()));
        outcome
    }

    fn print(&self) {
        println!("\nstages:");
        for (name, took) in &self.0 {
            println!("{took:>7.1} s  {name}");
        }
        println!("{:>7.1} s  together", self.0.iter().map(|(_, took)| took).sum::<f64>());
    }
}

fn command(line: &str) -> Result<()> {
    let mut words = line.split_whitespace();
    let Some(program) = words.next() else { bail!("an empty command") };
    let status = Command::new(program).args(words).current_dir(repo::root()).status()?;
    if !status.success() {
        bail!("`{line}` failed: {status}");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_tests_that_are_ignored_for_want_of_go_are_counted() {
        let source = "    #[ignore = \"needs Go: run by cargo xtask ci\"]\n#[ignore = \"slow\"]\n// #[ignore = \"needs Go\"]\n";
        assert_eq!(count_ignored(source), 1);
    }
}
