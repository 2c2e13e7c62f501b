//! The pools that the machine's data takes addresses from.

use capm3_api::{ipam::IpPool, metadata::MetadataExt, neighbours::CapiIpAddress};
use capm3_domain::{
    address::{Address, AddressBook, ClaimKey, ClaimKind},
    render::{Objects, PoolRef, referenced_pools},
};
use capm3_engine::{ObjectKey, Reader};
use capm3_provider::{
    indexes::{CAPI_IP_ADDRESSES_BY_POOL, IP_ADDRESSES_BY_POOL},
    metal3data::{self, Snapshot, wanted_spec},
};
use serde::Serialize;

use super::Site;

/// One pool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PoolLine {
    /// Kind of the pool.
    pub kind: String,
    /// Name of the pool.
    pub name: String,
    /// The address that the machine has of it.
    pub address: Option<String>,
    /// How much is left, where the pool is an IPPool that is there.
    #[serde(flatten)]
    pub stock: Option<Stock>,
    /// Why the machine has no address of it.
    pub problem: Option<String>,
}

/// How much of a pool is left.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Stock {
    /// How many addresses it has.
    pub capacity: u128,
    /// How many are given out or kept for somebody.
    pub used: u128,
    /// How many are left.
    pub free: u128,
}

/// The pools of a data object, by name.
pub(super) fn pools(site: &Site, data: &ObjectKey) -> Vec<PoolLine> {
    let Some(snapshot) = metal3data::observe(&site.objects, data) else { return Vec::new() };
    let Some(template) = snapshot.template.as_deref() else { return Vec::new() };
    let spec = wanted_spec(template, snapshot.metal3_machine.as_deref());
    let objects = Objects {
        metal3_machine: snapshot.metal3_machine.as_deref(),
        machine: snapshot.machine.as_deref(),
        host: snapshot.host.as_deref(),
    };
    // A template that cannot be read for pools is told as what the data waits for.
    let wanted = referenced_pools(&spec, objects).unwrap_or_default();
    wanted.values().map(|pool| line(site, &snapshot, pool)).collect()
}

fn line(site: &Site, snapshot: &Snapshot, pool: &PoolRef) -> PoolLine {
    let claim = snapshot.ip_claims.iter().find(|claim| claim.claim.is_on(pool));
    let there = snapshot.pools.get(&pool.name).filter(|_| pool.is_metal3());
    let problem = match claim {
        _ if pool.is_metal3() && there.is_none() => Some("there is no such pool".to_owned()),
        Some(claim) => claim.claim.problem(),
        None => None,
    };
    PoolLine {
        kind: pool.kind.clone(),
        name: pool.name.clone(),
        address: claim.and_then(|claim| claim.address.as_ref()).map(|address| address.address.clone()),
        stock: there.map(|pool| stock(site, pool)),
        problem,
    }
}

/// Counted from the addresses themselves; the pool's status, their mirror, speaks where files have none of them.
fn stock(site: &Site, pool: &IpPool) -> Stock {
    let key = ObjectKey::new(pool.metadata.namespace_str(), pool.metadata.name_str()).to_string();
    let mut book = AddressBook::new(&pool.spec);
    let metal3 = site.objects.by_index(&IP_ADDRESSES_BY_POOL, &key);
    let metal3 = metal3
        .iter()
        .map(|a| (a.spec.address.as_str(), ClaimKey::new(ClaimKind::IpClaim, a.spec.claim.name_str())));
    let capi = site.objects.by_index(&CAPI_IP_ADDRESSES_BY_POOL, &key);
    let capi = capi.iter().map(|a: &std::sync::Arc<CapiIpAddress>| {
        (a.spec.address.as_str(), ClaimKey::new(ClaimKind::IpAddressClaim, &a.spec.claim_ref.name))
    });
    let is_bare = metal3.len() + capi.len() == 0;
    for (address, claim) in metal3.chain(capi) {
        // An address that does not parse is none of the pool's.
        if let Ok(address) = address.parse::<Address>() {
            book.record(address, Some(claim));
        }
    }
    let mirrored = if is_bare { pool.status.indexes.len() } else { 0 };
    let (capacity, used) = (book.capacity(), u128::try_from(book.count().max(mirrored)).unwrap_or(u128::MAX));
    Stock { capacity, used, free: capacity.saturating_sub(used) }
}
