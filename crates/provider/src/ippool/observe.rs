//! What a decision about an IPPool needs to know.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use capm3_api::{
    ipam::{IpAddress, IpClaim, IpPool},
    metadata::MetadataExt,
    neighbours::{CapiIpAddress, Cluster, IpAddressClaim},
    v1beta2::{self, Metal3Data, Metal3DataClaim},
    vocabulary::finalizer,
};
use capm3_domain::{
    address::{ClaimKey, ClaimKind},
    wait::Text,
};
use capm3_engine::{Index, Object, ObjectKey, Reader};
use kube::core::ObjectMeta;

use super::{
    allot::allot,
    kinds::{Claim, Given, Place},
};
use crate::{
    batch::by_age,
    indexes::{
        CAPI_CLAIMS_BY_POOL, CAPI_IP_ADDRESSES_BY_POOL, IP_ADDRESSES_BY_POOL, IP_CLAIMS_BY_POOL,
        OPEN_CAPI_CLAIMS_BY_POOL, OPEN_IP_CLAIMS_BY_POOL,
    },
    metal3data::{ClaimState, claim_is_gone, claim_state},
};

/// An IPPool, the claims that need something, and all addresses of the pool.
#[derive(Debug, Clone)]
pub struct Snapshot {
    /// The object itself.
    pub pool: Arc<IpPool>,
    /// The Cluster that the pool names, if it is there.
    pub cluster: Option<Arc<Cluster>>,
    /// Claims that are not served yet or that are being deleted; the oldest first.
    pub claims: Vec<Claim>,
    /// Claims that were served and whose address object was taken away by hand, with the address.
    pub bereaved: Vec<(Claim, String)>,
    /// Every claim of the pool; looked up only while the pool is being deleted.
    pub all_claims: Vec<Claim>,
    /// All addresses of the pool.
    pub addresses: Vec<Given>,
    /// Objects that stand under a name that a new address would get.
    pub in_the_way: BTreeMap<Place, Given>,
    /// Terminating addresses of the pool whose claim is known to be gone.
    pub claimless: BTreeSet<Place>,
    /// Claims of terminating addresses that are not seen, which must be proven to be gone.
    pub unseen_claims: BTreeSet<ClaimKey>,
    /// Addresses that deleted claims name and that are not seen, which must be proven to be gone before the claims are let go.
    pub unseen_addresses: BTreeMap<ClaimKey, Place>,
    /// Whether it is proven that the pool has no addresses; asked for only while the pool is being deleted.
    pub is_proven_empty: bool,
    /// IPClaims on their way out whose Metal3Data is given up, so that they are no longer held for it.
    pub given_up: BTreeSet<String>,
    /// Claims for which the server refused the address just now, by kind and name, with the server's words.
    pub refused: BTreeMap<String, Text>,
}

/// What must be proven before a pool can go on.
#[derive(Debug, Default)]
pub(super) struct Unproven {
    /// Claims of terminating addresses that are not seen.
    pub(super) claims: BTreeSet<ClaimKey>,
    /// Addresses of deleted claims that are not seen.
    pub(super) addresses: BTreeSet<Place>,
    /// Claims whose address is missing. It is created again only for a claim that the server itself shows: a list may be
    /// older than the end of the claim.
    pub(super) bereaved: BTreeSet<ClaimKey>,
    /// Whether the pool, which is being deleted, has no addresses.
    pub(super) is_empty: bool,
}

impl Snapshot {
    /// What must be proven before the pool can go on.
    pub(super) fn unproven(&self) -> Unproven {
        let metadata = &self.pool.metadata;
        let is_last = metadata.is_deleting() && metadata.has_finalizer(finalizer::IP_POOL);
        Unproven {
            claims: self.unseen_claims.clone(),
            addresses: self.unseen_addresses.values().cloned().collect(),
            bereaved: self.bereaved.iter().map(|(claim, _)| claim.key()).collect(),
            is_empty: is_last && self.addresses.is_empty() && !self.is_proven_empty,
        }
    }

    /// How many addresses are given out or reserved once the claims are served.
    pub fn count(&self) -> usize {
        allot(self, |place| self.in_the_way.get(place).cloned()).book.count()
    }
}

/// Reads the snapshot; `None` when the object is gone.
pub fn observe(reader: &impl Reader, key: &ObjectKey) -> Option<Snapshot> {
    Some(surroundings(reader, key, reader.get::<IpPool>(key)?))
}

/// The same around a pool that is given.
pub(super) fn surroundings(reader: &impl Reader, key: &ObjectKey, pool: Arc<IpPool>) -> Snapshot {
    let value = key.to_string();
    let cluster =
        pool.spec.cluster_name.as_ref().and_then(|name| reader.get(&ObjectKey::new(&key.namespace, name)));
    let mut claims = claims(reader, &OPEN_IP_CLAIMS_BY_POOL, &OPEN_CAPI_CLAIMS_BY_POOL, &value);
    claims.sort_by(|a, b| by_age(a.metadata(), b.metadata()).then_with(|| a.kind().cmp(&b.kind())));
    let mut all_claims = Vec::new();
    if pool.metadata.is_deleting() {
        all_claims = self::claims(reader, &IP_CLAIMS_BY_POOL, &CAPI_CLAIMS_BY_POOL, &value);
        all_claims.retain(|claim| claim.metadata().namespace == pool.metadata.namespace);
    }
    let metal3 = reader.by_index(&IP_ADDRESSES_BY_POOL, &value).into_iter().map(Given::of_metal3);
    let capi = reader.by_index(&CAPI_IP_ADDRESSES_BY_POOL, &value).into_iter().map(Given::Capi);
    let addresses: Vec<Given> = metal3.chain(capi).collect();
    let (claimless, unseen_claims) = claimless(reader, key, &addresses);
    let unseen_addresses = unseen_addresses(reader, &claims);
    let bereaved = bereaved(reader, &pool, &addresses);
    let mut snapshot = Snapshot {
        pool,
        cluster,
        claims,
        bereaved,
        all_claims,
        addresses,
        in_the_way: BTreeMap::new(),
        claimless,
        unseen_claims,
        unseen_addresses,
        is_proven_empty: reader.is_authoritative(),
        given_up: BTreeSet::new(),
        refused: BTreeMap::new(),
    };
    snapshot.given_up = given_up(reader, &snapshot.claims);
    snapshot.in_the_way = in_the_way(reader, key, &snapshot);
    snapshot
}

fn claims(
    reader: &impl Reader,
    metal3: &Index<IpClaim>,
    capi: &Index<IpAddressClaim>,
    pool: &str,
) -> Vec<Claim> {
    let metal3 = reader.by_index(metal3, pool).into_iter().map(Claim::Metal3);
    metal3.chain(reader.by_index(capi, pool).into_iter().map(Claim::Capi)).collect()
}

/// Two pools may share a prefix of names, and two addresses a name: tries which names the new addresses would get.
fn in_the_way(reader: &impl Reader, key: &ObjectKey, snapshot: &Snapshot) -> BTreeMap<Place, Given> {
    let mut found = BTreeMap::new();
    if snapshot.claims.iter().all(Claim::is_deleting) && snapshot.bereaved.is_empty() {
        return found;
    }
    allot(snapshot, |place| {
        let key = ObjectKey::new(&key.namespace, &place.1);
        let other = match place.0 {
            ClaimKind::IpClaim => reader.get::<IpAddress>(&key).map(Given::of_metal3),
            ClaimKind::IpAddressClaim => reader.get::<CapiIpAddress>(&key).map(Given::Capi),
        }?;
        found.insert(place.clone(), other.clone());
        Some(other)
    });
    found
}

/// Terminating addresses whose claim is known to be gone, and claims of others that are not seen. A claim of the name with
/// another uid holds the address too: a move or a restore gives new ones.
fn claimless(
    reader: &impl Reader,
    key: &ObjectKey,
    addresses: &[Given],
) -> (BTreeSet<Place>, BTreeSet<ClaimKey>) {
    let (mut claimless, mut unseen) = (BTreeSet::new(), BTreeSet::new());
    for address in addresses.iter().filter(|address| address.metadata().is_deleting()) {
        let claim = ObjectKey::new(&key.namespace, address.claim_name());
        let uid = address.claim_uid();
        let (is_there, is_gone) = match address.kind() {
            ClaimKind::IpClaim => stands::<IpClaim>(reader, &claim, uid),
            ClaimKind::IpAddressClaim => stands::<IpAddressClaim>(reader, &claim, uid),
        };
        if is_gone {
            claimless.insert(address.place());
        } else if !is_there {
            unseen.insert(address.claim());
        }
    }
    (claimless, unseen)
}

/// Addresses that deleted claims name and that are neither seen nor known to be gone.
fn unseen_addresses(reader: &impl Reader, claims: &[Claim]) -> BTreeMap<ClaimKey, Place> {
    let unseen = claims.iter().filter(|claim| claim.is_deleting()).filter_map(|claim| {
        let name = claim.address_name()?;
        let key = ObjectKey::new(claim.metadata().namespace_str(), name);
        let (is_there, is_gone) = match claim.kind() {
            ClaimKind::IpClaim => stands::<IpAddress>(reader, &key, None),
            ClaimKind::IpAddressClaim => stands::<CapiIpAddress>(reader, &key, None),
        };
        (!is_there && !is_gone).then(|| (claim.key(), (claim.kind(), name.to_owned())))
    });
    unseen.collect()
}

/// Whether an object is there, and whether the one with that uid is known to be gone.
fn stands<K: Object>(reader: &impl Reader, key: &ObjectKey, uid: Option<&str>) -> (bool, bool) {
    let found = reader.get::<K>(key);
    let is_it = found.as_ref().is_some_and(|found| uid.is_none_or(|uid| found.meta().uid_str() == uid));
    (found.is_some(), !is_it && reader.is_known_gone::<K>(key, uid))
}

/// Served claims without an address object. Its address is told by the pool's status, which is written after the object, so
/// it names an address that is in use even when the object is gone.
fn bereaved(reader: &impl Reader, pool: &IpPool, addresses: &[Given]) -> Vec<(Claim, String)> {
    let held: BTreeSet<&str> = addresses.iter().map(Given::claim_name).collect();
    let lost = pool.status.indexes.iter().filter(|(claim, _)| !held.contains(claim.as_str()));
    lost.filter_map(|(claim, address)| {
        let key = ObjectKey::new(pool.metadata.namespace_str(), claim);
        let metal3 = reader.get::<IpClaim>(&key).map(Claim::Metal3);
        let claim = metal3.or_else(|| reader.get::<IpAddressClaim>(&key).map(Claim::Capi))?;
        let is_served = claim.is_served_by(pool.metadata.name_str()) && !claim.is_deleting();
        is_served.then(|| (claim, address.clone()))
    })
    .collect()
}

/// IPClaims that are deleted and held for a Metal3Data which gives its addresses back.
fn given_up(reader: &impl Reader, claims: &[Claim]) -> BTreeSet<String> {
    let going = claims.iter().map(Claim::metadata).filter(|claim| claim.is_deleting());
    let held = going.filter(|claim| claim.has_finalizer(finalizer::DATA));
    held.filter(|claim| is_given_up(reader, claim)).map(|claim| claim.name_str().to_owned()).collect()
}

fn is_given_up(reader: &impl Reader, claim: &ObjectMeta) -> bool {
    let here = |name: &str| ObjectKey::new(claim.namespace_str(), name);
    let owner = claim.owner(v1beta2::GROUP, "Metal3Data");
    let data = owner.and_then(|owner| {
        let data = reader.get::<Metal3Data>(&here(&owner.name))?;
        (data.metadata.uid_str() == owner.uid).then_some(data)
    });
    data.is_some_and(|data| {
        let claim = data.spec.claim.as_ref().and_then(|c| reader.get::<Metal3DataClaim>(&here(c.name_str())));
        let state = claim_state(&data, claim.as_deref(), claim_is_gone(reader, &data));
        data.metadata.is_deleting() && state == ClaimState::Gone
    })
}
