//! A management cluster: what clusterctl installs on a real API server, the managers as processes, and the world that plays the
//! hosts.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use anyhow::{Context, Result, bail};
use capm3_engine::{ApiClient, Clock, client::over_network};
use capm3_world::{Cast, Options, World};
use serde_json::{Value, json};

use super::{
    clusterctl,
    managers::{self, Manager},
    repository::Repository,
    say,
    workload::Workloads,
};
use crate::{
    conformance::client::Client,
    e2e::{Stage, is_ready},
    install::{Kubectl, cert_manager, kubeconfig_of_account, until_asked},
    real::{Cluster, wait::Stopwatch},
};

/// Who the world is, and where its account is.
const WORLD: &str = "capm3-world";
/// How long the managers may take to answer.
const LIMIT: Duration = Duration::from_secs(120);
const POLL: Duration = Duration::from_millis(250);

/// A management cluster; dropping it ends everything in it.
pub struct Management {
    name: &'static str,
    binary: PathBuf,
    managers: Vec<Manager>,
    /// Once it has begun.
    stage: Option<Stage>,
    // Last, because the others are clients of it.
    cluster: Cluster,
}

impl Management {
    /// Starts an API server and has clusterctl install every provider.
    pub fn start(name: &'static str, repository: &Repository, binary: &Path) -> Result<Self> {
        managers::build()?;
        let cluster = Cluster::start()?;
        let kubectl = Kubectl::new(&cluster)?;
        kubectl.apply("the definition of hosts", &hosts()?.to_string())?;
        kubectl.apply("stand-ins for cert-manager", &cert_manager())?;
        let watch = Stopwatch::start();
        clusterctl::init(repository, &cluster.kubeconfig())?;
        say(&format!("{name}: clusterctl init: {:.0} s", watch.elapsed().as_secs_f64()));
        let managers = managers::all()?;
        Ok(Self { name, binary: binary.to_owned(), managers, stage: None, cluster })
    }

    /// Starts the managers and the world.
    pub async fn begin(&mut self, workloads: &Workloads) -> Result<()> {
        let kubeconfig = fs::read_to_string(self.cluster.kubeconfig()).context("reading the kubeconfig")?;
        let client = over_network(&kubeconfig, None, "capm3-e2e").await?;
        let watch = Stopwatch::start();
        for manager in &self.managers {
            manager.lead_webhooks(&client).await?;
            manager.start(&mut self.cluster, &self.binary)?;
        }
        self.until_ready().await?;
        until_asked(&Client::new(&self.cluster.kubeconfig()).await?).await?;
        let world = self.world(workloads).await?;
        self.stage = Some(Stage::around(client, world).await?);
        say(&format!("{}: the managers are ready after {:.0} s", self.name, watch.elapsed().as_secs_f64()));
        Ok(())
    }

    async fn until_ready(&mut self) -> Result<()> {
        let watch = Stopwatch::start();
        loop {
            self.cluster.check_children()?;
            let mut waiting = None;
            for manager in &self.managers {
                if !is_ready(manager.health).await {
                    waiting = Some(manager.name);
                }
            }
            match waiting {
                None => return Ok(()),
                Some(name) if watch.elapsed() > LIMIT => bail!("{name} is not ready after {LIMIT:?}"),
                Some(_) => tokio::time::sleep(POLL).await,
            }
        }
    }

    /// The world as a client with an account of its own.
    async fn world(&self, workloads: &Workloads) -> Result<World> {
        let list = json!({"apiVersion": "v1", "kind": "List", "items": world_account()});
        Kubectl::new(&self.cluster)?.apply("the account of the world", &list.to_string())?;
        let file = self.cluster.folder().join("world.kubeconfig");
        kubeconfig_of_account(&self.cluster, WORLD, WORLD, &file)?;
        let client = over_network(&fs::read_to_string(&file)?, None, WORLD).await?;
        let options = Options { cast: Cast::HostsAndNodes, ..Options::default() };
        Ok(World::start(client, Arc::new(workloads.clone()), Clock::system(), &options))
    }

    pub fn name(&self) -> &'static str {
        self.name
    }

    pub fn stage(&self) -> Result<&Stage> {
        self.stage.as_ref().context("the managers have not been started")
    }

    pub fn client(&self) -> Result<&ApiClient> {
        Ok(self.stage()?.client())
    }

    pub fn cluster_mut(&mut self) -> &mut Cluster {
        &mut self.cluster
    }

    pub fn folder(&self) -> &Path {
        self.cluster.folder()
    }

    /// The kubeconfig of its administrator.
    pub fn kubeconfig(&self) -> PathBuf {
        self.cluster.kubeconfig()
    }

    pub fn audit_log(&self) -> PathBuf {
        self.cluster.audit_log()
    }

    /// Everybody whose rights are bounded, as the audit log names them.
    pub fn users(&self) -> Vec<String> {
        let mut users: Vec<String> = self.managers.iter().map(Manager::user).collect();
        users.push(format!("system:serviceaccount:{WORLD}:{WORLD}"));
        users
    }
}

/// The definition of BareMetalHosts, marked so that clusterctl moves hosts and what they own.
fn hosts() -> Result<Value> {
    let is_host = |crd: &Value| crd.pointer("/spec/names/kind").is_some_and(|it| it == "BareMetalHost");
    let mut crd = capm3_world::crds().into_iter().find(is_host).context("no definition of hosts")?;
    let labels = crd.pointer_mut("/metadata/labels").context("a definition without labels")?;
    *labels = json!({"clusterctl.cluster.x-k8s.io": "", "clusterctl.cluster.x-k8s.io/move-hierarchy": ""});
    Ok(crd)
}

/// The account of the world and its rights: hosts are its own, everything else it only reads.
fn world_account() -> [Value; 4] {
    let rule = |group: &str, resources: &[&str], verbs: &[&str]| json!({"apiGroups": [group], "resources": resources, "verbs": verbs});
    let (reads, group) = (&["get", "list", "watch"], "rbac.authorization.k8s.io");
    [
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": WORLD}}),
        json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": WORLD, "namespace": WORLD}}),
        json!({
            "apiVersion": format!("{group}/v1"), "kind": "ClusterRole", "metadata": {"name": WORLD},
            "rules": [
                rule("metal3.io", &["baremetalhosts"], &["get", "list", "watch", "patch"]),
                rule("metal3.io", &["baremetalhosts/status"], &["patch"]),
                rule("", &["secrets"], reads),
                rule("cluster.x-k8s.io", &["clusters", "machines"], reads),
                rule("bootstrap.cluster.x-k8s.io", &["kubeadmconfigs"], reads),
                rule("infrastructure.cluster.x-k8s.io", &["metal3clusters", "metal3machines"], reads),
            ],
        }),
        json!({
            "apiVersion": format!("{group}/v1"), "kind": "ClusterRoleBinding", "metadata": {"name": WORLD},
            "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": WORLD},
            "subjects": [{"kind": "ServiceAccount", "name": WORLD, "namespace": WORLD}],
        }),
    ]
}
