//! What brings a template back to its worker.

use std::sync::Arc;

use capm3_api::{
    metadata::MetadataExt,
    neighbours::Cluster,
    reference::ObjectRef,
    v1beta2::{Metal3Data, Metal3DataClaim, Metal3DataTemplate},
};
use capm3_engine::{Caches, Object, ObjectKey, Queue, Reader, informer::Change};
use kube::core::ObjectMeta;

use crate::{
    indexes::CLAIMS_BY_CLUSTER,
    watching::{came_or_went, changed_beside_status},
};

pub(super) fn watch(caches: &Arc<Caches>, queue: &Arc<Queue<ObjectKey>>) {
    if let Some(store) = caches.store::<Metal3DataTemplate>() {
        let queue = Arc::clone(queue);
        store.subscribe(move |change| {
            if let Some(template) = changed_beside_status(change) {
                queue.add(template.key());
            }
        });
    }
    if let Some(store) = caches.store::<Metal3DataClaim>() {
        let queue = Arc::clone(queue);
        store.subscribe(move |change| {
            if let Some(claim) = changed_beside_status(change).or_else(|| lost_its_data(change)) {
                template_of(&claim.metadata, claim.spec.template.as_ref())
                    .into_iter()
                    .for_each(|key| queue.add(key));
            }
        });
    }
    if let Some(store) = caches.store::<Metal3Data>() {
        let queue = Arc::clone(queue);
        store.subscribe(move |change| {
            if let Some(data) = came_or_went(change) {
                template_of(&data.metadata, data.spec.template.as_ref())
                    .into_iter()
                    .for_each(|key| queue.add(key));
            }
        });
    }
    if let Some(store) = caches.store::<Cluster>() {
        let (queue, caches) = (Arc::clone(queue), Arc::downgrade(caches));
        store.subscribe(move |change| {
            let paused = |cluster: &Option<Arc<Cluster>>| cluster.as_ref().is_some_and(|c| c.is_paused());
            let (true, Some(caches)) = (paused(&change.old) != paused(&change.new), caches.upgrade()) else {
                return;
            };
            let Some(cluster) = change.new.as_ref().or(change.old.as_ref()) else {
                return;
            };
            for claim in caches.by_index(&CLAIMS_BY_CLUSTER, &cluster.key().to_string()) {
                template_of(&claim.metadata, claim.spec.template.as_ref())
                    .into_iter()
                    .for_each(|key| queue.add(key));
            }
        });
    }
}

fn template_of(metadata: &ObjectMeta, template: Option<&ObjectRef>) -> Option<ObjectKey> {
    let name = template?.name.as_deref().filter(|name| !name.is_empty())?;
    Some(ObjectKey::new(metadata.namespace_str(), name))
}

fn lost_its_data(change: &Change<Metal3DataClaim>) -> Option<&Metal3DataClaim> {
    let had = change.old.as_ref().is_some_and(|claim| claim.status.rendered_data.is_some());
    change.new.as_deref().filter(|claim| had && claim.status.rendered_data.is_none())
}
