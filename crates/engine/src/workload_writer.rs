//! How an executor writes to workload clusters: through whoever has their clients.

use std::{fmt, sync::Arc};

use futures::future::BoxFuture;
use serde_json::Value;

use crate::{ObjectKey, ResourceKind, client::ApiError};

/// A merge patch of an object of a workload cluster.
#[derive(Debug, Clone, Copy)]
pub struct WorkloadPatch<'a> {
    /// The cluster.
    pub cluster: &'a ObjectKey,
    /// Kind of the object.
    pub kind: &'a ResourceKind,
    /// Key of the object.
    pub key: &'a ObjectKey,
    /// What is merged.
    pub patch: &'a Value,
}

/// Writes to workload clusters, whose clients an executor does not have.
pub trait WorkloadWriter: fmt::Debug + Send + Sync {
    /// Sends a patch. Takes a bounded time.
    fn send<'a>(self: Arc<Self>, patch: WorkloadPatch<'a>) -> BoxFuture<'a, Result<(), ApiError>>;
}
