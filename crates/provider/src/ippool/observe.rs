//! What a decision about an IPPool needs to know.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use capm3_api::{
    ipam::{GROUP, IpAddress, IpClaim, IpPool},
    metadata::MetadataExt,
    neighbours::Cluster,
};
use capm3_engine::{Object, ObjectKey, Reader};

use super::allot::allot;
use crate::{
    batch::by_age,
    indexes::{IP_ADDRESSES_BY_POOL, IP_CLAIMS_BY_POOL, OPEN_IP_CLAIMS_BY_POOL},
};

/// An IPPool, the claims that need something, and all addresses of the pool.
#[derive(Debug, Clone)]
pub struct Snapshot {
    /// The object itself.
    pub pool: Arc<IpPool>,
    /// The Cluster that the pool names, if it is there.
    pub cluster: Option<Arc<Cluster>>,
    /// Claims that are not served yet or that are being deleted; the oldest first.
    pub claims: Vec<Arc<IpClaim>>,
    /// Every claim of the pool; looked up only while the pool is being deleted.
    pub all_claims: Vec<Arc<IpClaim>>,
    /// All addresses of the pool.
    pub addresses: Vec<Arc<IpAddress>>,
    /// Objects that stand under a name that a new address would get, by name.
    pub in_the_way: BTreeMap<String, Arc<IpAddress>>,
    /// Terminating addresses of the pool whose claim is gone, by name.
    pub claimless: BTreeSet<String>,
    /// Claims for which the server refused the address just now, with the server's words.
    pub refused: BTreeMap<String, String>,
}

impl Snapshot {
    /// How many addresses are given out or reserved once the claims are served.
    pub fn count(&self) -> usize {
        allot(self, |name| self.in_the_way.get(name).cloned()).book.count()
    }
}

/// Reads the snapshot; `None` when the object is gone.
pub fn observe(reader: &impl Reader, key: &ObjectKey) -> Option<Snapshot> {
    let pool = reader.get::<IpPool>(key)?;
    let value = key.to_string();
    let cluster =
        pool.spec.cluster_name.as_ref().and_then(|name| reader.get(&ObjectKey::new(&key.namespace, name)));
    let mut claims = reader.by_index(&OPEN_IP_CLAIMS_BY_POOL, &value);
    claims.sort_by(|a, b| by_age(&a.metadata, &b.metadata));
    let mut all_claims = Vec::new();
    if pool.metadata.is_deleting() {
        all_claims = reader.by_index(&IP_CLAIMS_BY_POOL, &value);
        all_claims.retain(|claim| claim.metadata.namespace == pool.metadata.namespace);
    }
    let addresses = reader.by_index(&IP_ADDRESSES_BY_POOL, &value);
    let claimless = claimless(reader, key, &addresses);
    let mut snapshot = Snapshot {
        pool,
        cluster,
        claims,
        all_claims,
        addresses,
        in_the_way: BTreeMap::new(),
        claimless,
        refused: BTreeMap::new(),
    };
    snapshot.in_the_way = in_the_way(reader, key, &snapshot);
    Some(snapshot)
}

/// Two pools may share a prefix of names, and two addresses a name: tries which names the new addresses would get.
fn in_the_way(
    reader: &impl Reader,
    key: &ObjectKey,
    snapshot: &Snapshot,
) -> BTreeMap<String, Arc<IpAddress>> {
    let mut found = BTreeMap::new();
    if snapshot.claims.iter().all(|claim| claim.metadata.is_deleting()) {
        return found;
    }
    allot(snapshot, |name| {
        let other = reader.get::<IpAddress>(&ObjectKey::new(&key.namespace, name))?;
        found.insert(name.to_owned(), Arc::clone(&other));
        Some(other)
    });
    found
}

fn claimless(reader: &impl Reader, key: &ObjectKey, addresses: &[Arc<IpAddress>]) -> BTreeSet<String> {
    let has_claim = |address: &IpAddress| {
        let claim = reader.get::<IpClaim>(&ObjectKey::new(&key.namespace, address.spec.claim.name_str()));
        let owner = address.metadata.owner(GROUP, "IPClaim");
        claim.is_some_and(|claim| owner.is_none_or(|owner| owner.uid == claim.metadata.uid_str()))
    };
    let terminating = addresses.iter().filter(|address| address.metadata.is_deleting());
    terminating.filter(|address| !has_claim(address)).map(|address| address.key().name).collect()
}
