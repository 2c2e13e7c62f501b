//! The APIs of workload clusters: the same server, each below a path of its own, reached by kubeconfig.

use std::sync::Arc;

use capm3_apiserver::ApiServer;
use capm3_engine::{ApiClient, ObjectKey};
use capm3_provider::workload::{Connect, ConnectError};
use capm3_world::WorkloadApis;
use futures::{
    FutureExt,
    future::{BoxFuture, ready},
};
use parking_lot::Mutex;
use serde::Deserialize;

/// Host part of the addresses of embedded APIs; it is never looked up.
const EMBEDDED: &str = "https://embedded.invalid";

/// Makes and finds the APIs of workload clusters in the embedded server.
pub(crate) struct Embedded {
    pub(crate) server: ApiServer,
    pub(crate) client: ApiClient,
}

fn path(cluster: &ObjectKey) -> String {
    format!("/clusters/{}/{}", cluster.namespace, cluster.name)
}

impl WorkloadApis for Embedded {
    fn add(&self, cluster: &ObjectKey) {
        self.server.add_cluster(&cluster.to_string());
    }

    fn client(&self, cluster: &ObjectKey) -> ApiClient {
        self.client.below(path(cluster))
    }

    fn kubeconfig(&self, cluster: &ObjectKey) -> String {
        let (name, path) = (&cluster.name, path(cluster));
        format!(
            "apiVersion: v1\nkind: Config\nclusters:\n- name: {name}\n  cluster:\n    server: {EMBEDDED}{path}\n\
             contexts:\n- name: {name}\n  context:\n    cluster: {name}\n    user: admin\n\
             current-context: {name}\nusers:\n- name: admin\n  user: {{}}\n"
        )
    }
}

/// Every address to which a provider wanted to be connected, in order.
pub(crate) type Asked = Arc<Mutex<Vec<String>>>;

/// Connects to embedded workload APIs with the provider's own client.
pub(crate) struct ConnectInProcess {
    client: ApiClient,
    asked: Asked,
}

impl ConnectInProcess {
    pub(crate) fn new(client: ApiClient, asked: Asked) -> Arc<Self> {
        Arc::new(Self { client, asked })
    }
}

#[derive(Deserialize)]
struct Kubeconfig {
    clusters: Vec<NamedCluster>,
}

#[derive(Deserialize)]
struct NamedCluster {
    cluster: ClusterEntry,
}

#[derive(Deserialize)]
struct ClusterEntry {
    server: String,
}

impl Connect for ConnectInProcess {
    fn connect<'a>(&'a self, kubeconfig: &'a [u8]) -> BoxFuture<'a, Result<ApiClient, ConnectError>> {
        ready(self.find(kubeconfig)).boxed()
    }
}

impl ConnectInProcess {
    fn find(&self, kubeconfig: &[u8]) -> Result<ApiClient, ConnectError> {
        let text = std::str::from_utf8(kubeconfig).map_err(|e| ConnectError(e.to_string()))?;
        let config: Kubeconfig =
            serde_saphyr::from_str(text).map_err(|_| ConnectError("it is no kubeconfig".to_owned()))?;
        let entry = config.clusters.into_iter().next();
        let entry = entry.ok_or_else(|| ConnectError("the kubeconfig names no cluster".to_owned()))?;
        self.asked.lock().push(entry.cluster.server.clone());
        match entry.cluster.server.strip_prefix(EMBEDDED) {
            Some(path) => Ok(self.client.below(path)),
            None => Err(ConnectError(format!("{} is not in this process", entry.cluster.server))),
        }
    }
}
