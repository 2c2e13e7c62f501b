//! Events on a Lease, as client-go records them. Best effort and short: an election must not wait for them.

use std::time::Duration;

use serde_json::{Value, json};
use tracing::{debug, warn};

use super::lease_kind;
use crate::{ApiClient, Clock, ObjectKey, ResourceKind};

/// Records that `identity` did something with its Lease.
pub(super) async fn record(
    client: &ApiClient,
    clock: &Clock,
    (key, uid): (&ObjectKey, &str),
    (identity, what): (&str, &str),
    limit: Duration,
) {
    let (kind, event) = (event_kind(), event(key, uid, identity, what, clock.now()));
    let request = client.create(&kind, &key.namespace, event);
    match tokio::time::timeout(limit, request).await {
        Ok(Ok(_)) => {}
        Ok(Err(error)) => warn!(error = error.with_causes(), lease = %key, "could not record an event"),
        Err(_) => debug!(lease = %key, "could not record an event in time"),
    }
}

fn event_kind() -> ResourceKind {
    ResourceKind {
        group: String::new(),
        version: "v1".to_owned(),
        kind: "Event".to_owned(),
        plural: "events".to_owned(),
    }
}

fn event(key: &ObjectKey, uid: &str, identity: &str, what: &str, now: jiff::Timestamp) -> Value {
    let (kind, text) = (lease_kind(), crate::clock::text(now));
    // The same may happen again, so the time tells one from the other.
    json!({
        "metadata": {"name": format!("{}.{:x}", key.name, now.as_nanosecond()), "namespace": key.namespace},
        "involvedObject": {"apiVersion": kind.api_version(), "kind": kind.kind, "namespace": key.namespace,
            "name": key.name, "uid": uid},
        "type": "Normal", "reason": "LeaderElection", "message": format!("{identity} {what}"), "count": 1,
        "firstTimestamp": text, "lastTimestamp": text, "source": {"component": identity},
    })
}
