//! A rolling upgrade of control plane and workers, with node reuse that is switched on just before: every machine is a new
//! one, on the host of its predecessor, although other hosts are free.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use super::{Stage, stage::text};

const VERSION: &str = "v1.31.0";
/// Hosts that the control plane could take if its own were not kept for it. The workers have free hosts already.
const FREE: [&str; 3] = ["rack1-host-4", "rack2-host-4", "rack3-host-4"];

/// Upgrades the control plane and then the workers, one machine at a time.
pub async fn run(stage: &Stage) -> Result<()> {
    stage.label_hosts(&FREE, "control-plane").await?;
    reuse_hosts(stage).await?;
    let before = machines_by_host(stage).await?;
    ensure!(before.values().all(|name| !name.is_empty()), "a machine without host: {before:?}");
    let in_place = json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0}});
    let plane = json!({"spec": {"rollout": {"strategy": in_place}, "version": VERSION}});
    stage.patch("KubeadmControlPlane", "my-cluster-cp", &plane).await?;
    stage.until("3 machines have the new version", async || Ok(upgraded(stage).await? == 3)).await?;
    stage.until_ready(3, 2).await?;
    let in_place = json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}});
    let workers = json!({
        "spec": {"rollout": {"strategy": in_place}, "template": {"spec": {"version": VERSION}}},
    });
    stage.patch("MachineDeployment", "my-cluster-workers", &workers).await?;
    stage.until("5 machines have the new version", async || Ok(upgraded(stage).await? == 5)).await?;
    stage.until_machines(5).await?;
    stage.until_ready(3, 2).await?;
    let after = machines_by_host(stage).await?;
    ensure!(after.keys().eq(before.keys()), "other hosts: {before:?}, then {after:?}");
    let (old, new): (BTreeSet<_>, BTreeSet<_>) = (before.values().collect(), after.values().collect());
    ensure!(old.is_disjoint(&new), "a machine was not replaced: {before:?}, then {after:?}");
    Ok(())
}

/// Edits the live templates and waits until hosts know that they are not to be cleaned.
async fn reuse_hosts(stage: &Stage) -> Result<()> {
    let live =
        json!({"spec": {"nodeReuse": true, "template": {"spec": {"automatedCleaningMode": "disabled"}}}});
    for template in ["my-cluster-cp", "my-cluster-workers"] {
        stage.patch("Metal3MachineTemplate", template, &live).await?;
    }
    stage
        .until("no host in use is to be cleaned", async || {
            let hosts = stage.host_specs().await?;
            let mut used = hosts.values().filter(|spec| spec.pointer("/image").is_some());
            Ok(used.all(|spec| text(spec, "/automatedCleaningMode") == "disabled"))
        })
        .await
}

async fn upgraded(stage: &Stage) -> Result<usize> {
    let machines = stage.list("Machine").await?;
    Ok(machines.iter().filter(|machine| text(machine, "/spec/version") == VERSION).count())
}

/// Names of the Metal3Machines by the hosts that they consume.
async fn machines_by_host(stage: &Stage) -> Result<BTreeMap<String, String>> {
    let hosts: BTreeMap<String, Value> = stage.host_specs().await?;
    let used = hosts.into_iter().filter(|(_, spec)| spec.pointer("/image").is_some());
    Ok(used.map(|(host, spec)| (host, text(&spec, "/consumerRef/name").to_owned())).collect())
}
