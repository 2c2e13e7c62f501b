//! The workload clusters that machines join: one client and one Node informer each, shared by all machines.
//!
//! A machine's decision never waits for a workload API: it reads what is known ([`Workload`]) and is woken when that
//! changes. Clients come from an injected [`Connect`], so a simulation stays in process.

use std::{
    collections::BTreeMap,
    sync::{Arc, Weak},
    time::Duration,
};

use base64::{Engine, prelude::BASE64_STANDARD};
use capm3_api::{
    metadata::MetadataExt,
    neighbours::{Node, Secret},
    vocabulary::label,
};
use capm3_domain::provider_id::SomeProviderId;
use capm3_engine::{ApiClient, Clock, Detail, Index, Informer, ObjectKey, Store, Tasks};
use futures::future::BoxFuture;
use jiff::Timestamp;
use parking_lot::Mutex;
use thiserror::Error;
use tracing::warn;

const RETRY: Duration = Duration::from_secs(10);

/// Nodes by the host that their provider ID names: `<namespace>/<name>`, or the uid in the legacy form.
pub const NODES_BY_HOST: Index<Node> = Index {
    name: "by-host",
    values: |node| match node.spec.provider_id.as_deref().and_then(|id| id.parse().ok()) {
        Some(SomeProviderId::Current(id)) => vec![format!("{}/{}", id.namespace(), id.host())],
        Some(SomeProviderId::Legacy { host_uid }) => vec![host_uid],
        _ => Vec::new(),
    },
};

/// Nodes by their host name.
pub const NODES_BY_HOSTNAME: Index<Node> = Index {
    name: "by-hostname",
    values: |node| node.metadata.label(label::NODE_HOSTNAME).map(str::to_owned).into_iter().collect(),
};

/// Nodes by the uid of their host.
pub const NODES_BY_UUID: Index<Node> = Index {
    name: "by-uuid",
    values: |node| node.metadata.label(label::NODE_UUID).map(str::to_owned).into_iter().collect(),
};

/// Makes a client from a kubeconfig.
pub trait Connect: Send + Sync {
    /// A client for the cluster that the kubeconfig describes.
    fn connect<'a>(&'a self, kubeconfig: &'a [u8]) -> BoxFuture<'a, Result<ApiClient, ConnectError>>;
}

/// Why there is no client for a workload cluster.
#[derive(Debug, Error)]
#[error("{0}")]
pub struct ConnectError(pub String);

/// What is known of a workload cluster.
#[derive(Debug, Clone)]
pub enum Workload {
    /// Nobody asked for it yet.
    Unknown,
    /// The first list of its Nodes has not arrived yet.
    Connecting,
    /// It cannot be reached.
    Unreachable {
        /// Since when.
        since: Timestamp,
        /// Why.
        cause: String,
    },
    /// Its Nodes are known.
    Synced(Arc<Store<Node>>, ApiClient),
}

type Wake = Box<dyn Fn(&ObjectKey) + Send + Sync>;

/// Every workload cluster that some machine asked for.
pub struct Workloads {
    client: ApiClient,
    connect: Arc<dyn Connect>,
    clock: Clock,
    known: Mutex<BTreeMap<ObjectKey, Workload>>,
    wake: Mutex<Vec<Wake>>,
    tasks: Tasks,
}

impl Workloads {
    /// None yet.
    pub fn new(client: ApiClient, connect: Arc<dyn Connect>, clock: Clock) -> Self {
        Self {
            client,
            connect,
            clock,
            known: Mutex::default(),
            wake: Mutex::default(),
            tasks: Tasks::default(),
        }
    }

    /// Calls `wake` with a cluster whenever its Nodes or its reachability change.
    pub fn subscribe(&self, wake: impl Fn(&ObjectKey) + Send + Sync + 'static) {
        self.wake.lock().push(Box::new(wake));
    }

    /// What is known of a cluster.
    pub fn get(&self, cluster: &ObjectKey) -> Workload {
        self.known.lock().get(cluster).cloned().unwrap_or(Workload::Unknown)
    }

    /// Whether no connection is being made at the moment.
    pub fn is_settled(&self) -> bool {
        !self.known.lock().values().any(|w| matches!(w, Workload::Connecting))
    }

    /// Connects to a cluster, once; later calls do nothing.
    pub fn ensure(self: &Arc<Self>, cluster: &ObjectKey) {
        let mut known = self.known.lock();
        if known.contains_key(cluster) {
            return;
        }
        known.insert(cluster.clone(), Workload::Connecting);
        drop(known);
        self.tasks.spawn(run(Arc::downgrade(self), cluster.clone()));
    }

    fn set(&self, cluster: &ObjectKey, workload: Workload) {
        self.known.lock().insert(cluster.clone(), workload);
        self.tell(cluster);
    }

    fn tell(&self, cluster: &ObjectKey) {
        for wake in self.wake.lock().iter() {
            wake(cluster);
        }
    }

    async fn kubeconfig(&self, cluster: &ObjectKey) -> Result<Vec<u8>, ConnectError> {
        let key = ObjectKey::new(&cluster.namespace, format!("{}-kubeconfig", cluster.name));
        let secret = self.client.get_object::<Secret>(&key).await;
        let secret = secret.map_err(|error| ConnectError(format!("Secret {key}: {error}")))?;
        let secret = secret.ok_or_else(|| ConnectError(format!("Secret {key} is not there")))?;
        let value = secret.data.get("value").cloned();
        let value = value.ok_or_else(|| ConnectError(format!("Secret {key} has no key `value`")))?;
        BASE64_STANDARD.decode(value).map_err(|_| ConnectError(format!("Secret {key} is not base64")))
    }
}

/// Connects, then keeps the Nodes; while that fails, says why and tries again.
async fn run(workloads: Weak<Workloads>, cluster: ObjectKey) {
    loop {
        let Some(this) = workloads.upgrade() else { return };
        let client = match this.kubeconfig(&cluster).await {
            Ok(kubeconfig) => this.connect.connect(&kubeconfig).await,
            Err(error) => Err(error),
        };
        match client {
            Err(error) => {
                warn!(%cluster, %error, "cannot reach the workload cluster");
                let since = match this.get(&cluster) {
                    Workload::Unreachable { since, .. } => since,
                    _ => this.clock.now(),
                };
                this.set(&cluster, Workload::Unreachable { since, cause: error.to_string() });
                drop(this);
                tokio::time::sleep(RETRY).await;
            }
            Ok(client) => {
                drop(this);
                return follow(workloads, cluster, client).await;
            }
        }
    }
}

async fn follow(workloads: Weak<Workloads>, cluster: ObjectKey, client: ApiClient) {
    let store = Arc::new(Store::<Node>::new(&[NODES_BY_HOST, NODES_BY_HOSTNAME, NODES_BY_UUID]));
    let (weak, key) = (workloads.clone(), cluster.clone());
    store.subscribe(move |_| {
        if let Some(this) = weak.upgrade() {
            this.tell(&key);
        }
    });
    let first_list = async {
        store.synced().await;
        if let Some(this) = workloads.upgrade() {
            this.set(&cluster, Workload::Synced(Arc::clone(&store), client.clone()));
        }
        std::future::pending::<()>().await;
    };
    tokio::select! {
        biased;
        () = Informer::new(client.clone(), Arc::clone(&store), Detail::Whole).run() => {}
        () = first_list => {}
    }
}

impl std::fmt::Debug for Workloads {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_map().entries(self.known.lock().iter().map(|(k, v)| (k.to_string(), v.name()))).finish()
    }
}

impl Workload {
    fn name(&self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Connecting => "connecting",
            Self::Unreachable { .. } => "unreachable",
            Self::Synced(..) => "synced",
        }
    }
}
