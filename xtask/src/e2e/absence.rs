//! The version of Metal3Machines that the manager reads is switched off, and the manager restarts: as after a botched
//! upgrade. No host may be touched, and the manager must say what is wrong.

use std::{fs, path::Path, time::Duration};

use anyhow::{Context, Result, ensure};

use super::{Manager, Server, Stage, health, manager::Asked};

/// How long the manager could do harm.
const WATCHED: Duration = Duration::from_secs(60);

/// Switches the version off, watches the manager, and switches it on again.
pub async fn run(stage: &Stage, manager: &mut Manager, binary: &Path, server: &Server) -> Result<()> {
    let before = stage.host_specs().await?;
    ensure!(before.values().any(|spec| spec.pointer("/image").is_some()), "no host is in use");
    let asked =
        Asked { health: health::free_port().await?, arguments: &["--release-orphaned-hosts-after=5s"] };
    stage.serve_machines(false).await?;
    manager.kill_and_restart_asked(binary, server, &asked)?;
    tokio::time::sleep(WATCHED).await;
    ensure!(stage.host_specs().await? == before, "hosts changed while Metal3Machines were not served");
    let ready = health::readyz(asked.health).await?;
    ensure!(ready.starts_with("HTTP/1.1 503") && ready.contains("Metal3Machine "), "/readyz: {ready}");
    let reported = stage.events("HostOrphaned").await?;
    ensure!(!reported.is_empty(), "no event on a host");
    let log = fs::read_to_string(server.log("manager")).context("reading the log of the manager")?;
    let warns =
        |line: &str| line.contains("\"WARN\"") && line.contains("Metal3Machine") && line.contains("served");
    ensure!(log.lines().any(warns), "no warning in the log of the manager");
    super::say(&format!(
        "{:<8}  Metal3Machines not served for {} s: hosts untouched, /readyz says {:?}, {} events",
        server.name(),
        WATCHED.as_secs(),
        ready.lines().find(|line| line.starts_with("Metal3Machine ")).unwrap_or_default(),
        reported.len()
    ));
    stage.serve_machines(true).await?;
    stage.until("the manager is ready again", async || Ok(health::is_ready(asked.health).await)).await?;
    manager.kill_and_restart(binary, server)
}
