//! The workload clusters of a real Cluster API: followed from the day the Cluster appears until it is gone.
//!
//! Nothing is taken away when it is gone: it may have been moved to another management cluster.

use std::sync::Arc;

use capm3_api::metadata::MetadataExt;
use capm3_engine::{Controller, ObjectKey, Outcome, Reader};

use crate::{
    context::{self, Context},
    indexes::HOSTS_BY_CLUSTER,
    kinds::Cluster,
    metadata::path,
    wake,
};

pub(crate) fn controller(context: &Arc<Context>) -> Controller {
    context::controller("workload clusters", &context.queues.clusters, context, reconcile)
}

async fn reconcile(context: Arc<Context>, key: ObjectKey) -> Outcome {
    let Some(cluster) = context.caches.get::<Cluster>(&key) else {
        context.workloads.forget(&key);
        return Outcome::Settled;
    };
    let uid = cluster.metadata.uid_str();
    if !context.workloads.is_of(&key, uid) {
        context.workloads.forget(&key);
    }
    if context.workloads.get(&key).is_none() {
        context.workloads.ensure(&key, uid, wake::on_node(&context.caches, &context.queues, &key));
        // Hosts that were looked at before had no cluster to join.
        for host in context.caches.by_index(&HOSTS_BY_CLUSTER, &path(&key.namespace, &key.name)) {
            context.queues.joins.add(ObjectKey::new(host.metadata.namespace_str(), host.metadata.name_str()));
        }
    }
    Outcome::Settled
}
