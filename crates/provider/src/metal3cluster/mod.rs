//! Metal3Cluster: checks the endpoint, mirrors the failure domains, and stays until the last Machine has gone.
//!
//! Woken by itself, by its Cluster, and, while it is being deleted, by the Machines of that Cluster.

mod decide;
mod label_sync;
mod observe;
mod reconcile;

use std::sync::Arc;

use capm3_api::{
    metadata::MetadataExt,
    neighbours::{Cluster, Machine},
    v1beta2::Metal3Cluster,
    vocabulary::label,
};
use capm3_engine::{Controller, Object, ObjectKey, Queue, Reader};

pub use decide::decide;
pub use observe::{ClusterSnapshot, observe};

use crate::{
    context::{self, Context},
    indexes::METAL3_CLUSTERS_BY_OWNER,
};

pub(crate) fn controller(context: &Context) -> Controller {
    let queue = Arc::new(Queue::default());
    watch(context, &queue);
    let work = |context, key| async move { reconcile::reconcile(&context, &key).await };
    context::controller(context, reconcile::CONTROLLER, queue, work)
}

fn watch(context: &Context, queue: &Arc<Queue<ObjectKey>>) {
    let caches = &context.caches;
    if let Some(store) = caches.store::<Metal3Cluster>() {
        let queue = Arc::clone(queue);
        store.subscribe(move |change| {
            if let Some(object) = change.new.as_ref().or(change.old.as_ref()) {
                queue.add(object.key());
            }
        });
    }
    let enqueue_owned_by = {
        let (queue, caches) = (Arc::clone(queue), Arc::downgrade(caches));
        move |cluster: &str| {
            for owned in caches.upgrade().iter().flat_map(|c| c.by_index(&METAL3_CLUSTERS_BY_OWNER, cluster))
            {
                queue.add(owned.key());
            }
        }
    };
    if let Some(store) = caches.store::<Cluster>() {
        let enqueue = enqueue_owned_by.clone();
        store.subscribe(move |change| {
            if let Some(cluster) = change.new.as_ref().or(change.old.as_ref()) {
                enqueue(&cluster.key().to_string());
            }
        });
    }
    if let Some(store) = caches.store::<Machine>() {
        store.subscribe(move |change| {
            // Only the end of a Machine matters here.
            if let (Some(machine), None) = (&change.old, &change.new) {
                let cluster = machine.metadata.label(label::CLUSTER_NAME).unwrap_or_default();
                enqueue_owned_by(&format!("{}/{cluster}", machine.metadata.namespace_str()));
            }
        });
    }
}
