//! The world and a user, both clients of the real API server.

use std::{path::Path, sync::Arc, time::Duration};

use anyhow::{Context, Result, bail};
use capm3_engine::{ApiClient, Clock, Detail, ObjectKey, ResourceKind, client::over_network};
use capm3_lab::{
    manifests::Manifest,
    report::{KINDS, Report, report_of},
};
use capm3_world::{Options, WorkloadApis, World};
use serde_json::{Value, json};

use super::{audit, manager};

/// How long anything may take.
const LIMIT: Duration = Duration::from_secs(240);
const LOOK: Duration = Duration::from_millis(250);

/// The Nodes of the workload cluster live in the same API server: the cluster manages itself.
struct SelfHosted {
    client: ApiClient,
    kubeconfig: String,
}

impl WorkloadApis for SelfHosted {
    fn add(&self, _: &ObjectKey) {}

    fn client(&self, _: &ObjectKey) -> ApiClient {
        self.client.clone()
    }

    fn kubeconfig(&self, _: &ObjectKey) -> String {
        self.kubeconfig.clone()
    }
}

/// What plays around the manager.
pub struct Stage {
    client: ApiClient,
    _world: World,
}

impl Stage {
    /// Installs the CRDs and starts the world.
    pub async fn set_up(kubeconfig: &str) -> Result<Self> {
        let client = over_network(kubeconfig, None, "capm3-e2e").await?;
        let crds = capm3_lab::crds();
        capm3_lab::apply(&client, &crds).await?;
        for crd in &crds {
            until_served(&client, crd).await?;
        }
        let world_client = over_network(kubeconfig, None, "capm3-world").await?;
        let apis = SelfHosted { client: world_client.clone(), kubeconfig: kubeconfig.to_owned() };
        let world = World::start(world_client, Arc::new(apis), Clock::system(), &Options::default());
        Ok(Self { client, _world: world })
    }

    pub async fn apply(&self, manifests: &[Manifest]) -> Result<()> {
        Ok(capm3_lab::apply(&self.client, manifests).await?)
    }

    async fn list(&self, kind: &ResourceKind) -> Result<Vec<Value>> {
        let page = self.client.list_page::<Value>(kind, "", Detail::Whole, None).await;
        let mut items = page.with_context(|| format!("listing {kind}"))?.items;
        for item in &mut items {
            // Items of a list do not say their kind.
            if let Some(item) = item.as_object_mut() {
                item.insert("kind".to_owned(), json!(kind.kind));
            }
        }
        Ok(items)
    }

    /// Where everything stands.
    pub async fn report(&self) -> Result<Report> {
        let mut objects = Vec::new();
        for kind in KINDS {
            objects.extend(self.list(&resource(kind)?).await?.into_iter().map(Arc::new));
        }
        Ok(report_of(&objects, 0))
    }

    /// Waits until control plane and workers have that many ready machines.
    pub async fn until_ready(&self, control_plane: i64, workers: i64) -> Result<()> {
        let ready =
            |object: &Value| object.pointer("/status/readyReplicas").and_then(Value::as_i64).unwrap_or(0);
        self.until(&format!("{control_plane} and {workers} machines are ready"), async || {
            let planes = self.list(&resource("KubeadmControlPlane")?).await?;
            let deployments = self.list(&resource("MachineDeployment")?).await?;
            Ok(planes.iter().map(ready).sum::<i64>() == control_plane
                && deployments.iter().map(ready).sum::<i64>() == workers
                && self.report().await?.machines.iter().all(|m| m.ready))
        })
        .await
    }

    /// Waits until that many Metal3Machines exist.
    pub async fn until_machines(&self, count: usize) -> Result<()> {
        self.until(&format!("{count} Metal3Machines exist"), async || {
            Ok(self.list(&resource("Metal3Machine")?).await?.len() == count)
        })
        .await
    }

    /// Waits until the manager has not written for a while.
    pub async fn until_quiet(&self, log: &Path) -> Result<()> {
        self.until("the manager is quiet", async || {
            Ok(audit::writes_during(log, manager::USER_AGENT, Duration::from_secs(5)).await? == 0)
        })
        .await
    }

    pub async fn scale_workers(&self, replicas: u32) -> Result<()> {
        let key = ObjectKey::new("metal3", "my-cluster-workers");
        let patch = json!({"spec": {"replicas": replicas}});
        self.client.merge_patch(&resource("MachineDeployment")?, &key, None, &patch).await?;
        Ok(())
    }

    pub async fn delete_cluster(&self) -> Result<()> {
        self.client.delete(&resource("Cluster")?, &ObjectKey::new("metal3", "my-cluster"), None).await?;
        Ok(())
    }

    /// Waits until nothing of the cluster is left.
    pub async fn until_nothing_is_left(&self) -> Result<()> {
        let kinds = [
            "Cluster",
            "Machine",
            "Metal3Cluster",
            "Metal3Machine",
            "Metal3Data",
            "Metal3DataClaim",
            "IPClaim",
            "IPAddress",
        ];
        self.until("nothing is left", async || {
            for kind in kinds {
                if !self.list(&resource(kind)?).await?.is_empty() {
                    return Ok(false);
                }
            }
            let secrets = self.list(&resource("Secret")?).await?;
            let rendered = |s: &Value| s["type"] == "infrastructure.cluster.x-k8s.io/secret";
            let hosts = self.report().await?.hosts;
            Ok(!secrets.iter().any(rendered) && hosts.iter().all(|h| h.state == "available"))
        })
        .await
    }

    async fn until(&self, what: &str, mut holds: impl AsyncFnMut() -> Result<bool>) -> Result<()> {
        let end = tokio::time::Instant::now() + LIMIT;
        while !holds().await? {
            if tokio::time::Instant::now() > end {
                bail!("not within {} s: {what}\n{:#?}", LIMIT.as_secs(), self.report().await?);
            }
            tokio::time::sleep(LOOK).await;
        }
        Ok(())
    }
}

/// Where a kind is served.
fn resource(kind: &str) -> Result<ResourceKind> {
    if kind == "Secret" {
        return Ok(ResourceKind {
            group: String::new(),
            version: "v1".into(),
            kind: kind.into(),
            plural: "secrets".into(),
        });
    }
    let crds = capm3_lab::crds();
    let crd =
        crds.iter().find(|crd| crd.object.pointer("/spec/names/kind").and_then(Value::as_str) == Some(kind));
    served(crd.with_context(|| format!("no CRD of {kind}"))?).with_context(|| format!("CRD of {kind}"))
}

fn served(crd: &Manifest) -> Option<ResourceKind> {
    let text = |pointer: &str| crd.object.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
    Some(ResourceKind {
        group: text("/spec/group")?,
        version: text("/spec/versions/0/name")?,
        kind: text("/spec/names/kind")?,
        plural: text("/spec/names/plural")?,
    })
}

/// A real server needs a moment before it serves a new kind.
async fn until_served(client: &ApiClient, crd: &Manifest) -> Result<()> {
    let kind = served(crd).context("a CRD without names")?;
    for _ in 0..120 {
        if client.list_page::<Value>(&kind, "", Detail::Whole, None).await.is_ok() {
            return Ok(());
        }
        tokio::time::sleep(LOOK).await;
    }
    bail!("{kind} is not served")
}
