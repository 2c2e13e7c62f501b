//! The world and a user, both clients of an API server.

use std::{collections::BTreeMap, fs, sync::Arc, time::Duration};

use anyhow::{Context, Result, bail, ensure};
use capm3_api::vocabulary::annotation;
use capm3_engine::{
    ApiClient, Clock, Detail, ObjectKey, ResourceKind,
    client::{Deletion, over_network},
};
use capm3_lab::{
    invariants::DELETED_WITH_A_CLUSTER,
    manifests::Manifest,
    report::{KINDS, Report, report_of},
};
use capm3_world::{Options, WorkloadApis, World};
use serde_json::{Value, json};

use super::Server;

/// How long anything may take.
const LIMIT: Duration = Duration::from_secs(240);
const POLL: Duration = Duration::from_millis(250);
/// Nothing may change for so many polls before everything counts as still.
const STILL_LOOKS: u32 = 12;
/// Where the racks are.
pub const NAMESPACE: &str = "metal3";

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
    /// Every kind that matters, by name.
    kinds: BTreeMap<String, ResourceKind>,
    _world: World,
}

impl Stage {
    /// Installs the release and what it needs, and starts the world.
    pub async fn on(server: &Server) -> Result<Self> {
        let (client, kubeconfig) = Self::installed(server).await?;
        Self::start(client, &kubeconfig).await
    }

    /// The same, where the workload clusters are on other servers.
    pub async fn beside(server: &Server, apis: Arc<dyn WorkloadApis>) -> Result<Self> {
        let (client, kubeconfig) = Self::installed(server).await?;
        let world = over_network(&kubeconfig, None, "capm3-world").await?;
        Self::around(client, World::start(world, apis, Clock::system(), &Options::default())).await
    }

    async fn installed(server: &Server) -> Result<(ApiClient, String)> {
        let kubeconfig = fs::read_to_string(server.kubeconfig()).context("reading the kubeconfig")?;
        let client = over_network(&kubeconfig, None, "capm3-e2e").await?;
        server.install(&client).await?;
        Ok((client, kubeconfig))
    }

    /// Installs the CRDs alone and starts the world.
    pub async fn set_up(kubeconfig: &str) -> Result<Self> {
        let client = over_network(kubeconfig, None, "capm3-e2e").await?;
        capm3_lab::apply(&client, &capm3_lab::crds()).await?;
        Self::start(client, kubeconfig).await
    }

    async fn start(client: ApiClient, kubeconfig: &str) -> Result<Self> {
        let world_client = over_network(kubeconfig, None, "capm3-world").await?;
        let apis = SelfHosted { client: world_client.clone(), kubeconfig: kubeconfig.to_owned() };
        let world = World::start(world_client, Arc::new(apis), Clock::system(), &Options::default());
        Self::around(client, world).await
    }

    /// A stage on which this world plays, once every kind is served.
    pub async fn around(client: ApiClient, world: World) -> Result<Self> {
        let mut kinds = BTreeMap::new();
        for crd in &capm3_lab::crds() {
            let kind = served(crd).context("a CRD without names")?;
            kinds.insert(kind.kind.clone(), kind);
        }
        for (kind, plural) in [("Secret", "secrets"), ("Node", "nodes")] {
            let (group, version, plural) = (String::new(), "v1".to_owned(), plural.to_owned());
            kinds.insert(kind.to_owned(), ResourceKind { group, version, kind: kind.to_owned(), plural });
        }
        let stage = Self { client, kinds, _world: world };
        for kind in stage.kinds.values() {
            stage.until_served(kind).await?;
        }
        Ok(stage)
    }

    pub async fn apply(&self, manifests: &[Manifest]) -> Result<()> {
        Ok(capm3_lab::apply(&self.client, manifests).await?)
    }

    /// The client of the administrator.
    pub fn client(&self) -> &ApiClient {
        &self.client
    }

    /// The version of a kind that is stored, and its names.
    pub fn kind(&self, kind: &str) -> Result<&ResourceKind> {
        self.kinds.get(kind).with_context(|| format!("no CRD of {kind}"))
    }

    /// Every object of a kind, in the version that is stored.
    pub async fn list(&self, kind: &str) -> Result<Vec<Value>> {
        self.list_of(self.kind(kind)?).await
    }

    async fn list_of(&self, resource: &ResourceKind) -> Result<Vec<Value>> {
        let (mut items, mut next) = (Vec::new(), None);
        loop {
            let page = self.client.list_page::<Value>(resource, "", Detail::Whole, next.as_deref()).await;
            let page = page.with_context(|| format!("listing {resource}"))?;
            items.extend(page.items);
            next = page.metadata.continue_;
            if next.is_none() {
                break;
            }
        }
        for item in &mut items {
            // Items of a list need not say their kind.
            if let Some(item) = item.as_object_mut() {
                item.insert("apiVersion".to_owned(), json!(resource.api_version()));
                item.insert("kind".to_owned(), json!(resource.kind));
            }
        }
        Ok(items)
    }

    /// Every object of a kind as a client of a version reads it, alone as in a list.
    pub async fn read_all(&self, kind: &str, version: &str) -> Result<BTreeMap<String, Value>> {
        let resource = ResourceKind { version: version.to_owned(), ..self.kind(kind)?.clone() };
        let mut objects = BTreeMap::new();
        for item in self.list_of(&resource).await? {
            let key = ObjectKey::new(text(&item, "/metadata/namespace"), text(&item, "/metadata/name"));
            let alone = self.client.get::<Value>(&resource, &key).await?;
            let alone = alone.with_context(|| format!("{resource} {key} is in a list only"))?;
            ensure!(alone == item, "{resource} {key} reads otherwise in a list: {alone} {item}");
            objects.insert(format!("{kind} {key}"), alone);
        }
        Ok(objects)
    }

    /// Where everything stands.
    pub async fn report(&self) -> Result<Report> {
        let mut objects = Vec::new();
        for kind in KINDS {
            objects.extend(self.list(kind).await?.into_iter().map(Arc::new));
        }
        Ok(report_of(&objects, 0))
    }

    /// Every object of every kind that matters, once none has changed for a while.
    pub async fn until_still(&self) -> Result<Vec<Value>> {
        let (mut before, mut still) = (Vec::new(), 0);
        self.until("nothing changes any more", async || {
            let mut now = Vec::new();
            for kind in self.kinds.keys() {
                now.extend(self.list(kind).await?);
            }
            still = if now == before { still + 1 } else { 0 };
            before = now;
            Ok(still == STILL_LOOKS)
        })
        .await?;
        Ok(before)
    }

    /// Waits until control plane and workers have that many ready machines and no others are there.
    pub async fn until_ready(&self, control_plane: i64, workers: i64) -> Result<()> {
        let ready =
            |object: &Value| object.pointer("/status/readyReplicas").and_then(Value::as_i64).unwrap_or(0);
        self.until(&format!("{control_plane} and {workers} machines are ready"), async || {
            let planes = self.list("KubeadmControlPlane").await?;
            let deployments = self.list("MachineDeployment").await?;
            Ok(planes.iter().map(ready).sum::<i64>() == control_plane
                && deployments.iter().map(ready).sum::<i64>() == workers
                && self.report().await?.machines.iter().all(|m| m.ready))
        })
        .await
    }

    /// Waits until that many Metal3Machines exist.
    pub async fn until_machines(&self, count: usize) -> Result<()> {
        self.until(&format!("{count} Metal3Machines exist"), async || {
            Ok(self.list("Metal3Machine").await?.len() == count)
        })
        .await
    }

    /// Waits until that many hosts are provisioned and all others are available.
    pub async fn until_provisioned(&self, count: usize) -> Result<()> {
        self.until(&format!("{count} hosts are provisioned, all others are available"), async || {
            let hosts = self.report().await?.hosts;
            let are = |state: &str| hosts.iter().filter(|host| host.state == state).count();
            Ok(are("provisioned") == count && are("available") == hosts.len() - count)
        })
        .await
    }

    pub async fn scale_workers(&self, replicas: u32) -> Result<()> {
        let patch = json!({"spec": {"replicas": replicas}});
        self.patch("MachineDeployment", "my-cluster-workers", &patch).await
    }

    /// Says what hosts are good for.
    pub async fn label_hosts(&self, hosts: &[&str], role: &str) -> Result<()> {
        for host in hosts {
            let patch = json!({"metadata": {"labels": {"cluster-role": role}}});
            self.patch("BareMetalHost", host, &patch).await?;
        }
        Ok(())
    }

    /// The machines on these hosts go first when there are too many.
    pub async fn mark_for_deletion(&self, hosts: &[&str]) -> Result<()> {
        for host in hosts {
            let name = self.machine_on(host).await?;
            let patch = json!({"metadata": {"annotations": {"cluster.x-k8s.io/delete-machine": "yes"}}});
            self.patch("Machine", &name, &patch).await?;
        }
        Ok(())
    }

    /// The name of the Metal3Machine on a host; its Machine has the same.
    pub async fn machine_on(&self, host: &str) -> Result<String> {
        let machines = self.list("Metal3Machine").await?;
        let key = format!("{NAMESPACE}/{host}");
        let is_on_it = |m: &&Value| {
            let annotations = m.pointer("/metadata/annotations");
            annotations.and_then(|all| all.get(annotation::HOST)) == Some(&json!(key))
        };
        let machine = machines.iter().find(is_on_it).with_context(|| format!("no machine is on {host}"))?;
        Ok(text(machine, "/metadata/name").to_owned())
    }

    /// Deletes something that its finalizers hold.
    pub async fn delete(&self, kind: &str, name: &str) -> Result<()> {
        let left = self.client.delete(self.kind(kind)?, &ObjectKey::new(NAMESPACE, name), None).await;
        let left = left.with_context(|| format!("deleting {kind} {name}"))?;
        ensure!(matches!(left, Deletion::Held(_)), "{kind} {name} went at once");
        Ok(())
    }

    pub async fn patch(&self, kind: &str, name: &str, patch: &Value) -> Result<()> {
        let key = ObjectKey::new(NAMESPACE, name);
        let answer = self.client.merge_patch(self.kind(kind)?, &key, None, patch).await;
        answer.with_context(|| format!("patching {kind} {name}"))?;
        Ok(())
    }

    /// The specs of all hosts by name.
    pub async fn host_specs(&self) -> Result<BTreeMap<String, Value>> {
        let hosts = self.list("BareMetalHost").await?;
        let named = |host: &Value| host.pointer("/metadata/name").and_then(Value::as_str).map(str::to_owned);
        Ok(hosts.iter().filter_map(|host| Some((named(host)?, host.get("spec")?.clone()))).collect())
    }

    /// Messages of the events of a reason.
    pub async fn events(&self, reason: &str) -> Result<Vec<String>> {
        let kind = ResourceKind {
            group: String::new(),
            version: "v1".to_owned(),
            kind: "Event".to_owned(),
            plural: "events".to_owned(),
        };
        let page = self.client.list_page::<Value>(&kind, NAMESPACE, Detail::Whole, None).await?;
        let text = |event: &Value, member: &str| event.get(member).and_then(Value::as_str).map(str::to_owned);
        let of_reason = page.items.iter().filter(|event| text(event, "reason").as_deref() == Some(reason));
        Ok(of_reason.filter_map(|event| text(event, "message")).collect())
    }

    /// Waits until nothing of the cluster is left.
    pub async fn until_nothing_is_left(&self) -> Result<()> {
        self.until("nothing is left", async || {
            for kind in DELETED_WITH_A_CLUSTER {
                if !self.list(kind).await?.is_empty() {
                    return Ok(false);
                }
            }
            let secrets = self.list("Secret").await?;
            let rendered = |s: &Value| s["type"] == "infrastructure.cluster.x-k8s.io/secret";
            let hosts = self.report().await?.hosts;
            Ok(!secrets.iter().any(rendered) && hosts.iter().all(|h| h.state == "available"))
        })
        .await
    }

    /// A real server needs a moment before it serves a kind.
    pub async fn until_served(&self, kind: &ResourceKind) -> Result<()> {
        self.until(&format!("{kind} is served"), async || {
            Ok(self.client.list_page::<Value>(kind, "", Detail::Whole, None).await.is_ok())
        })
        .await
    }

    /// Waits until something holds.
    pub async fn until(&self, what: &str, mut holds: impl AsyncFnMut() -> Result<bool>) -> Result<()> {
        let end = tokio::time::Instant::now() + LIMIT;
        while !holds().await? {
            if tokio::time::Instant::now() > end {
                bail!("not within {} s: {what}\n{:#?}", LIMIT.as_secs(), self.report().await?);
            }
            tokio::time::sleep(POLL).await;
        }
        Ok(())
    }
}

/// The text of a member; empty if there is none.
pub fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
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
