//! The three racks under a real Cluster API: up, rolled out with node reuse, scaled to none and back, and deleted.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, ensure};
use capm3_engine::ApiClient;
use capm3_lab::manifests::Manifest;
use serde_json::json;

use super::{management::Management, say, watched::Watched, workload};
use crate::{
    e2e::{self, NAMESPACE, Stage},
    real::Workload,
};

/// The Cluster of the example.
const CLUSTER: &str = "my-cluster";

/// The racks in use.
pub struct Racks {
    workload: Workload,
}

impl Racks {
    /// A client of the workload cluster, as its administrator.
    pub async fn nodes(&self) -> Result<ApiClient> {
        workload::admin(&self.workload).await
    }

    /// Ends the API server of the Cluster, on the management cluster where it was started.
    pub fn end(self, management: &mut Management, workloads: &workload::Workloads) -> Result<()> {
        workload::end(management, workloads, &self.workload)
    }
}

/// Brings the racks up: a control plane of three, then two workers.
pub async fn come_up(management: &mut Management, workloads: &workload::Workloads) -> Result<Racks> {
    let workload = workload::start(management, workloads, CLUSTER).await?;
    let stage = management.stage()?;
    let watched = Watched::follow(stage.client()).await?;
    stage.apply(&manifests(&workload)?).await?;
    stage.until_ready(3, 0).await?;
    stage.scale_workers(2).await?;
    stage.until_ready(3, 2).await?;
    judge(stage, &watched, 5).await?;
    say("up: 5 machines are ready, each with the network of its rack");
    each_once(&watched, &BTreeMap::new(), 5)?;
    Ok(Racks { workload })
}

/// Brings the racks up and rolls them out.
pub async fn up(management: &mut Management, workloads: &workload::Workloads) -> Result<Racks> {
    let racks = come_up(management, workloads).await?;
    let stage = management.stage()?;
    let watched = Watched::follow(stage.client()).await?;
    let before = watched.provisionings()?;
    Box::pin(e2e::upgrade(stage)).await?;
    judge(stage, &watched, 5).await?;
    each_once(&watched, &before, 5)?;
    say("rolled out with node reuse and no surge: 5 new machines, each on the host of the one before");
    to_no_worker_and_back(stage, &watched).await?;
    Ok(racks)
}

/// Hosts of the workers are kept for the next ones, because their template says so.
async fn to_no_worker_and_back(stage: &Stage, watched: &Watched) -> Result<()> {
    let (before, hosts) = (watched.provisionings()?, hosts_of_machines(stage).await?);
    stage.scale_workers(0).await?;
    stage.until_machines(3).await?;
    stage.until_ready(3, 0).await?;
    stage.until_provisioned(3).await?;
    stage.until_still().await?;
    watched.judge(NAMESPACE)?;
    each_once(watched, &before, 0)?;
    stage.scale_workers(2).await?;
    stage.until_ready(3, 2).await?;
    judge(stage, watched, 5).await?;
    each_once(watched, &before, 2)?;
    let after = hosts_of_machines(stage).await?;
    ensure!(after == hosts, "workers came back on other hosts: {hosts:?}, then {after:?}");
    say("scaled to no worker and back, on the hosts of before");
    Ok(())
}

async fn hosts_of_machines(stage: &Stage) -> Result<BTreeSet<Option<String>>> {
    Ok(stage.report().await?.machines.into_iter().map(|machine| machine.host).collect())
}

/// Deletes the Cluster and ends its API server.
pub async fn down(management: &mut Management, workloads: &workload::Workloads, racks: Racks) -> Result<()> {
    delete(management).await?;
    racks.end(management, workloads)
}

/// Deletes the Cluster, and nothing is left.
pub async fn delete(management: &Management) -> Result<()> {
    let stage = management.stage()?;
    let watched = Watched::follow(stage.client()).await?;
    stage.delete("Cluster", CLUSTER).await?;
    stage.until_nothing_is_left().await?;
    e2e::hosts_are_free(&stage.report().await?)?;
    watched.judge(NAMESPACE)?;
    each_once(&watched, &BTreeMap::new(), 0)?;
    say("deleted: nothing is left, every host is available");
    Ok(())
}

async fn judge(stage: &Stage, watched: &Watched, machines: usize) -> Result<()> {
    stage.until_still().await?;
    e2e::racks(&stage.report().await?, machines)?;
    watched.judge(NAMESPACE)
}

/// Since an earlier count, so many hosts were provisioned, each once, and no other.
fn each_once(watched: &Watched, before: &BTreeMap<String, usize>, hosts: usize) -> Result<()> {
    let now = watched.provisionings()?;
    let news: BTreeMap<&str, usize> = now
        .iter()
        .map(|(host, count)| (host.as_str(), count - before.get(host).unwrap_or(&0)))
        .filter(|(_, count)| *count > 0)
        .collect();
    ensure!(!now.is_empty(), "no host was seen");
    ensure!(
        news.len() == hosts && news.values().all(|count| *count == 1),
        "{hosts} hosts are to be provisioned once, and these were: {news:?}"
    );
    Ok(())
}

/// The example with an endpoint that answers, an etcd that is elsewhere, and the Secrets that this needs.
fn manifests(workload: &Workload) -> Result<Vec<Manifest>> {
    let given = |object| Manifest { file: "given by the user".to_owned(), object };
    let mut manifests = e2e::three_racks()?;
    for manifest in &mut manifests {
        let kind = manifest.kind().to_owned();
        let object = &mut manifest.object;
        match kind.as_str() {
            "Metal3Cluster" => {
                let endpoint = json!({"host": "127.0.0.1", "port": workload.port()});
                *object.pointer_mut("/spec/controlPlaneEndpoint").context("no endpoint")? = endpoint;
            }
            _ => workload::without_running_pods(object)?,
        }
    }
    // After the namespace, before the Cluster.
    let after = manifests.iter().position(|it| it.kind() == "Namespace").context("no namespace")? + 1;
    let secrets: Vec<Manifest> = workload.secrets(NAMESPACE).into_iter().map(given).collect();
    manifests.splice(after..after, secrets);
    Ok(manifests)
}
