//! The real clusterctl.

use std::{path::Path, process::Command};

use anyhow::{Context, Result, ensure};

use super::repository::Repository;
use crate::real::{Binary, ensure_built};

/// Runs it with the repository as its only one; what it prints.
pub fn run(repository: &Repository, arguments: &[&str], variables: &[(String, String)]) -> Result<String> {
    let binary = ensure_built(Binary::Clusterctl)?;
    let output = Command::new(&binary)
        .args(arguments)
        .arg("--config")
        .arg(repository.configuration())
        // Nothing of the user who runs us is read or changed, and nobody is asked for a newer version.
        .env("HOME", repository.home())
        .env("XDG_CONFIG_HOME", repository.home())
        .env("CLUSTERCTL_DISABLE_VERSIONCHECK", "true")
        .env("CLUSTER_TOPOLOGY", "true")
        .env_remove("KUBECONFIG")
        .envs(variables.iter().map(|(name, value)| (name, value)))
        .output()
        .with_context(|| format!("starting {}", binary.display()))?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "clusterctl {}: {}\n{stderr}", arguments.join(" "), output.status);
    Ok(String::from_utf8(output.stdout)?)
}

/// Installs every provider of the repository.
pub fn init(repository: &Repository, kubeconfig: &Path) -> Result<()> {
    let kubeconfig = text(kubeconfig)?;
    let mut arguments = vec!["init", "--kubeconfig", kubeconfig];
    arguments.extend(repository.wanted.iter().map(String::as_str));
    run(repository, &arguments, &[]).map(drop)
}

/// Moves the clusters of a namespace.
pub fn move_to(repository: &Repository, from: &Path, to: &Path, namespace: &str) -> Result<()> {
    let arguments = ["move", "--kubeconfig", text(from)?, "--to-kubeconfig", text(to)?, "-n", namespace];
    run(repository, &arguments, &[]).map(drop)
}

fn text(path: &Path) -> Result<&str> {
    path.to_str().context("a path that is not text")
}
