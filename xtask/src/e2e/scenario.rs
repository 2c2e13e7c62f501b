//! The steps, the same on every server.
//!
//! Chance is kept out of what is compared, not masked: which of several equal hosts a machine takes depends on the
//! machine's uid, so whenever machines look for hosts there are exactly as many hosts that fit, all in different
//! racks. Workers come after the control plane, so indexes and addresses are given in a known order too.

use std::{fs, path::Path, time::Duration};

use anyhow::{Context, Result, ensure};
use capm3_lab::manifests::Manifest;
use serde_json::{Value, json};

use super::{Manager, Server, Stage, absence, judge, mask};
use crate::{compare::Objects, repo};

/// How long the manager is watched at rest.
const REST: Duration = Duration::from_secs(60);

/// Worker hosts of the first step, and those that join them to scale up.
const WORKERS: [&str; 3] = ["rack1-host-2", "rack2-host-2", "rack3-host-2"];
const MORE_WORKERS: [&str; 2] = ["rack1-host-3", "rack2-host-3"];
/// Hosts whose machines go first when the workers are scaled down to two.
const GOING: [&str; 3] = ["rack1-host-3", "rack2-host-3", "rack3-host-2"];

/// What was there after a step.
pub struct Checkpoint {
    pub name: &'static str,
    pub objects: Objects,
}

/// Runs all steps.
pub async fn run(server: &Server, binary: &Path) -> Result<Vec<Checkpoint>> {
    steps(server, binary).await.with_context(|| format!("on the {} server", server.name()))
}

async fn steps(server: &Server, binary: &Path) -> Result<Vec<Checkpoint>> {
    let say = |what: &str| super::say(&format!("{:<8}  {what}", server.name()));
    let kubeconfig = fs::read_to_string(server.kubeconfig()).context("reading the kubeconfig")?;
    let stage = Stage::set_up(&kubeconfig).await?;
    let mut manager = Manager::start(binary, server)?;
    stage.apply(&three_racks()?).await?;
    stage.until_ready(3, 0).await?;
    stage.scale_workers(3).await?;
    stage.until_ready(3, 3).await?;
    judge::racks(&stage.report().await?, 6)?;
    let mut checkpoints = vec![checkpoint(&stage, "up").await?];
    say("up: 6 machines are ready, each with the network of its rack");
    let written = server.manager_writes_during(REST).await?;
    ensure!(written == 0, "the manager wrote {written} times in {} s at rest", REST.as_secs());
    say("0 writes of the manager in 60 s at rest");
    stage.label_hosts(&MORE_WORKERS, "worker").await?;
    stage.scale_workers(5).await?;
    manager.kill_and_restart(binary, server)?;
    stage.until_ready(3, 5).await?;
    judge::racks(&stage.report().await?, 8)?;
    checkpoints.push(checkpoint(&stage, "scaled up").await?);
    say("scaled up: 8 machines are ready although the manager was killed in between");
    stage.mark_for_deletion(&GOING).await?;
    stage.scale_workers(2).await?;
    stage.until_machines(5).await?;
    stage.until_ready(3, 2).await?;
    judge::racks(&stage.report().await?, 5)?;
    checkpoints.push(checkpoint(&stage, "scaled down").await?);
    say("scaled down: 5 machines are left");
    absence::run(&stage, &mut manager, binary, server).await?;
    judge::racks(&stage.report().await?, 5)?;
    stage.delete_cluster().await?;
    stage.until_nothing_is_left().await?;
    judge::hosts_are_free(&stage.report().await?)?;
    checkpoints.push(checkpoint(&stage, "deleted").await?);
    say("deleted: nothing is left, every host is available");
    let requests = server.manager_requests_by_kind()?;
    let forbidden: Vec<&String> = requests.iter().filter(|row| row.ends_with(" 403")).collect();
    ensure!(forbidden.is_empty(), "the manager lacks rights: {forbidden:?}");
    say(&format!("no request of {} kinds was forbidden", requests.len()));
    Ok(checkpoints)
}

async fn checkpoint(stage: &Stage, name: &'static str) -> Result<Checkpoint> {
    let objects = stage.until_still().await?;
    Ok(Checkpoint { name, objects: mask::masked(objects)? })
}

/// The example, with no workers yet and with as many worker hosts as there will be workers; the others are spare.
fn three_racks() -> Result<Vec<Manifest>> {
    let mut manifests = capm3_lab::manifests::read(&repo::root().join("examples/three-racks"))?;
    for manifest in &mut manifests {
        let object = &mut manifest.object;
        let name = object.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
        let is_spare = !WORKERS.contains(&name) && !name.ends_with("-host-1");
        match object.get("kind").and_then(Value::as_str) {
            Some("BareMetalHost") if is_spare => set(object, "/metadata/labels/cluster-role", json!("spare")),
            Some("MachineDeployment") => set(object, "/spec/replicas", json!(0)),
            _ => {}
        }
    }
    Ok(manifests)
}

/// Changes a field that the example has.
fn set(object: &mut Value, pointer: &str, value: Value) {
    if let Some(field) = object.pointer_mut(pointer) {
        *field = value;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_one_worker_host_a_rack_and_no_worker_at_first() {
        let manifests = three_racks().unwrap();
        let role = |role: &str| {
            let roles = manifests.iter().map(|m| &m.object["metadata"]["labels"]["cluster-role"]);
            roles.filter(|found| *found == role).count()
        };
        assert_eq!((role("control-plane"), role("worker"), role("spare")), (3, 3, 6));
        let deployment = manifests.iter().find(|m| m.object["kind"] == "MachineDeployment").unwrap();
        assert_eq!(deployment.object["spec"]["replicas"], 0);
    }
}
