//! The steps, the same on every server.
//!
//! Chance is kept out of what is compared, not masked: which of several equal hosts a machine takes depends on the
//! machine's uid, so whenever machines look for hosts there are exactly as many hosts that fit, all in different
//! racks. Workers come after the control plane, so indexes and addresses are given in a known order too.

use std::{path::Path, time::Duration};

use anyhow::{Context, Result, ensure};
use capm3_lab::manifests::Manifest;
use serde_json::{Value, json};

use super::{Manager, Server, Stage, absence, judge, mask, pause, scrape, stored_older, upgrade, versions};
use crate::{compare::Objects, repo};

/// How long the manager is watched at rest.
const REST: Duration = Duration::from_secs(60);

/// Worker hosts of the first step, and those that join them to scale up.
const WORKERS: [&str; 3] = ["rack1-host-2", "rack2-host-2", "rack3-host-2"];
const MORE_WORKERS: [&str; 2] = ["rack1-host-3", "rack2-host-3"];
/// Hosts whose machines go first when the workers are scaled down to two.
pub const GOING: [&str; 3] = ["rack1-host-3", "rack2-host-3", "rack3-host-2"];

/// More than there are hosts.
const TOO_MANY_WORKERS: u32 = 12;

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
    let mut play = Play::start(server, binary).await?;
    play.up().await?;
    play.scrape().await?;
    play.scale().await?;
    absence::run(&play.stage, &mut play.manager, binary, server).await?;
    play.judge(5).await?;
    server.until_webhooks_are_asked().await?;
    play.upgrade().await?;
    play.pause().await?;
    play.read_in_both_versions().await?;
    play.delete().await?;
    play.start_from_v1beta1().await?;
    play.scrape_while_machines_wait().await?;
    play.check_rights()?;
    Ok(play.checkpoints)
}

/// A server, what plays on it, and what has been seen.
struct Play<'a> {
    server: &'a Server,
    binary: &'a Path,
    stage: Stage,
    manager: Manager,
    checkpoints: Vec<Checkpoint>,
}

impl<'a> Play<'a> {
    async fn start(server: &'a Server, binary: &'a Path) -> Result<Self> {
        let stage = Stage::on(server).await?;
        let manager = Manager::start(binary, server)?;
        server.until_webhooks_are_asked().await?;
        Ok(Self { server, binary, stage, manager, checkpoints: Vec::new() })
    }

    fn say(&self, what: &str) {
        super::say(&format!("{:<8}  {what}", self.server.name()));
    }

    /// Every machine is right, and there are so many.
    async fn judge(&self, machines: usize) -> Result<()> {
        judge::racks(&self.stage.report().await?, machines)
    }

    async fn checkpoint(&mut self, name: &'static str) -> Result<()> {
        let objects = mask::masked(self.stage.until_still().await?)?;
        self.checkpoints.push(Checkpoint { name, objects });
        Ok(())
    }

    async fn up(&mut self) -> Result<()> {
        self.stage.apply(&three_racks()?).await?;
        self.stage.until_ready(3, 0).await?;
        self.stage.scale_workers(3).await?;
        self.stage.until_ready(3, 3).await?;
        self.judge(6).await?;
        self.server.ensure_led()?;
        self.checkpoint("up").await?;
        self.say("up: 6 machines are ready, each with the network of its rack");
        let written = self.server.manager_writes_during(REST).await?;
        ensure!(written == 0, "the manager wrote {written} times in {} s at rest", REST.as_secs());
        self.say(&format!("0 writes of the manager in {} s at rest", REST.as_secs()));
        Ok(())
    }

    /// The embedded server does not know whose a token is.
    async fn scrape(&self) -> Result<()> {
        let Server::Real(real) = self.server else { return Ok(()) };
        let scrapers = scrape::Scrapers::create(real).await?;
        scrapers.are_told_apart().await?;
        let count = scrapers.see_the_objects(&self.stage).await?;
        self.say(&format!(
            "scraped: refused without a token and without the right; {count} series are what the objects are"
        ));
        Ok(())
    }

    /// The same with more workers than hosts; the last step, because nobody knows which of them get a host.
    async fn scrape_while_machines_wait(&self) -> Result<()> {
        let Server::Real(real) = self.server else { return Ok(()) };
        self.stage.scale_workers(TOO_MANY_WORKERS).await?;
        self.stage.until_machines(3 + usize::try_from(TOO_MANY_WORKERS)?).await?;
        self.stage
            .until("machines wait for hosts", async || Ok(scrape::without_host(&self.stage).await? > 0))
            .await?;
        self.stage.until_still().await?;
        let waiting = scrape::without_host(&self.stage).await?;
        scrape::Scrapers::create(real).await?.see_the_objects(&self.stage).await?;
        self.say(&format!("scraped: {waiting} machines wait for a host, by the metrics as by the objects"));
        Ok(())
    }

    async fn scale(&mut self) -> Result<()> {
        self.stage.label_hosts(&MORE_WORKERS, "worker").await?;
        self.stage.scale_workers(5).await?;
        self.manager.kill_and_restart(self.binary, self.server)?;
        self.stage.until_ready(3, 5).await?;
        self.judge(8).await?;
        self.checkpoint("scaled up").await?;
        self.say("scaled up: 8 machines are ready although the manager was killed in between");
        self.stage.mark_for_deletion(&GOING).await?;
        self.stage.scale_workers(2).await?;
        self.stage.until_machines(5).await?;
        self.stage.until_ready(3, 2).await?;
        self.judge(5).await?;
        self.checkpoint("scaled down").await?;
        self.say("scaled down: 5 machines are left");
        Ok(())
    }

    async fn upgrade(&mut self) -> Result<()> {
        upgrade::run(&self.stage).await?;
        self.judge(5).await?;
        self.checkpoint("upgraded").await?;
        self.say("upgraded: 5 new machines are ready, each on the host of the one before, although others were free");
        Ok(())
    }

    async fn pause(&mut self) -> Result<()> {
        pause::run(&self.stage).await?;
        self.judge(5).await?;
        self.checkpoint("paused and on again").await?;
        self.say("paused: a deleted machine stayed, and was replaced on its host after the pause");
        Ok(())
    }

    /// The embedded server converts in process, by the functions that would judge it here.
    async fn read_in_both_versions(&self) -> Result<()> {
        if matches!(self.server, Server::Real(_)) {
            let compared = versions::run(&self.stage).await?;
            self.say(&format!("{compared} objects are the same for clients of v1beta1 and of v1beta2"));
        }
        Ok(())
    }

    async fn delete(&mut self) -> Result<()> {
        self.stage.delete("Cluster", "my-cluster").await?;
        self.stage.until_nothing_is_left().await?;
        judge::hosts_are_free(&self.stage.report().await?)?;
        self.checkpoint("deleted").await?;
        self.say("deleted: nothing is left, every host is available");
        Ok(())
    }

    /// Once more, now that there is nothing left to compare: the embedded server stores no other version than the present one.
    async fn start_from_v1beta1(&mut self) -> Result<()> {
        let Server::Real(real) = self.server else { return Ok(()) };
        self.stage.apply(&three_racks()?).await?;
        self.stage.until_ready(3, 0).await?;
        let count =
            stored_older::run(&self.stage, &mut self.manager, self.binary, (self.server, real)).await?;
        self.stage.scale_workers(2).await?;
        self.stage.until_ready(3, 2).await?;
        self.judge(5).await?;
        self.say(&format!(
            "started with {count} objects in v1beta1 only: ready, all stored in v1beta2, 3 machines are as before, 2 more come up"
        ));
        Ok(())
    }

    fn check_rights(&self) -> Result<()> {
        let denials = self.server.denials()?;
        ensure!(denials.is_empty(), "the manager lacks rights:\n{}", denials.join("\n"));
        self.say("no request of the manager was denied");
        Ok(())
    }
}

/// The example, with no workers yet and with as many worker hosts as there will be workers; the others are spare. Beside
/// it, one object of each kind that the example does not have.
pub fn three_racks() -> Result<Vec<Manifest>> {
    let mut manifests = capm3_lab::manifests::read(&repo::root().join("examples/three-racks"))?;
    manifests.extend(capm3_lab::manifests::read(&repo::root().join("xtask/tests/e2e/kept.yaml"))?);
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
