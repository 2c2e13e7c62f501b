//! One API: its store behind one lock, and what must happen when the lock is released.

use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::{
    builtin,
    discovery::USUAL_VERSION,
    ids::Ids,
    resource::{Resource, ResourceKey, Version},
    server_context::Env,
    store::Store,
    write::{Origin, Place, WriteOptions, Writer},
};

/// The namespaces every cluster is born with.
const FIRST_NAMESPACES: [&str; 2] = ["default", "kube-system"];

/// A management or workload API.
pub(crate) struct Cluster {
    /// `None` for the management API.
    pub(crate) id: Option<String>,
    pub(crate) env: Arc<Env>,
    state: Mutex<State>,
    version: Mutex<Arc<str>>,
}

/// What the lock of a cluster protects.
pub(crate) struct State {
    pub(crate) store: Store,
    pub(crate) ids: Ids,
}

impl Cluster {
    /// A cluster with the built-in kinds and the first namespaces.
    pub(crate) fn new(id: Option<String>, env: Arc<Env>) -> Self {
        let mut store = Store::new(env.retention.clone());
        builtin::resources().for_each(|resource| store.define(Arc::new(resource)));
        let ids = Ids::new(env.seed, id.as_deref().unwrap_or_default());
        let cluster = Self {
            id,
            env,
            state: Mutex::new(State { store, ids }),
            version: Mutex::new(USUAL_VERSION.into()),
        };
        cluster.create_first_namespaces();
        cluster
    }

    fn create_first_namespaces(&self) {
        self.with(|state| {
            let Some(resource) =
                state.store.table(&ResourceKey::new("", "namespaces")).map(|it| Arc::clone(&it.resource))
            else {
                return;
            };
            let version: Arc<Version> = Arc::clone(&resource.storage);
            let place = Place { resource, version, namespace: "".into(), name: None, status: false };
            for name in FIRST_NAMESPACES {
                let body = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
                // Not a client's write, so neither counted nor recorded.
                let _ = self.writer(state, Origin::server()).create(
                    &place,
                    body,
                    Vec::new(),
                    WriteOptions::default(),
                );
                while state.store.next_change().is_some() {}
            }
        });
    }

    /// Runs `work` with the cluster locked; afterwards wakes watchers and notifies the observer.
    pub(crate) fn with<R>(&self, work: impl FnOnce(&mut State) -> R) -> R {
        let (result, woken) = {
            let mut state = self.state.lock();
            let result = work(&mut state);
            (result, state.store.take_woken())
        };
        woken.into_iter().for_each(std::task::Waker::wake);
        self.env.recorder.deliver();
        result
    }

    /// The one who writes to a locked cluster.
    pub(crate) fn writer<'a>(&'a self, state: &'a mut State, origin: Origin<'a>) -> Writer<'a> {
        Writer { state, env: &self.env, cluster: self.id.as_deref(), origin }
    }

    /// Every stored object of the resources that are wanted, ordered by resource, namespace and name.
    pub(crate) fn objects(&self, wanted: impl Fn(&Resource) -> bool) -> Vec<Arc<Value>> {
        self.with(|state| {
            let tables = state.store.tables().filter(|table| wanted(&table.resource));
            tables.flat_map(|table| table.objects.iter(None)).map(|(_, _, it)| Arc::new(it.value())).collect()
        })
    }

    /// The version of Kubernetes that it reports.
    pub(crate) fn version(&self) -> Arc<str> {
        Arc::clone(&self.version.lock())
    }

    pub(crate) fn report_version(&self, version: &str) {
        *self.version.lock() = version.into();
    }

    /// Ends all watches and forgets everything.
    pub(crate) fn close(&self) {
        self.with(|state| state.store.close());
    }
}
