//! `cargo xtask real e2e`: the three racks on a real API server, with the manager and the world as two clients of it.
//!
//! Up, rest, scale with the manager killed in the middle, scale down, delete. What is demanded is what the embedded
//! runs are judged by: the same rows, nothing used twice, nothing left, silence at rest.

mod audit;
mod judge;
mod manager;
mod stage;

use std::{fs, time::Duration};

use anyhow::{Context, Result, ensure};

use self::{manager::Manager, stage::Stage};
use crate::{real::Cluster, repo};

/// How long the manager is watched at rest.
const REST: Duration = Duration::from_secs(60);

/// Runs the scenario on a cluster that is started for it.
pub fn run() -> Result<()> {
    let cluster = Cluster::start()?;
    let kubeconfig = fs::read_to_string(cluster.kubeconfig()).context("reading the kubeconfig")?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(scenario(&cluster, &kubeconfig))
}

async fn scenario(cluster: &Cluster, kubeconfig: &str) -> Result<()> {
    let binary = manager::build()?;
    let stage = Stage::set_up(kubeconfig).await?;
    let mut manager = Manager::start(&binary, cluster)?;
    let manifests = capm3_lab::manifests::read(&repo::root().join("examples/three-racks"))?;
    stage.apply(&manifests).await?;
    say("three racks are asked for");
    stage.until_ready(3, 3).await?;
    let report = stage.report().await?;
    judge::racks(&report, 6)?;
    say("6 machines are ready, each with the network of its rack");
    stage.until_quiet(&cluster.audit_log()).await?;
    let written = audit::writes_during(&cluster.audit_log(), manager::USER_AGENT, REST).await?;
    ensure!(written == 0, "the manager wrote {written} times in {} s at rest", REST.as_secs());
    say("0 writes of the manager in 60 s at rest");
    stage.scale_workers(5).await?;
    manager.kill_and_restart(&binary, cluster)?;
    stage.until_ready(3, 5).await?;
    judge::racks(&stage.report().await?, 8)?;
    say("8 machines are ready although the manager was killed in between");
    stage.scale_workers(2).await?;
    stage.until_ready(3, 2).await?;
    stage.until_machines(5).await?;
    judge::racks(&stage.report().await?, 5)?;
    stage.delete_cluster().await?;
    stage.until_nothing_is_left().await?;
    judge::hosts_are_free(&stage.report().await?)?;
    say("the cluster is deleted, nothing is left, every host is available");
    Ok(())
}

fn say(what: &str) {
    eprintln!("e2e: {what}");
}
