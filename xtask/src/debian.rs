//! Programs of Debian packages, unpacked below `target/`; nothing is installed.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, bail, ensure};

use crate::repo;

/// Fetches packages once and unpacks them; gives the folder that would be `/`. Its name below `target/` is given.
pub fn unpacked(folder: &str, packages: &[String]) -> Result<PathBuf> {
    let work = repo::root().join("target").join(folder);
    let root = work.join("root");
    if root.exists() {
        return Ok(root);
    }
    fs::create_dir_all(&work)?;
    // Without lists of packages the first try fails; updating them needs root.
    if let Err(first) = download(&work, packages) {
        update().with_context(|| format!("{first:#}"))?;
        download(&work, packages)?;
    }
    let unpacking = work.join("unpacking");
    let fetched = fetched(&work)?;
    for package in &fetched {
        finish(Command::new("dpkg").arg("-x").arg(package).arg(&unpacking))?;
    }
    for package in fetched {
        fs::remove_file(package)?;
    }
    // Only now: whoever is interrupted starts again.
    fs::rename(unpacking, &root)?;
    Ok(root)
}

/// Brings the lists of packages up to date.
pub fn update() -> Result<()> {
    finish(Command::new("apt-get").args(["update", "-qq"]))
}

/// The packages that one needs, and those need, whose names begin with one of these.
pub fn needed_by(package: &str, beginnings: &[&str]) -> Result<Vec<String>> {
    let mut ask = Command::new("apt-cache");
    ask.args(["depends", "--recurse", "--important", package]);
    let output = ask.output().context("starting apt-cache")?;
    ensure!(output.status.success(), "{ask:?} failed: {}", output.status);
    let text = String::from_utf8_lossy(&output.stdout);
    // A name at the beginning of a line is a package; what it depends on is indented.
    let is_wanted = |line: &&str| beginnings.iter().any(|beginning| line.starts_with(beginning));
    let names: BTreeSet<&str> = text.lines().filter(is_wanted).collect();
    Ok(names.into_iter().map(|name| name.split(':').next().unwrap_or(name).to_owned()).collect())
}

fn download(work: &Path, packages: &[String]) -> Result<()> {
    finish(Command::new("apt-get").args(["download", "-qq"]).args(packages).current_dir(work))
}

fn fetched(work: &Path) -> Result<Vec<PathBuf>> {
    let mut packages = Vec::new();
    for entry in fs::read_dir(work)? {
        let path = entry?.path();
        if path.extension().is_some_and(|it| it == "deb") {
            packages.push(path);
        }
    }
    if packages.is_empty() {
        bail!("apt-get has left no package in {}", work.display());
    }
    Ok(packages)
}

/// Runs a command to its end.
pub fn finish(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("starting {command:?}"))?;
    ensure!(status.success(), "{command:?} failed: {status}");
    Ok(())
}
