//! Who has the addresses of a pool, and what is reserved.

use std::collections::BTreeMap;

use capm3_api::{
    ipam::{IpClaim, IpPool},
    metadata::MetadataExt,
    neighbours::{CAPI_GROUP, CapiIpAddress},
    v1beta2::{GROUP, Metal3Data, Metal3DataClaim, Metal3Machine},
};
use capm3_domain::address::{Address, AddressBook, ClaimKey, ClaimKind};
use capm3_engine::{ObjectKey, Reader};
use capm3_provider::indexes::{CAPI_IP_ADDRESSES_BY_POOL, IP_ADDRESSES_BY_POOL};

use super::{Site, pools::Stock};

/// The usage of one pool.
#[derive(Debug)]
pub(super) struct PoolUsage {
    pub(super) stock: Stock,
    /// Claims by their addresses.
    given: BTreeMap<Address, ClaimKey>,
    /// Names by the addresses that are reserved for them and that nobody has.
    reserved: BTreeMap<Address, String>,
}

impl PoolUsage {
    /// Counted from the addresses themselves; the pool's status, their mirror, speaks where files have none of them.
    pub(super) fn of(site: &Site, pool: &IpPool) -> Self {
        let given = given(site, pool);
        let mut book = AddressBook::new(&pool.spec);
        for (address, claim) in &given {
            book.record(*address, Some(claim.clone()));
        }
        let kept = pool.spec.pre_allocations.iter();
        let kept = kept.filter_map(|(name, address)| Some((address.parse::<Address>().ok()?, name.clone())));
        let reserved: BTreeMap<Address, String> =
            kept.filter(|(address, _)| !given.contains_key(address)).collect();
        let wide = |count: usize| u128::try_from(count).unwrap_or(u128::MAX);
        let (capacity, used) = (book.capacity(), wide(book.count()));
        let free = capacity.saturating_sub(used);
        Self { stock: Stock { capacity, used, reserved: wide(reserved.len()), free }, given, reserved }
    }

    /// What is reserved and not used, by address.
    pub(super) fn reservations(&self) -> Vec<String> {
        self.reserved.iter().map(|(address, name)| format!("{name} ({address})")).collect()
    }

    /// Who has an address, by address.
    pub(super) fn holders(&self, site: &Site, namespace: &str) -> Vec<String> {
        let holder = |(address, claim): (&Address, &ClaimKey)| {
            let machine = machine(site, namespace, claim).map(|machine| format!("Machine {machine}"));
            format!("{} ({address})", machine.unwrap_or_else(|| claim.to_string()))
        };
        self.given.iter().map(holder).collect()
    }
}

/// The addresses that are given out. One that does not parse is none of the pool's.
fn given(site: &Site, pool: &IpPool) -> BTreeMap<Address, ClaimKey> {
    let key = ObjectKey::new(pool.metadata.namespace_str(), pool.metadata.name_str()).to_string();
    let metal3 = site.objects.by_index(&IP_ADDRESSES_BY_POOL, &key);
    let metal3 =
        metal3.iter().map(|a| (a.spec.address.as_str(), ClaimKind::IpClaim, a.spec.claim.name_str()));
    let capi = site.objects.by_index(&CAPI_IP_ADDRESSES_BY_POOL, &key);
    let capi = capi.iter().map(|a: &std::sync::Arc<CapiIpAddress>| {
        (a.spec.address.as_str(), ClaimKind::IpAddressClaim, &*a.spec.claim_ref.name)
    });
    let is_bare = metal3.len() + capi.len() == 0;
    let reserved = &pool.spec.pre_allocations;
    let mirror = pool.status.indexes.iter().filter(|(name, _)| is_bare && !reserved.contains_key(*name));
    let mirror = mirror.map(|(name, address)| (address.as_str(), ClaimKind::IpClaim, name.as_str()));
    let all = metal3.chain(capi).chain(mirror);
    all.filter_map(|(address, kind, claim)| Some((address.parse().ok()?, ClaimKey::new(kind, claim))))
        .collect()
}

/// Name of the Machine that a claim serves: by way of its data, the claim of that, and the Metal3Machine.
fn machine(site: &Site, namespace: &str, claim: &ClaimKey) -> Option<String> {
    let key = |name: &str| ObjectKey::new(namespace, name);
    let claim =
        site.objects.get::<IpClaim>(&key(&claim.name)).filter(|_| claim.kind == ClaimKind::IpClaim)?;
    let data = claim.metadata.owner(GROUP, "Metal3Data")?;
    let data = site.objects.get::<Metal3Data>(&key(&data.name))?;
    let claim = site.objects.get::<Metal3DataClaim>(&key(data.spec.claim.as_ref()?.name_str()))?;
    let machine = claim.metadata.owner(GROUP, "Metal3Machine")?;
    let machine = site.objects.get::<Metal3Machine>(&key(&machine.name))?;
    machine.metadata.owner(CAPI_GROUP, "Machine").map(|owner| owner.name.clone())
}
