//! What must hold before a change lands.

use std::process::Command;

use anyhow::{Result, bail};

use crate::{generate, readme, repo};

/// Runs every stage and prints its seconds; the first failing one ends it.
pub fn run() -> Result<()> {
    let mut seconds = Vec::new();
    stage(&mut seconds, "fmt", || command("cargo fmt --all --check"))?;
    stage(&mut seconds, "clippy", || {
        command("cargo clippy --workspace --all-targets --locked -- -D warnings")
    })?;
    stage(&mut seconds, "generated files", || generate::run(true))?;
    // `up` without `--once` runs until Ctrl-C; a test starts and stops it.
    let ends = |line: &String| line.starts_with("cargo ") && !line.ends_with(" up");
    for line in readme::commands()?.into_iter().filter(ends) {
        stage(&mut seconds, &line.clone(), || command(&line))?;
    }
    println!("\nstages:");
    for (name, took) in seconds {
        println!("{took:>7.1} s  {name}");
    }
    Ok(())
}

fn stage(seconds: &mut Vec<(String, f64)>, name: &str, work: impl FnOnce() -> Result<()>) -> Result<()> {
    println!("\n== {name}");
    #[expect(clippy::disallowed_methods, reason = "a chore reports how long it took")]
    let start = std::time::Instant::now();
    work()?;
    seconds.push((name.to_owned(), start.elapsed().as_secs_f64()));
    Ok(())
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
