//! Writes of a plan to Nodes of workload clusters.

use std::{sync::Arc, time::Duration};

use capm3_api::neighbours::Node;
use capm3_engine::{ApiClient, ApiError, ObjectKey, Store, WorkloadDelete, WorkloadPatch, WorkloadWriter};
use futures::{FutureExt, future::BoxFuture};

use super::{Workload, Workloads};

/// How long a workload cluster may take to answer: it must not hold up other clusters.
const TIMEOUT: Duration = Duration::from_secs(10);

impl WorkloadWriter for Workloads {
    fn send<'a>(self: Arc<Self>, patch: WorkloadPatch<'a>) -> BoxFuture<'a, Result<(), ApiError>> {
        async move {
            let WorkloadPatch { cluster, kind, key, patch } = patch;
            let (store, client) = self.connected(cluster)?;
            let answer = self.in_time(cluster, client.merge_patch(kind, key, None, patch)).await?;
            if let Ok(node) = serde_json::from_value::<Node>(answer) {
                store.apply(node);
            }
            Ok(())
        }
        .boxed()
    }

    fn delete<'a>(self: Arc<Self>, deletion: WorkloadDelete<'a>) -> BoxFuture<'a, Result<(), ApiError>> {
        async move {
            let WorkloadDelete { cluster, kind, key, uid } = deletion;
            let (_, client) = self.connected(cluster)?;
            // The watch shows what became of it.
            self.in_time(cluster, client.delete(kind, key, Some(uid))).await.map(|_| ())
        }
        .boxed()
    }
}

impl Workloads {
    /// Copies of the Nodes of a cluster, and its client.
    pub(super) fn connected(&self, cluster: &ObjectKey) -> Result<(Arc<Store<Node>>, ApiClient), ApiError> {
        match self.get(cluster) {
            Workload::Synced(store, client) => Ok((store, client)),
            _ => {
                let cause = format!("workload cluster {cluster} is not connected");
                Err(ApiError::NoAnswer { source: cause.into() })
            }
        }
    }

    /// Sends a request. A cluster that does not answer in time counts as unreachable from then on.
    pub(super) async fn in_time<T>(
        self: &Arc<Self>,
        cluster: &ObjectKey,
        request: impl Future<Output = Result<T, ApiError>>,
    ) -> Result<T, ApiError> {
        let answer = tokio::time::timeout(TIMEOUT, request).await;
        let answer = answer.map_err(|late| ApiError::NoAnswer { source: late.into() }).flatten();
        if let Err(error @ (ApiError::NoAnswer { .. } | ApiError::LimitExceeded(_))) = &answer {
            self.suspect(cluster, &error.to_string());
        }
        answer
    }
}
