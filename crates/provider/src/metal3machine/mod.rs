//! Metal3Machine: from Machine to host and back.
//!
//! Woken by itself, by its Machine, Cluster and Metal3Cluster, by its host, its claim and its data, by the Nodes of
//! its workload cluster and, while it has no host, by every host that may have become free.

mod associate;
mod data;
mod decide;
mod delete;
mod host_spec;
mod node;
mod observe;
mod status;
#[cfg(test)]
mod tests;
mod watch;

use std::{sync::Arc, time::Duration};

pub use associate::choose_host;
use capm3_api::neighbours::Node;
use capm3_engine::{ActError, ApiError, Controller, ObjectKey, Outcome, Plan, Queue, ResourceKind, drive};
pub use decide::{Decision, NodeWrite, decide};
pub use observe::{Nodes, Snapshot, observe};
use serde_json::json;

use crate::{
    context::{Context, boxed},
    workload::Workload,
};

pub(crate) fn controller(context: &Context) -> Controller {
    let queue = Arc::new(Queue::default());
    watch::watch(context, &queue);
    let context = context.clone();
    Controller::new(
        "metal3machine",
        queue,
        Arc::new(move |key: ObjectKey| {
            let context = context.clone();
            boxed(async move { reconcile(&context, &key).await })
        }),
    )
}

async fn reconcile(context: &Context, key: &ObjectKey) -> Outcome {
    if let Some(write) = look(context, key).node
        && let Err(source) = tell_node(context, &write).await
    {
        return Outcome::Failed(ActError {
            what: format!("set the provider ID of Node {}", write.name),
            source,
        });
    }
    drive(&context.executor, || look(context, key).plan).await
}

fn look(context: &Context, key: &ObjectKey) -> Decision {
    let workload = |cluster: &ObjectKey| context.workloads.get(cluster);
    let Some(snapshot) = observe(&*context.caches, workload, key) else {
        return Decision { plan: Plan::done(), ..Decision::default() };
    };
    let decision = decide(&snapshot, &context.clock.now_text());
    if let Some(cluster) = &decision.connect {
        context.workloads.ensure(cluster);
    }
    decision
}

/// How long a workload cluster may take to answer; its silence must not hold up other clusters.
const NODE_WRITE: Duration = Duration::from_secs(10);

/// Writes a provider ID on a Node that has none. A Node that was given another one meanwhile is refused by its API
/// server and judged at the next look.
async fn tell_node(context: &Context, write: &NodeWrite) -> Result<(), ApiError> {
    let Workload::Synced(store, client) = context.workloads.get(&write.cluster) else { return Ok(()) };
    let (kind, key) = (ResourceKind::of::<Node>(), ObjectKey::new("", &write.name));
    let patch = json!({"spec": {"providerID": write.provider_id}});
    let answer = tokio::time::timeout(NODE_WRITE, client.merge_patch(&kind, &key, None, &patch)).await;
    let answer = answer.map_err(|late| ApiError::NoAnswer { source: late.into() })??;
    if let Ok(node) = serde_json::from_value::<Node>(answer) {
        store.apply(node);
    }
    Ok(())
}
