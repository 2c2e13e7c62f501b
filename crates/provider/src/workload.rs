//! The workload clusters that machines join: one client and one Node informer each, shared by all machines.
//!
//! A machine's decision never waits for a workload API: it reads what is known ([`Workload`]) and is woken when that
//! changes. Clients come from an injected [`Connect`], so a simulation stays in process. Whoever may write the kubeconfig
//! Secret chooses the server: whatever it sends stays within limits, and a cluster that exceeds one is left alone for a
//! growing while.

mod connection;
mod drain;
mod network;
mod read;
mod weight;
mod writer;

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use base64::{Engine, prelude::BASE64_STANDARD};
use capm3_api::{
    metadata::MetadataExt,
    neighbours::{Node, Secret},
    vocabulary::label,
};
use capm3_domain::provider_id::SomeProviderId;
use capm3_engine::{
    ApiClient, Clock, Index, ObjectKey, Store, Tasks,
    client::{Budget, limits::Limits, shortened},
    informer::Change,
    metrics::RequestCounts,
};
pub(crate) use drain::Remains;
use futures::future::BoxFuture;
use jiff::Timestamp;
pub use network::ConnectOverNetwork;
use parking_lot::Mutex;
use thiserror::Error;
use tokio::sync::Notify;
use tracing::{debug, warn};

/// When a cluster that does not answer is tried again.
const RETRY: Duration = Duration::from_secs(10);

/// A cluster that does not answer for so long may never do: longer than the longest pause before it is tried again.
const LASTING: Duration = Duration::from_secs(60);

/// When a kubeconfig that cannot be used is read again although no change was reported.
const SAFETY_NET: Duration = Duration::from_secs(600);

/// The server's words in a cause have at most so many bytes: it stands in conditions.
const LONGEST_CAUSE: usize = 1000;

/// What follows the cluster's name in the name of its kubeconfig Secret.
const KUBECONFIG_SUFFIX: &str = "-kubeconfig";

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

    /// How many requests its clients have sent.
    fn requests(&self) -> RequestCounts {
        RequestCounts::default()
    }
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
        /// Whether it answers, but does not let us read Nodes.
        is_forbidden: bool,
    },
    /// Its Nodes are known.
    Synced(Arc<Store<Node>>, ApiClient),
    /// Its Nodes are those of a memory.
    InMemory(Arc<Store<Node>>),
}

type Wake = Box<dyn Fn(&ObjectKey) + Send + Sync>;
type WakeForNode = Box<dyn Fn(&ObjectKey, &Node) + Send + Sync>;

/// Every workload cluster that some machine asked for.
pub struct Workloads {
    client: ApiClient,
    connect: Arc<dyn Connect>,
    clock: Clock,
    budget: Budget,
    known: Mutex<BTreeMap<ObjectKey, Connection>>,
    wake: Mutex<Vec<Wake>>,
    wake_for_node: Mutex<Vec<WakeForNode>>,
    wake_for_labels: Mutex<Vec<WakeForNode>>,
    drains: drain::Drains,
}

/// A cluster and the task that keeps its Nodes; dropping it ends the task.
struct Connection {
    workload: Workload,
    /// Rung when the kubeconfig Secret has changed.
    secret_changed: Arc<Notify>,
    /// Whether its Nodes are watched at present.
    followed: Arc<AtomicBool>,
    _task: Tasks,
}

/// Why there is no kubeconfig.
enum NoKubeconfig {
    /// There is no Secret, as before the control plane runs and after the Cluster is deleted or moved.
    Missing(ConnectError),
    /// Its Secret must change first.
    Unusable(ConnectError),
    /// The management API did not answer.
    NotRead(ConnectError),
}

impl Workloads {
    /// None yet.
    pub fn new(client: ApiClient, connect: Arc<dyn Connect>, clock: Clock) -> Self {
        Self {
            client,
            connect,
            clock,
            budget: Budget::default(),
            known: Mutex::default(),
            wake: Mutex::default(),
            wake_for_node: Mutex::default(),
            wake_for_labels: Mutex::default(),
            drains: drain::Drains::default(),
        }
    }

    /// The same with other limits for each cluster.
    #[must_use]
    pub fn limited(self, limits: Limits) -> Self {
        Self { budget: Budget::new(limits), ..self }
    }

    /// How many bytes are being received and how many are kept, of all clusters.
    pub fn used(&self) -> (usize, usize) {
        self.budget.used()
    }

    /// Calls `wake` with a cluster whenever it becomes known or unreachable.
    pub fn subscribe(&self, wake: impl Fn(&ObjectKey) + Send + Sync + 'static) {
        self.wake.lock().push(Box::new(wake));
    }

    /// Calls `wake` with a cluster and a Node, as it was and as it is, whenever the Node comes, goes, or changes in
    /// what shows whose it is. Heartbeats are no change.
    pub fn subscribe_to_nodes(&self, wake: impl Fn(&ObjectKey, &Node) + Send + Sync + 'static) {
        self.wake_for_node.lock().push(Box::new(wake));
    }

    /// The same whenever a Node comes or goes, or any of its labels or its provider ID changes.
    pub fn subscribe_to_labels(&self, wake: impl Fn(&ObjectKey, &Node) + Send + Sync + 'static) {
        self.wake_for_labels.lock().push(Box::new(wake));
    }

    /// What is known of a cluster.
    pub fn get(&self, cluster: &ObjectKey) -> Workload {
        let known = self.known.lock();
        known.get(cluster).map_or(Workload::Unknown, |connection| connection.workload.clone())
    }

    /// How many clusters are in which state.
    pub(crate) fn count_by_state(&self) -> [(&'static str, usize); 3] {
        let (mut connecting, mut synced, mut unreachable) = (0, 0, 0);
        for connection in self.known.lock().values() {
            match connection.workload {
                Workload::Unknown | Workload::Connecting => connecting += 1,
                Workload::Synced(..) | Workload::InMemory(_) => synced += 1,
                Workload::Unreachable { .. } => unreachable += 1,
            }
        }
        [("connecting", connecting), ("synced", synced), ("unreachable", unreachable)]
    }

    /// Whether no connection is being made or made again at the moment. A cluster that does not answer for long is not
    /// waited for.
    pub fn is_settled(&self) -> bool {
        let now = self.clock.now();
        self.known.lock().values().all(|connection| match &connection.workload {
            Workload::Unknown => true,
            Workload::Connecting => false,
            Workload::Unreachable { since, .. } => now.duration_since(*since).unsigned_abs() >= LASTING,
            Workload::Synced(..) => connection.followed.load(Ordering::Relaxed),
            Workload::InMemory(_) => true,
        })
    }

    /// Connects to a cluster, once; later calls do nothing.
    pub fn ensure(self: &Arc<Self>, cluster: &ObjectKey) {
        if !self.known.lock().contains_key(cluster) {
            self.start(cluster, Workload::Connecting, Duration::ZERO);
        }
    }

    /// Takes a cluster that did not answer as unreachable until it is found to answer again, so that nobody else waits
    /// for it in vain.
    pub fn suspect(self: &Arc<Self>, cluster: &ObjectKey, cause: &str) {
        let (since, cause) = (self.unreachable_since(cluster), shortened(cause, LONGEST_CAUSE).to_owned());
        self.start(cluster, Workload::Unreachable { since, cause, is_forbidden: false }, RETRY);
        self.notify(cluster);
    }

    /// Ends the connection to a cluster that is gone; another of that name is connected to again.
    pub fn forget(&self, cluster: &ObjectKey) {
        let forgotten = self.known.lock().remove(cluster);
        drop(forgotten);
        self.drains.forget(cluster);
    }

    /// A Secret has changed: if it is the kubeconfig of a known cluster, that cluster may be reached otherwise now.
    pub fn secret_changed(&self, secret: &ObjectKey) {
        let Some(name) = secret.name.strip_suffix(KUBECONFIG_SUFFIX) else { return };
        if let Some(connection) = self.known.lock().get(&ObjectKey::new(&secret.namespace, name)) {
            connection.secret_changed.notify_one();
        }
    }

    fn start(self: &Arc<Self>, cluster: &ObjectKey, workload: Workload, pause: Duration) {
        let secret_changed = Arc::new(Notify::new());
        let followed = Arc::new(AtomicBool::default());
        let (task, this) = (Tasks::default(), Arc::downgrade(self));
        let (changed, follows) = (Arc::clone(&secret_changed), Arc::clone(&followed));
        let cluster_key = cluster.clone();
        task.spawn(async move {
            tokio::time::sleep(pause).await;
            connection::run(this, cluster_key, changed, follows).await;
        });
        let connection = Connection { workload, secret_changed, followed, _task: task };
        let replaced = self.known.lock().insert(cluster.clone(), connection);
        drop(replaced);
    }

    fn unreachable_since(&self, cluster: &ObjectKey) -> Timestamp {
        match self.get(cluster) {
            Workload::Unreachable { since, .. } => since,
            _ => self.clock.now(),
        }
    }

    fn unreachable(&self, cluster: &ObjectKey, cause: &str) {
        self.not_readable(cluster, cause, false);
    }

    fn not_readable(&self, cluster: &ObjectKey, cause: &str, is_forbidden: bool) {
        let cause = shortened(cause, LONGEST_CAUSE).to_owned();
        let is_same =
            matches!(self.get(cluster), Workload::Unreachable { cause: before, .. } if before == cause);
        match is_same {
            true => debug!(%cluster, %cause, "still cannot reach the workload cluster"),
            false => warn!(%cluster, %cause, "cannot reach the workload cluster"),
        }
        self.give_up(cluster, cause, is_forbidden);
    }

    fn give_up(&self, cluster: &ObjectKey, cause: String, is_forbidden: bool) {
        let since = self.unreachable_since(cluster);
        self.set(cluster, Workload::Unreachable { since, cause, is_forbidden });
    }

    fn set(&self, cluster: &ObjectKey, workload: Workload) {
        let is_news = match self.known.lock().get_mut(cluster) {
            Some(connection) => {
                let is_news = connection.workload.says() != workload.says();
                connection.workload = workload;
                is_news
            }
            None => false,
        };
        if is_news {
            self.notify(cluster);
        }
    }

    fn notify(&self, cluster: &ObjectKey) {
        for wake in self.wake.lock().iter() {
            wake(cluster);
        }
    }

    fn tell_of_node(&self, cluster: &ObjectKey, change: &Change<Node>) {
        let notify = |subscribers: &Mutex<Vec<WakeForNode>>| {
            for node in [&change.old, &change.new].into_iter().flatten() {
                for wake in subscribers.lock().iter() {
                    wake(cluster, node);
                }
            }
        };
        if matters(change) {
            notify(&self.wake_for_node);
        }
        let seen =
            |node: &Arc<Node>| (node.metadata.uid.clone(), node.labels_digest, node.spec.provider_id.clone());
        if change.old.as_ref().map(seen) != change.new.as_ref().map(seen) {
            notify(&self.wake_for_labels);
        }
    }

    async fn kubeconfig(&self, cluster: &ObjectKey) -> Result<Vec<u8>, NoKubeconfig> {
        let key = kubeconfig_secret(cluster);
        let unusable =
            |problem: &str| NoKubeconfig::Unusable(ConnectError(format!("Secret {key} {problem}")));
        let secret = self.client.get_object::<Secret>(&key).await;
        let secret =
            secret.map_err(|error| NoKubeconfig::NotRead(ConnectError(format!("Secret {key}: {error}"))))?;
        let missing = || NoKubeconfig::Missing(ConnectError(format!("Secret {key} is not found")));
        let secret = secret.ok_or_else(missing)?;
        let value = secret.data.get("value").cloned().ok_or_else(|| unusable("has no key `value`"))?;
        BASE64_STANDARD.decode(value).map_err(|_| unusable("is not base64"))
    }
}

/// The Secret with the kubeconfig of a cluster.
fn kubeconfig_secret(cluster: &ObjectKey) -> ObjectKey {
    ObjectKey::new(&cluster.namespace, format!("{}{KUBECONFIG_SUFFIX}", cluster.name))
}

/// Whether a change of a Node tells something about whose it is.
fn matters(change: &Change<Node>) -> bool {
    let (Some(old), Some(new)) = (&change.old, &change.new) else { return true };
    let label = |node: &Node, key: &str| node.metadata.label(key).map(str::to_owned);
    old.spec != new.spec
        || old.metadata.uid != new.metadata.uid
        || [label::NODE_UUID, label::NODE_HOSTNAME].iter().any(|key| label(old, key) != label(new, key))
}

impl std::fmt::Debug for Workloads {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_map()
            .entries(self.known.lock().iter().map(|(k, v)| (k.to_string(), v.workload.name())))
            .finish()
    }
}

impl Workload {
    /// What is reported of it: two that report the same are no change.
    fn says(&self) -> (&'static str, &str) {
        match self {
            Self::Unreachable { cause, .. } => (self.name(), cause),
            _ => (self.name(), ""),
        }
    }

    fn name(&self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Connecting => "connecting",
            Self::Unreachable { .. } => "unreachable",
            Self::Synced(..) => "synced",
            Self::InMemory(_) => "in memory",
        }
    }
}
