//! The manager of a release starts where everything is stored in v1beta1 only: it cannot read one of its objects before its
//! own webhook converts them. It must become ready and store every object again, and no machine may lose its host, index or
//! address on the way.
//!
//! Objects come into v1beta1 as they did in the field: by a release that stores that version.

use std::{collections::BTreeSet, path::Path};

use anyhow::{Result, ensure};
use capm3_api::{v1beta1, v1beta2};
use serde_json::{Value, json};

use super::{
    Manager, Server, Stage, definitions::converted, health, manager::Asked, server::Real, stage::text,
};

/// Stores everything in v1beta1, then upgrades; how many objects there are.
pub async fn run(
    stage: &Stage,
    manager: &mut Manager,
    binary: &Path,
    (server, real): (&Server, &Real),
) -> Result<usize> {
    stage.until_still().await?;
    let before = (stage.report().await?, stage.host_specs().await?);
    manager.kill()?;
    stage.store_in(v1beta1::VERSION).await?;
    *manager = Manager::start(binary, server)?;
    until_stored(stage, v1beta1::VERSION).await?;
    let older = stored(real, v1beta1::API_VERSION).await?;
    manager.kill()?;
    real.install_release()?;
    stage
        .until("nobody reads objects of v1beta1 without the webhook", async || {
            Ok(stage.list("Metal3Machine").await.is_err())
        })
        .await?;
    let asked = Asked { health: health::free_port().await?, arguments: &[] };
    *manager = Manager::start_asked(binary, server, &asked)?;
    stage.until("the manager is ready", async || Ok(health::is_ready(asked.health).await)).await?;
    until_stored(stage, v1beta2::VERSION).await?;
    let newer = stored(real, v1beta2::API_VERSION).await?;
    ensure!(older == newer, "{older} objects were stored in v1beta1, {newer} are in v1beta2");
    stage.until_still().await?;
    let after = (stage.report().await?, stage.host_specs().await?);
    ensure!(before == after, "on the way to v1beta1 and back: {before:#?}\nthen {after:#?}");
    Ok(older)
}

async fn until_stored(stage: &Stage, version: &str) -> Result<()> {
    stage
        .until(&format!("status.storedVersions is [{version}]"), async || {
            Ok(stage.stored_versions().await?.values().all(|stored| *stored == json!([version])))
        })
        .await
}

/// How many objects there are, all of them in this version, and some of every kind.
async fn stored(real: &Real, api_version: &str) -> Result<usize> {
    let objects = real.cluster().stored(v1beta2::GROUP).await?;
    let others: Vec<&Value> = objects.iter().filter(|it| text(it, "/apiVersion") != api_version).collect();
    ensure!(others.is_empty(), "not stored in {api_version}: {others:?}");
    let kinds: BTreeSet<&str> = objects.iter().map(|it| text(it, "/kind")).collect();
    let missing: Vec<String> = converted().map(|crd| text(&crd, "/spec/names/kind").to_owned()).collect();
    let missing: Vec<&String> = missing.iter().filter(|kind| !kinds.contains(kind.as_str())).collect();
    ensure!(missing.is_empty(), "nothing of these kinds is stored: {missing:?}");
    Ok(objects.len())
}
