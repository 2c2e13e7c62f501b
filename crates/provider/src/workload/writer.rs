//! Writes of a plan to Nodes of workload clusters.

use std::{sync::Arc, time::Duration};

use capm3_api::neighbours::Node;
use capm3_engine::{ApiError, ObjectKey, ResourceKind, WorkloadWriter};
use futures::{FutureExt, future::BoxFuture};
use serde_json::Value;

use super::{Workload, Workloads};

/// How long a workload cluster may take to answer: it must not hold up other clusters.
const TIMEOUT: Duration = Duration::from_secs(10);

impl WorkloadWriter for Workloads {
    fn merge_patch<'a>(
        self: Arc<Self>,
        cluster: &'a ObjectKey,
        kind: &'a ResourceKind,
        key: &'a ObjectKey,
        patch: &'a Value,
    ) -> BoxFuture<'a, Result<(), ApiError>> {
        async move {
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
