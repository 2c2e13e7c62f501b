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
    address::{Address, ClaimKey, ClaimKind},
    numbers::UsedNumbers,
    wait::Text,
};
use capm3_engine::{Index, Object, ObjectKey, Reader};
use kube::core::ObjectMeta;

use super::kinds::{Claim, Given, Place};
use crate::{
    Lazy,
    aggregates::{ByPool, InStatus, Used},
    batch::by_age,
    indexes::{
        CAPI_CLAIMS_BY_POOL, CAPI_IP_ADDRESSES_BY_CLAIM, CAPI_IP_ADDRESSES_BY_POOL,
        DELETING_CAPI_IP_ADDRESSES_BY_POOL, DELETING_IP_ADDRESSES_BY_POOL, IP_ADDRESSES_BY_CLAIM,
        IP_ADDRESSES_BY_POOL, IP_CLAIMS_BY_POOL, OPEN_CAPI_CLAIMS_BY_POOL, OPEN_IP_CLAIMS_BY_POOL,
    },
    metal3data::{ClaimState, claim_is_gone, claim_state},
};

/// An IPPool, the claims that need something, and the addresses in use. It costs what these claims touch, not what the pool
/// holds.
#[derive(Debug, Clone)]
pub struct PoolSnapshot<'r> {
    /// The object itself.
    pub pool: Arc<IpPool>,
    /// The Cluster that the pool names, if it is there.
    pub cluster: Option<Arc<Cluster>>,
    /// Claims that are not served yet or that are being deleted; the oldest first.
    pub claims: Vec<Claim>,
    /// Claims that were served and whose address object was taken away by hand, with the address.
    pub claims_without_address: Vec<(Claim, String)>,
    /// Every claim of the pool; looked up only while the pool is being deleted.
    pub all_claims: Vec<Claim>,
    /// Addresses of the pool that these claims have or that are being deleted.
    pub addresses: BTreeMap<Place, Given>,
    /// Whether the pool has addresses.
    pub has_addresses: bool,
    /// All addresses of the pool.
    pub all_addresses: Lazy<'r, (), Vec<Given>>,
    /// The object of a name, of any pool.
    pub named: Lazy<'r, Place, Option<Given>>,
    /// Addresses in use, as numbers.
    pub used: Vec<Arc<UsedNumbers>>,
    /// Terminating addresses of the pool whose claim is known to be gone.
    pub claimless: BTreeSet<Place>,
    /// Claims of terminating addresses that are not seen, which must be proven to be gone.
    pub unseen_claims: BTreeSet<ClaimKey>,
    /// Addresses that deleted claims name and that are not seen, which must be proven to be gone before the claims are released.
    pub unseen_addresses: BTreeMap<ClaimKey, Place>,
    /// Whether it is proven that the pool has no addresses; asked for only while the pool is being deleted.
    pub is_proven_empty: bool,
    /// IPClaims being deleted whose Metal3Data is given up, so that they are no longer held for it.
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
    pub(super) without_address: BTreeSet<ClaimKey>,
    /// Whether the pool, which is being deleted, has no addresses.
    pub(super) is_empty: bool,
}

impl PoolSnapshot<'_> {
    /// What must be proven before the pool can go on.
    pub(super) fn unproven(&self) -> Unproven {
        let metadata = &self.pool.metadata;
        let is_last = metadata.is_deleting() && metadata.has_finalizer(finalizer::IP_POOL);
        Unproven {
            claims: self.unseen_claims.clone(),
            addresses: self.unseen_addresses.values().cloned().collect(),
            without_address: self.claims_without_address.iter().map(|(claim, _)| claim.key()).collect(),
            is_empty: is_last && !self.has_addresses && !self.is_proven_empty,
        }
    }
}

/// Reads the snapshot; `None` when the object is gone.
pub fn observe<'r, R: Reader>(reader: &'r R, key: &ObjectKey) -> Option<PoolSnapshot<'r>> {
    Some(surroundings(reader, key, reader.get::<IpPool>(key)?))
}

/// The same around a pool that is given.
pub(super) fn surroundings<'r, R: Reader>(
    reader: &'r R,
    key: &ObjectKey,
    pool: Arc<IpPool>,
) -> PoolSnapshot<'r> {
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
    let deleting = given(reader, &DELETING_IP_ADDRESSES_BY_POOL, &DELETING_CAPI_IP_ADDRESSES_BY_POOL, &value);
    let (claimless, unseen_claims) = claimless(reader, key, &deleting);
    let own = claims.iter().flat_map(|claim| addresses_of(reader, key, claim.metadata().name_str()));
    let addresses = own.chain(deleting).map(|address| (address.place(), address)).collect();
    let has_addresses = reader.count(&IP_ADDRESSES_BY_POOL, &value) > 0
        || reader.count(&CAPI_IP_ADDRESSES_BY_POOL, &value) > 0;
    PoolSnapshot {
        unseen_addresses: unseen_addresses(reader, &claims),
        claims_without_address: claims_without_address(reader, key, &pool),
        given_up: given_up(reader, &claims),
        used: used(reader, &value),
        all_addresses: Lazy::new(move |()| {
            given(reader, &IP_ADDRESSES_BY_POOL, &CAPI_IP_ADDRESSES_BY_POOL, &value)
        }),
        named: named(reader, key),
        pool,
        cluster,
        claims,
        all_claims,
        addresses,
        has_addresses,
        claimless,
        unseen_claims,
        is_proven_empty: reader.is_authoritative(),
        refused: BTreeMap::new(),
    }
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

/// Addresses of both kinds.
fn given(
    reader: &impl Reader,
    metal3: &Index<IpAddress>,
    capi: &Index<CapiIpAddress>,
    value: &str,
) -> Vec<Given> {
    let metal3 = reader.by_index(metal3, value).into_iter().map(Given::of_metal3);
    metal3.chain(reader.by_index(capi, value).into_iter().map(Given::Capi)).collect()
}

/// Addresses of the pool that name a claim, of either kind.
fn addresses_of(reader: &impl Reader, pool: &ObjectKey, claim: &str) -> Vec<Given> {
    let value = ObjectKey::new(&pool.namespace, claim).to_string();
    let mut addresses = given(reader, &IP_ADDRESSES_BY_CLAIM, &CAPI_IP_ADDRESSES_BY_CLAIM, &value);
    addresses.retain(|address| address.is_from(&pool.name));
    addresses
}

/// Addresses in use by address objects of either kind.
fn used(reader: &impl Reader, pool: &str) -> Vec<Arc<UsedNumbers>> {
    vec![
        reader.aggregate::<IpAddress, Used<ByPool>>(pool).numbers(),
        reader.aggregate::<CapiIpAddress, Used<ByPool>>(pool).numbers(),
    ]
}

/// Two pools may share a prefix of names, and two addresses a name.
fn named<'r>(reader: &'r impl Reader, pool: &ObjectKey) -> Lazy<'r, Place, Option<Given>> {
    let namespace = pool.namespace.clone();
    Lazy::new(move |(kind, name): Place| {
        let key = ObjectKey::new(&namespace, name);
        match kind {
            ClaimKind::IpClaim => reader.get::<IpAddress>(&key).map(Given::of_metal3),
            ClaimKind::IpAddressClaim => reader.get::<CapiIpAddress>(&key).map(Given::Capi),
        }
    })
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

/// Served claims without an address object. Its address is in the pool's status, which is written after the object, so
/// it names an address that is in use even when the object is gone.
fn claims_without_address(reader: &impl Reader, key: &ObjectKey, pool: &IpPool) -> Vec<(Claim, String)> {
    let shown = reader.aggregate::<IpPool, Used<InStatus>>(&key.to_string()).numbers();
    let held = used(reader, &key.to_string());
    let lost = held.iter().fold(shown.numbers().clone(), |lost, held| lost.minus(held.numbers()));
    if lost.is_empty() {
        return Vec::new();
    }
    let is_lost = |address: &str| address.parse::<Address>().is_ok_and(|it| lost.contains(it.number()));
    let entries = pool.status.indexes.iter().filter(|(_, address)| is_lost(address));
    let entries = entries.filter(|(claim, _)| addresses_of(reader, key, claim).is_empty());
    entries
        .filter_map(|(claim, address)| {
            let key = ObjectKey::new(&key.namespace, claim);
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
