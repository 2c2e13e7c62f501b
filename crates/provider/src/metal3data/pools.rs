//! What a data object waits for of its pools.

use capm3_api::metadata::MetadataExt;
use capm3_domain::{
    address::count_addresses,
    render::PoolRef,
    wait::{AddressWait, FreeAddresses, Wait},
};

use super::{DataSnapshot, claims::claim_kind};

/// A pool that was asked. One that does not exist is reported as missing.
pub(super) fn wait_for_pool(snapshot: &DataSnapshot, pool: &PoolRef) -> AddressWait {
    let (kind, name) = (pool.kind.to_string(), pool.name.clone());
    if pool.is_metal3() && !snapshot.pools.contains_key(&name) {
        return AddressWait::MissingPool { kind, pool: name };
    }
    let free = free(snapshot, &name);
    AddressWait::Pool { kind, pool: name, free }
}

/// What keeps a pool from being asked at all: the API server does not serve the kind of its claims.
pub(super) fn not_served(snapshot: &DataSnapshot, pool: &PoolRef) -> Option<Wait> {
    let claim = claim_kind(pool);
    let wait = || Wait::ClaimKindNotServed { claim, kind: pool.kind.clone(), pool: pool.name.clone() };
    snapshot.kinds_not_served.contains(&claim).then(wait)
}

/// How many addresses an IPPool has, and how many of them are free as its status shows it.
pub(super) fn free(snapshot: &DataSnapshot, pool: &str) -> Option<FreeAddresses> {
    let found = snapshot.pools.get(pool).filter(|pool| !pool.metadata.is_deleting())?;
    let used = snapshot.used_addresses.get(pool)?;
    Some(count_addresses(&found.spec, used.numbers()))
}
