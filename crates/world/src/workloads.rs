//! The workload clusters: one client, one copy of the Nodes and one executor each, from the day the Cluster appears
//! until it is gone.

use std::{collections::BTreeMap, sync::Arc};

use capm3_engine::{ApiClient, Caches, Clock, Executor, Index, ObjectKey, Store, Tasks, informer::Change};
use k8s_openapi::api::core::v1::Node;
use parking_lot::Mutex;

/// Where the APIs of workload clusters are.
pub trait WorkloadApis: Send + Sync {
    /// Makes sure that there is an API for a cluster that has appeared; called once a Cluster and start of a world.
    fn add(&self, cluster: &ObjectKey);
    /// A client of that API.
    fn client(&self, cluster: &ObjectKey) -> ApiClient;
    /// The text of a kubeconfig with which others reach it.
    fn kubeconfig(&self, cluster: &ObjectKey) -> String;
}

/// Nodes by provider ID.
pub(crate) const NODES_BY_PROVIDER_ID: Index<Node> = Index {
    name: "provider-id",
    values: |node| {
        node.spec.iter().filter_map(|s| s.provider_id.clone()).filter(|id| !id.is_empty()).collect()
    },
};

/// Nodes by the uid of the host on which they run.
pub(crate) const NODES_BY_SYSTEM_UUID: Index<Node> =
    Index { name: "system-uuid", values: |node| system_uuid(node).into_iter().collect() };

/// The uid of the host on which a node runs.
pub(crate) fn system_uuid(node: &Node) -> Option<String> {
    let info = node.status.as_ref()?.node_info.as_ref()?;
    Some(info.system_uuid.clone()).filter(|uuid| !uuid.is_empty())
}

/// One workload cluster.
pub(crate) struct Workload {
    pub(crate) nodes: Arc<Store<Node>>,
    pub(crate) executor: Executor,
    pub(crate) caches: Arc<Caches>,
    uid: String,
    _tasks: Tasks,
}

/// Called with each change of a Node.
pub(crate) type OnNode = Arc<dyn Fn(&Change<Node>) + Send + Sync>;

/// All workload clusters.
pub(crate) struct Workloads {
    pub(crate) apis: Arc<dyn WorkloadApis>,
    clock: Clock,
    known: Mutex<BTreeMap<ObjectKey, Arc<Workload>>>,
}

impl Workloads {
    pub(crate) fn new(apis: Arc<dyn WorkloadApis>, clock: Clock) -> Self {
        Self { apis, clock, known: Mutex::new(BTreeMap::new()) }
    }

    pub(crate) fn get(&self, cluster: &ObjectKey) -> Option<Arc<Workload>> {
        self.known.lock().get(cluster).cloned()
    }

    /// Whether nothing is known of that name, or it is the Cluster with that uid.
    pub(crate) fn is_of(&self, cluster: &ObjectKey, uid: &str) -> bool {
        self.get(cluster).is_none_or(|known| known.uid == uid)
    }

    /// Makes sure that the API of a Cluster is there and its Nodes are watched.
    pub(crate) fn ensure(&self, cluster: &ObjectKey, uid: &str, on_node: OnNode) {
        if self.get(cluster).is_some_and(|known| known.uid == uid) {
            return;
        }
        self.apis.add(cluster);
        let client = self.apis.client(cluster);
        let mut caches = Caches::default();
        let nodes = caches.add(&[NODES_BY_PROVIDER_ID, NODES_BY_SYSTEM_UUID]);
        nodes.subscribe(move |change| on_node(change));
        let (caches, tasks) = (Arc::new(caches), Tasks::default());
        caches.start_informers(&client, &tasks);
        let executor = Executor::new(client, Arc::clone(&caches), self.clock, "capm3-world");
        let workload = Workload { nodes, executor, caches, uid: uid.to_owned(), _tasks: tasks };
        self.known.lock().insert(cluster.clone(), Arc::new(workload));
    }

    /// Stops watching a cluster that is gone.
    pub(crate) fn forget(&self, cluster: &ObjectKey) {
        self.known.lock().remove(cluster);
    }

    /// Stops watching every cluster.
    pub(crate) fn forget_all(&self) {
        self.known.lock().clear();
    }

    pub(crate) fn are_followed(&self) -> bool {
        let known = self.known.lock();
        known.values().all(|workload| workload.caches.are_synced() && workload.caches.are_followed())
    }
}
