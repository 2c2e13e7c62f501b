//! Writes of a plan to Nodes of workload clusters.

use std::{sync::Arc, time::Duration};

use capm3_api::neighbours::Node;
use capm3_engine::{ApiError, WorkloadPatch, WorkloadWriter};
use futures::{FutureExt, future::BoxFuture};

use super::{Workload, Workloads};

/// How long a workload cluster may take to answer: it must not hold up other clusters.
pub(super) const TIMEOUT: Duration = Duration::from_secs(10);

impl WorkloadWriter for Workloads {
    fn send<'a>(self: Arc<Self>, patch: WorkloadPatch<'a>) -> BoxFuture<'a, Result<(), ApiError>> {
        async move {
            let WorkloadPatch { cluster, kind, key, patch } = patch;
            let Workload::Synced(store, client) = self.get(cluster) else {
                let cause = format!("workload cluster {cluster} is not connected");
                return Err(ApiError::NoAnswer { source: cause.into() });
            };
            let answer = tokio::time::timeout(TIMEOUT, client.merge_patch(kind, key, None, patch)).await;
            let answer = answer.map_err(|late| ApiError::NoAnswer { source: late.into() }).flatten();
            if let Err(error @ (ApiError::NoAnswer { .. } | ApiError::LimitExceeded(_))) = &answer {
                self.suspect(cluster, &error.to_string());
            }
            if let Ok(node) = serde_json::from_value::<Node>(answer?) {
                store.apply(node);
            }
            Ok(())
        }
        .boxed()
    }
}
