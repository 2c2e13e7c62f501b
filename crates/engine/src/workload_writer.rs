//! How an executor writes to workload clusters: through whoever has their clients.

use std::{fmt, sync::Arc};

use futures::future::BoxFuture;
use serde_json::Value;

use crate::{ObjectKey, ResourceKind, client::ApiError};

/// Writes to workload clusters, whose clients an executor does not have.
pub trait WorkloadWriter: fmt::Debug + Send + Sync {
    /// Merges a patch into an object of a workload cluster. Takes a bounded time.
    fn merge_patch<'a>(
        self: Arc<Self>,
        cluster: &'a ObjectKey,
        kind: &'a ResourceKind,
        key: &'a ObjectKey,
        patch: &'a Value,
    ) -> BoxFuture<'a, Result<(), ApiError>>;
}
