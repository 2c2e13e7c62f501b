//! What brings a template back to its worker.

use std::sync::{Arc, Weak};

use capm3_api::{
    metadata::MetadataExt,
    neighbours::Cluster,
    reference::ObjectRef,
    v1beta2::{Metal3Data, Metal3DataClaim, Metal3DataTemplate},
};
use capm3_domain::index::{space_of_data, space_of_template};
use capm3_engine::{Caches, Object, ObjectKey, Queue, Reader, informer::Change};
use kube::core::ObjectMeta;

use crate::{
    batch::GATHER,
    indexes::CLAIMS_BY_CLUSTER,
    watching::{came_or_went, changed_beside_status},
};

pub(super) fn watch(caches: &Arc<Caches>, queue: &Arc<Queue<ObjectKey>>) {
    if let Some(store) = caches.store::<Metal3DataTemplate>() {
        let queue = Arc::clone(queue);
        store.subscribe(move |change| {
            if let Some(template) = changed_beside_status(change) {
                queue.add_after(space(&template.metadata, space_of_template(template)), GATHER);
            }
        });
    }
    if let Some(store) = caches.store::<Metal3DataClaim>() {
        let (queue, caches) = (Arc::clone(queue), Arc::downgrade(caches));
        store.subscribe(move |change| {
            if let Some(claim) = changed_beside_status(change).or_else(|| lost_its_data(change)) {
                wake_template(&queue, &caches, &claim.metadata, claim.spec.template.as_ref());
            }
        });
    }
    if let Some(store) = caches.store::<Metal3Data>() {
        let (queue, caches) = (Arc::clone(queue), Arc::downgrade(caches));
        store.subscribe(move |change| {
            if let Some(data) = came_or_went(change) {
                // Its index is free for every template that counts with it.
                space_of_data(data)
                    .into_iter()
                    .for_each(|key| queue.add_after(space(&data.metadata, key), GATHER));
                wake_template(&queue, &caches, &data.metadata, data.spec.template.as_ref());
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
                wake_template(
                    &queue,
                    &Arc::downgrade(&caches),
                    &claim.metadata,
                    claim.spec.template.as_ref(),
                );
            }
        });
    }
}

/// Adds the space of the template that is named, or its name if it is not there.
fn wake_template(
    queue: &Queue<ObjectKey>,
    caches: &Weak<Caches>,
    metadata: &ObjectMeta,
    template: Option<&ObjectRef>,
) {
    let name = template.map(|template| template.name_str()).unwrap_or_default();
    let key = ObjectKey::new(metadata.namespace_str(), name);
    let template = caches.upgrade().and_then(|caches| caches.get::<Metal3DataTemplate>(&key));
    match template {
        Some(template) => {
            queue.add_after(space(&template.metadata, space_of_template(&template)), GATHER);
        }
        // One that is gone may have left claims behind.
        None => queue.add_after(key, GATHER),
    }
}

fn space(metadata: &ObjectMeta, key: &str) -> ObjectKey {
    ObjectKey::new(metadata.namespace_str(), key)
}

fn lost_its_data(change: &Change<Metal3DataClaim>) -> Option<&Metal3DataClaim> {
    let had = change.old.as_ref().is_some_and(|claim| claim.status.rendered_data.is_some());
    change.new.as_deref().filter(|claim| had && claim.status.rendered_data.is_none())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use tokio::time::Instant;

    use super::*;
    use crate::kinds;

    /// When the template `ns/t` is taken up after an object came.
    async fn served_after<K: Object>(spec: Value) -> std::time::Duration {
        let mut caches = Caches::default();
        kinds::register(&mut caches);
        let (caches, queue, start) = (Arc::new(caches), Arc::new(Queue::default()), Instant::now());
        watch(&caches, &queue);
        let object =
            json!({"metadata": {"name": "t", "namespace": "ns", "resourceVersion": "1"}, "spec": spec});
        caches.store::<K>().unwrap().apply(serde_json::from_value(object).unwrap());
        assert_eq!(queue.next().await, ObjectKey::new("ns", "t"));
        start.elapsed()
    }

    #[tokio::test(start_paused = true)]
    async fn every_change_is_gathered_and_so_is_what_is_there_at_the_start() {
        let named = json!({"template": {"name": "t"}});
        let waits = [
            served_after::<Metal3DataTemplate>(json!({})).await,
            served_after::<Metal3DataClaim>(named.clone()).await,
            served_after::<Metal3Data>(named).await,
        ];
        assert_eq!(waits, [GATHER; 3]);
    }
}
