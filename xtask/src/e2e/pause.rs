//! The Cluster is paused, and one of its machines is deleted: nothing goes while the pause lasts, and the machine is replaced
//! on its host when it ends.

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::{
    Stage,
    change::{by_name, differing},
    stage::text,
};

/// Free worker hosts, which the next machine must not find: it is to wait for the host of the one that goes.
const FREE: [&str; 3] = super::scenario::GOING;
/// The host whose machine is deleted.
const HOST: &str = "rack1-host-2";

/// Pauses, deletes, and ends the pause.
pub async fn run(stage: &Stage) -> Result<()> {
    stage.label_hosts(&FREE, "spare").await?;
    pause(stage, true).await?;
    stage.until("machines and hosts are paused", async || is_paused(stage).await).await?;
    let machine = stage.machine_on(HOST).await?;
    let before = by_name(stage.until_still().await?);
    for kind in ["Machine", "Metal3Machine"] {
        stage.delete(kind, &machine).await?;
    }
    let changed = differing(&before, &by_name(stage.until_still().await?));
    let deleted = ["Machine", "Metal3Machine"].map(|kind| format!("  {kind} {machine}: "));
    let others = changed.iter().filter(|line| !deleted.iter().any(|name| line.starts_with(name)));
    let others: Vec<&String> = others.collect();
    ensure!(others.is_empty(), "changed during the pause: {others:#?}");
    ensure!(stage.machine_on(HOST).await? == machine, "the deleted machine went during the pause");
    pause(stage, false).await?;
    stage
        .until("the deleted machine is gone", async || {
            let machines = stage.list("Metal3Machine").await?;
            Ok(machines.iter().all(|it| text(it, "/metadata/name") != machine))
        })
        .await?;
    stage.until_machines(5).await?;
    stage.until_ready(3, 2).await?;
    let next = stage.machine_on(HOST).await.context("no machine took the host that was kept")?;
    ensure!(next != machine, "{machine} was not replaced");
    ensure!(!is_paused_host(stage).await?, "a host is still paused");
    Ok(())
}

async fn pause(stage: &Stage, paused: bool) -> Result<()> {
    stage.patch("Cluster", "my-cluster", &json!({"spec": {"paused": paused}})).await
}

async fn is_paused(stage: &Stage) -> Result<bool> {
    let machines = stage.list("Metal3Machine").await?;
    let says =
        |condition: &Value| text(condition, "/type") == "Paused" && text(condition, "/status") == "True";
    let is_reported = |machine: &Value| {
        let conditions = machine.pointer("/status/conditions").and_then(Value::as_array);
        conditions.is_some_and(|all| all.iter().any(says))
    };
    let hosts = paused_hosts(stage).await?;
    Ok(!machines.is_empty() && machines.iter().all(is_reported) && hosts == machines.len())
}

async fn is_paused_host(stage: &Stage) -> Result<bool> {
    Ok(paused_hosts(stage).await? > 0)
}

async fn paused_hosts(stage: &Stage) -> Result<usize> {
    let hosts = stage.list("BareMetalHost").await?;
    let paused =
        |host: &&Value| host.pointer("/metadata/annotations/baremetalhost.metal3.io~1paused").is_some();
    Ok(hosts.iter().filter(paused).count())
}
