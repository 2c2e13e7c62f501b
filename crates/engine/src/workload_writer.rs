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

/// A deletion of an object of a workload cluster.
#[derive(Debug, Clone, Copy)]
pub struct WorkloadDelete<'a> {
    /// The cluster.
    pub cluster: &'a ObjectKey,
    /// Kind of the object.
    pub kind: &'a ResourceKind,
    /// Key of the object.
    pub key: &'a ObjectKey,
    /// Uid of the object: another one of that name stays.
    pub uid: &'a str,
}

/// Writes to workload clusters, whose clients an executor does not have.
pub trait WorkloadWriter: fmt::Debug + Send + Sync {
    /// Sends a patch. Takes a bounded time.
    fn send<'a>(self: Arc<Self>, patch: WorkloadPatch<'a>) -> BoxFuture<'a, Result<(), ApiError>>;

    /// Deletes an object. One that is gone already is no error. Takes a bounded time.
    fn delete<'a>(self: Arc<Self>, deletion: WorkloadDelete<'a>) -> BoxFuture<'a, Result<(), ApiError>>;
}
