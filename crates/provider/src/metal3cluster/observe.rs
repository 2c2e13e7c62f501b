//! What a decision about a Metal3Cluster needs to know.

use std::sync::Arc;

use capm3_api::{
    metadata::MetadataExt,
    neighbours::{CAPI_GROUP, Cluster},
    v1beta2::Metal3Cluster,
    vocabulary::finalizer,
};
use capm3_engine::{ObjectKey, Reader};

use crate::indexes::CAPI_MACHINES_BY_CLUSTER;

/// A Metal3Cluster and what surrounds it.
#[derive(Debug, Clone)]
pub struct ClusterSnapshot {
    /// The object itself.
    pub metal3_cluster: Arc<Metal3Cluster>,
    /// Name of the owner Cluster, if an owner is named.
    pub owner: Option<String>,
    /// The owner Cluster, if it is there.
    pub cluster: Option<Arc<Cluster>>,
    /// How many Machines the cluster still has.
    pub machines: usize,
    /// Whether it is proven that it has none; asked for only while the object is being deleted.
    pub is_proven_empty: bool,
}

impl ClusterSnapshot {
    /// The Cluster of an object that is deleted, if no Machine of it is seen and none is proven to be left.
    pub(super) fn cluster_to_prove_empty(&self) -> Option<String> {
        let metadata = &self.metal3_cluster.metadata;
        let is_last =
            metadata.is_deleting() && metadata.has_finalizer(finalizer::CLUSTER) && self.machines == 0;
        // Without an owner there is no Cluster that could have Machines.
        let owner = self.owner.as_deref().unwrap_or_default();
        (is_last && !self.is_proven_empty).then(|| format!("{}/{owner}", metadata.namespace_str()))
    }
}

/// Reads the snapshot; `None` when the object is gone. `is_proven_empty` says whether it is proven that no Machine is left.
pub fn observe(reader: &impl Reader, key: &ObjectKey, is_proven_empty: bool) -> Option<ClusterSnapshot> {
    let metal3_cluster = reader.get::<Metal3Cluster>(key)?;
    let owner = metal3_cluster.metadata.owner(CAPI_GROUP, "Cluster").map(|owner| owner.name.clone());
    let owner_key = owner.as_ref().map(|name| ObjectKey::new(&key.namespace, name));
    let cluster = owner_key.as_ref().and_then(|key| reader.get::<Cluster>(key));
    let machines =
        owner_key.map(|key| reader.count(&CAPI_MACHINES_BY_CLUSTER, &key.to_string())).unwrap_or_default();
    Some(ClusterSnapshot {
        metal3_cluster,
        owner,
        cluster,
        machines,
        is_proven_empty: is_proven_empty || reader.is_authoritative(),
    })
}
