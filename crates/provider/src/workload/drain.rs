//! What is left of a Node that is powered off: Pods that do not tolerate its taint or are being deleted, and volumes that are
//! attached to it.
//!
//! Takes a workload cluster and a Node; watches both kinds until [`Workloads::end_drain`] is called, and calls who has
//! subscribed whenever the answer may be another one. It decides nothing and writes nothing.

use std::{collections::BTreeMap, sync::Arc};

use capm3_api::{
    metadata::MetadataExt,
    neighbours::{Pod, VolumeAttachment},
};
use capm3_domain::remediation::is_tolerated_by;
use capm3_engine::{
    ApiClient, ApiError, Detail, Index, Informer, Object, ObjectKey, Store, Tasks, client::shortened,
};
use kube::core::ObjectMeta;
use parking_lot::Mutex;

use super::{LONGEST_CAUSE, Workload, Workloads};

/// Volumes by the Node that they are attached to.
const VOLUMES_BY_NODE: Index<VolumeAttachment> = Index {
    name: "by-node",
    values: |volume| volume.spec.node_name.iter().filter(|name| !name.is_empty()).cloned().collect(),
};

/// Places of an object in its store, beside its name.
const PLACES: usize = 250;

/// What is left of a Node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Remains {
    /// The first lists have not arrived yet.
    NotListed,
    /// They cannot be read.
    Unknown(String),
    /// Names of Pods that go, and of volumes.
    Listed { pods: Vec<String>, volumes: Vec<String> },
}

type Wake = Arc<dyn Fn(&ObjectKey, &str) + Send + Sync>;

/// A cluster and a Node of it.
type Place = (ObjectKey, String);

/// The Nodes that are watched.
#[derive(Default)]
pub(super) struct Drains {
    watched: Mutex<BTreeMap<Place, Watched>>,
    wake: Mutex<Vec<Wake>>,
}

struct Watched {
    pods: Arc<Store<Pod>>,
    volumes: Arc<Store<VolumeAttachment>>,
    failures: Failures,
    _tasks: Tasks,
}

/// Why a kind cannot be listed, by its plural.
type Failures = Arc<Mutex<BTreeMap<String, String>>>;

impl Drains {
    /// Ends every watch of a cluster that is gone.
    pub(super) fn forget(&self, cluster: &ObjectKey) {
        self.watched.lock().retain(|(of, _), _| of != cluster);
    }
}

impl Workloads {
    /// Calls `wake` with a cluster and a Node whenever what is left of the Node may be something else.
    pub(crate) fn subscribe_to_drains(&self, wake: impl Fn(&ObjectKey, &str) + Send + Sync + 'static) {
        self.drains.wake.lock().push(Arc::new(wake));
    }

    /// Watches what is left of a Node, once; later calls do nothing. A cluster that is not connected is not watched.
    pub(crate) fn ensure_drain(&self, cluster: &ObjectKey, node: &str) {
        let place = (cluster.clone(), node.to_owned());
        let Workload::Synced(_, client) = self.get(cluster) else { return };
        if self.drains.watched.lock().contains_key(&place) {
            return;
        }
        let wake = self.drains.wake.lock().clone();
        let watched = watch(&client, &place, &wake);
        self.drains.watched.lock().insert(place, watched);
    }

    /// What is left of a Node that is watched.
    pub(crate) fn remains(&self, cluster: &ObjectKey, node: &str) -> Remains {
        let watched = self.drains.watched.lock();
        let Some(watched) = watched.get(&(cluster.clone(), node.to_owned())) else {
            return Remains::NotListed;
        };
        if let Some(cause) = watched.failures.lock().values().next() {
            return Remains::Unknown(cause.clone());
        }
        if !watched.pods.is_synced() || !watched.volumes.is_synced() {
            return Remains::NotListed;
        }
        // One that is not evicted yet is left too: the taint may be a moment old.
        let goes = |pod: &Arc<Pod>| pod.metadata.is_deleting() || !is_tolerated_by(pod);
        let leaving = watched.pods.all().into_iter().filter(goes);
        let volumes = watched.volumes.by_index(&VOLUMES_BY_NODE, node);
        let mut pods: Vec<String> = leaving.map(|pod| pod.key().to_string()).collect();
        let mut volumes: Vec<String> =
            volumes.iter().map(|volume| volume.metadata.name_str().to_owned()).collect();
        pods.sort();
        volumes.sort();
        Remains::Listed { pods, volumes }
    }

    /// Ends the watch.
    pub(crate) fn end_drain(&self, cluster: &ObjectKey, node: &str) {
        let ended = self.drains.watched.lock().remove(&(cluster.clone(), node.to_owned()));
        drop(ended);
    }
}

fn watch(client: &ApiClient, (cluster, node): &Place, wake: &[Wake]) -> Watched {
    let (tasks, failures) = (Tasks::default(), Failures::default());
    let notify: Arc<dyn Fn() + Send + Sync> = {
        let (cluster, node, wake) = (cluster.clone(), node.clone(), wake.to_vec());
        Arc::new(move || wake.iter().for_each(|wake| wake(&cluster, &node)))
    };
    let of_node = client.clone().selecting("spec.nodeName", node);
    let pods = follow::<Pod>(of_node, Detail::Whole, &[], &tasks, &failures, &notify);
    let volumes = follow::<VolumeAttachment>(
        client.clone(),
        Detail::Whole,
        &[VOLUMES_BY_NODE],
        &tasks,
        &failures,
        &notify,
    );
    Watched { pods, volumes, failures, _tasks: tasks }
}

fn follow<K: Object>(
    client: ApiClient,
    detail: Detail,
    indexes: &[Index<K>],
    tasks: &Tasks,
    failures: &Failures,
    notify: &Arc<dyn Fn() + Send + Sync>,
) -> Arc<Store<K>> {
    let store = Arc::new(Store::new(indexes));
    let changed = Arc::clone(notify);
    store.subscribe(move |_| changed());
    let (failures, notify) = (Arc::clone(failures), Arc::clone(notify));
    let informer = Informer::new(client, Arc::clone(&store), detail).weighing(|object| weigh(object.meta()));
    let informer = informer.reporting(move |listed: Result<(), &ApiError>| {
        let plural = K::plural(&()).into_owned();
        match listed {
            Ok(()) => failures.lock().remove(&plural),
            Err(error) => {
                let cause = format!("{plural} cannot be listed: {error}");
                failures.lock().insert(plural, shortened(&cause, LONGEST_CAUSE).to_owned())
            }
        };
        notify();
    });
    tasks.spawn(informer.run());
    store
}

/// What an object takes that is kept. Rather too much than too little.
fn weigh(meta: &ObjectMeta) -> usize {
    let texts = [&meta.name, &meta.namespace, &meta.uid, &meta.resource_version];
    let maps = [&meta.labels, &meta.annotations].into_iter().flatten().flatten();
    let of_maps: usize = maps.map(|(key, value)| key.capacity() + value.capacity() + 2 * PLACES).sum();
    size_of::<VolumeAttachment>()
        + PLACES
        + texts.into_iter().flatten().map(String::capacity).sum::<usize>()
        + of_maps
}
