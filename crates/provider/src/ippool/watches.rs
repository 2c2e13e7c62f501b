//! What brings a pool back to its worker.

use std::sync::Arc;

use capm3_api::{
    ipam::{IpAddress, IpClaim, IpPool},
    metadata::MetadataExt,
    neighbours::{CapiIpAddress, Cluster, IpAddressClaim},
    v1beta2::{Metal3Data, Metal3DataClaim},
};
use capm3_engine::{Caches, Object, ObjectKey, Queue, Reader, informer::Change};

use crate::{
    batch::GATHER_ADDRESS_CLAIMS,
    indexes::{DATA_BY_CLAIM, IP_CLAIMS_BY_OWNER, POOLS_BY_CLUSTER, POOLS_BY_NAMESPACE, serves},
    watching::{came_or_went, changed_beside_status},
};

pub(super) fn watch(caches: &Arc<Caches>, queue: &Arc<Queue<ObjectKey>>) {
    if let Some(store) = caches.store::<IpPool>() {
        let queue = Arc::clone(queue);
        store.subscribe(move |change| {
            if let Some(pool) = changed_beside_status(change) {
                queue.add_after(pool.key(), GATHER_ADDRESS_CLAIMS);
            }
        });
    }
    if let Some(store) = caches.store::<IpClaim>() {
        let queue = Arc::clone(queue);
        store.subscribe(move |change| {
            let claim = changed_beside_status(change).or_else(|| lost_its_address(change));
            if let Some(claim) = claim.filter(|claim| claim.spec.pool.name.is_some()) {
                queue.add_after(
                    ObjectKey::new(claim.metadata.namespace_str(), claim.spec.pool.name_str()),
                    GATHER_ADDRESS_CLAIMS,
                );
            }
        });
    }
    if let Some(store) = caches.store::<IpAddressClaim>() {
        let queue = Arc::clone(queue);
        store.subscribe(move |change| {
            let claim = changed_beside_status(change).or_else(|| lost_its_capi_address(change));
            if let Some(claim) = claim.filter(|claim| serves(&claim.spec.pool_ref)) {
                queue.add_after(
                    ObjectKey::new(claim.metadata.namespace_str(), &claim.spec.pool_ref.name),
                    GATHER_ADDRESS_CLAIMS,
                );
            }
        });
    }
    watch_addresses(caches, queue, |address: &IpAddress| address.spec.pool.name.clone().map(Into::into));
    watch_addresses(caches, queue, |address: &CapiIpAddress| {
        Some(&address.spec.pool_ref).filter(|pool| serves(pool)).map(|pool| pool.name.clone())
    });
    watch_data(caches, queue);
    if let Some(store) = caches.store::<Cluster>() {
        let (queue, caches) = (Arc::clone(queue), Arc::downgrade(caches));
        store.subscribe(move |change| {
            // Only whether it is there and paused matters here.
            let state = |cluster: &Option<Arc<Cluster>>| {
                cluster.as_ref().map(|c| (c.is_paused(), c.metadata.uid.clone()))
            };
            let (true, Some(caches)) = (state(&change.old) != state(&change.new), caches.upgrade()) else {
                return;
            };
            let Some(cluster) = change.new.as_ref().or(change.old.as_ref()) else {
                return;
            };
            for pool in caches.by_index(&POOLS_BY_CLUSTER, &cluster.key().to_string()) {
                queue.add_after(pool.key(), GATHER_ADDRESS_CLAIMS);
            }
        });
    }
}

/// A Metal3Data being deleted, and the end of its claim, bring back the pools that hold its IPClaims for it.
fn watch_data(caches: &Arc<Caches>, queue: &Arc<Queue<ObjectKey>>) {
    if let Some(store) = caches.store::<Metal3Data>() {
        let (queue, caches) = (Arc::clone(queue), Arc::downgrade(caches));
        store.subscribe(move |change| {
            let going = change.new.as_ref().filter(|data| data.metadata.is_deleting());
            if let (Some(data), Some(caches)) = (going, caches.upgrade()) {
                wake_holders(&caches, &queue, data);
            }
        });
    }
    if let Some(store) = caches.store::<Metal3DataClaim>() {
        let (queue, caches) = (Arc::clone(queue), Arc::downgrade(caches));
        store.subscribe(move |change| {
            let gone = change.old.as_ref().filter(|_| change.new.is_none());
            if let (Some(claim), Some(caches)) = (gone, caches.upgrade()) {
                for data in caches.by_index(&DATA_BY_CLAIM, &claim.key().to_string()) {
                    wake_holders(&caches, &queue, &data);
                }
            }
        });
    }
}

fn wake_holders(caches: &Caches, queue: &Queue<ObjectKey>, data: &Metal3Data) {
    let claims = caches.by_index(&IP_CLAIMS_BY_OWNER, data.metadata.uid_str());
    for claim in claims.iter().filter(|claim| claim.metadata.is_deleting()) {
        queue.add_after(
            ObjectKey::new(claim.metadata.namespace_str(), claim.spec.pool.name_str()),
            GATHER_ADDRESS_CLAIMS,
        );
    }
}

fn watch_addresses<K: Object>(
    caches: &Arc<Caches>,
    queue: &Arc<Queue<ObjectKey>>,
    pool_of: impl Fn(&K) -> Option<String> + Send + Sync + 'static,
) {
    let Some(store) = caches.store::<K>() else {
        return;
    };
    let (queue, caches) = (Arc::clone(queue), Arc::downgrade(caches));
    store.subscribe(move |change| {
        let Some(address) = came_or_went(change) else {
            return;
        };
        let namespace = address.meta().namespace_str();
        if let Some(pool) = pool_of(address) {
            queue.add_after(ObjectKey::new(namespace, pool), GATHER_ADDRESS_CLAIMS);
        }
        // The name is free now: another pool with this prefix may have waited for it.
        let (true, Some(caches)) = (change.new.is_none(), caches.upgrade()) else {
            return;
        };
        for pool in caches.by_index(&POOLS_BY_NAMESPACE, namespace) {
            if address.meta().name_str().starts_with(&pool.spec.name_prefix) {
                queue.add_after(pool.key(), GATHER_ADDRESS_CLAIMS);
            }
        }
    });
}

/// An address or a message taken off by hand: the claim is to be served again.
fn lost_its_address(change: &Change<IpClaim>) -> Option<&IpClaim> {
    let (old, new) = (change.old.as_ref()?, change.new.as_ref()?);
    let lost = old.status.address.is_some() && new.status.address.is_none();
    let cleared = old.status.error_message.is_some() && new.status.error_message.is_none();
    (lost || cleared && new.status.address.is_none()).then_some(new)
}

fn lost_its_capi_address(change: &Change<IpAddressClaim>) -> Option<&IpAddressClaim> {
    let (old, new) = (change.old.as_ref()?, change.new.as_ref()?);
    let lost = old.status.address_ref.is_some() && new.status.address_ref.is_none();
    let cleared = !old.status.conditions.is_empty() && new.status.conditions.is_empty();
    (lost || cleared && new.status.address_ref.is_none()).then_some(new)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use tokio::time::Instant;

    use super::*;
    use crate::kinds;

    /// When the pool `ns/p` is taken up after these objects came.
    async fn served_after(put: impl FnOnce(&Caches)) -> std::time::Duration {
        let mut caches = Caches::default();
        kinds::register(&mut caches);
        let (caches, queue, start) = (Arc::new(caches), Arc::new(Queue::default()), Instant::now());
        watch(&caches, &queue);
        put(&caches);
        assert_eq!(queue.next().await, ObjectKey::new("ns", "p"));
        start.elapsed()
    }

    fn put<K: Object>(caches: &Caches, spec: Value) {
        let object =
            json!({"metadata": {"name": "p", "namespace": "ns", "resourceVersion": "1"}, "spec": spec});
        caches.store::<K>().unwrap().apply(serde_json::from_value(object).unwrap());
    }

    #[tokio::test(start_paused = true)]
    async fn every_change_is_gathered_and_so_is_what_is_there_at_the_start() {
        let pool = json!({"namePrefix": "p", "clusterName": "p"});
        let claim = json!({"pool": {"name": "p"}});
        let of_capi = json!({"poolRef": {"name": "p", "kind": "IPPool", "apiGroup": "ipam.metal3.io"}});
        let address = json!({"pool": {"name": "p"}, "claim": {}, "address": "10.0.0.1"});
        let waits = [
            served_after(|caches| put::<IpPool>(caches, pool.clone())).await,
            served_after(|caches| put::<IpClaim>(caches, claim)).await,
            served_after(|caches| put::<IpAddressClaim>(caches, of_capi)).await,
            served_after(|caches| put::<IpAddress>(caches, address)).await,
            served_after(|caches| {
                put::<IpPool>(caches, pool);
                put::<Cluster>(caches, json!({"paused": true}));
            })
            .await,
        ];
        assert_eq!(waits, [GATHER_ADDRESS_CLAIMS; 5]);
    }
}
