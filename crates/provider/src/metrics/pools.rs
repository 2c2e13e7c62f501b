//! Pools of addresses: how many are nearly used up, by namespace, and how many addresses there are of each sort.
//!
//! There may be any number of pools, so none has a series of its own. For an alert the number of pools below a tenth says that
//! somebody must act, the smallest share says how soon; `capm3 explain` and `kubectl get ippools` name the pool. Sizes are
//! summed up for each family of addresses, because one IPv6 range would hide all others. The label is `pool_namespace`
//! because Prometheus sets `namespace` to that of the pod.

use std::{collections::BTreeMap, fmt, net::IpAddr};

use capm3_api::{
    ipam::{IpAddress, IpPool},
    metadata::MetadataExt,
    neighbours::CapiIpAddress,
};
use capm3_domain::{
    address::{Address, count_addresses},
    numbers::Runs,
};
use capm3_engine::{
    Caches, Object, Reader,
    metrics::{Encoder, Series},
};

use super::{bounded, number};
use crate::aggregates::{ByPool, Used};

pub(super) const POOLS: Series = Series::gauge(
    "capm3_ip_pools",
    &["pool_namespace", "free"],
    "IPPools by the share of addresses that are free: none, under_10_percent, enough",
);
pub(super) const SMALLEST: Series = Series::gauge(
    "capm3_ip_pool_smallest_free_ratio",
    &["pool_namespace"],
    "The smallest share of free addresses that an IPPool of the namespace has, from 0 to 1",
);
pub(super) const ADDRESSES: Series = Series::gauge(
    "capm3_ip_pool_addresses",
    &["family", "state"],
    "Addresses of all IPPools: free, used, reserved (kept by preAllocations or as gateway and not used)",
);

/// Below it a pool is nearly used up.
const LOW: f64 = 0.1;

#[derive(Default)]
struct Namespace {
    none: usize,
    low: usize,
    enough: usize,
    smallest: Option<f64>,
}

impl Namespace {
    fn add(&mut self, ratio: f64) {
        let class = match ratio {
            _ if ratio <= 0.0 => &mut self.none,
            _ if ratio < LOW => &mut self.low,
            _ => &mut self.enough,
        };
        *class += 1;
        self.smallest = Some(self.smallest.map_or(ratio, |smallest| smallest.min(ratio)));
    }

    fn merge(self, other: Self) -> Self {
        let smallest = [self.smallest, other.smallest].into_iter().flatten().reduce(f64::min);
        Self {
            none: self.none + other.none,
            low: self.low + other.low,
            enough: self.enough + other.enough,
            smallest,
        }
    }
}

/// Addresses of one family.
#[derive(Default)]
struct Family {
    free: u128,
    used: u128,
    reserved: u128,
}

pub(super) fn encode(encoder: &mut Encoder<'_>, caches: &Caches) -> fmt::Result {
    let mut namespaces: BTreeMap<String, Namespace> = BTreeMap::new();
    let mut families: BTreeMap<&'static str, Family> = BTreeMap::new();
    let pools = caches.store::<IpPool>().map(|pools| pools.all()).unwrap_or_default();
    for pool in pools {
        let used = used(caches, &pool);
        let count = count_addresses(&pool.spec, &used);
        let sum = families.entry(family(&pool)).or_default();
        let given = u128::try_from(used.len()).unwrap_or(u128::MAX).min(count.capacity);
        let kept = count.capacity.saturating_sub(count.free).saturating_sub(given);
        for (sum, more) in [(&mut sum.free, count.free), (&mut sum.used, given), (&mut sum.reserved, kept)] {
            *sum = sum.saturating_add(more);
        }
        // A pool without ranges gives nothing, as it was meant to.
        if count.capacity > 0 {
            let ratio = number(count.free) / number(count.capacity);
            namespaces.entry(pool.metadata.namespace_str().to_owned()).or_default().add(ratio);
        }
    }
    let namespaces = bounded(namespaces, |all, one| all.unwrap_or_default().merge(one));
    let classes = namespaces.iter().flat_map(|(namespace, it)| {
        [("enough", it.enough), ("none", it.none), ("under_10_percent", it.low)]
            .map(|(class, count)| ([namespace.as_str(), class], number(count)))
    });
    encoder.gauges(&POOLS, classes)?;
    let smallest = namespaces.iter().filter_map(|(namespace, it)| Some(([namespace], it.smallest?)));
    encoder.gauges(&SMALLEST, smallest)?;
    let addresses = families.iter().flat_map(|(family, it)| {
        [("free", it.free), ("reserved", it.reserved), ("used", it.used)]
            .map(|(state, count)| ([*family, state], number(count)))
    });
    encoder.gauges(&ADDRESSES, addresses)
}

/// Addresses that are in use, of both kinds of address objects.
fn used(caches: &Caches, pool: &IpPool) -> Runs {
    let group = pool.key().to_string();
    let metal3 = caches.aggregate::<IpAddress, Used<ByPool>>(&group).numbers();
    let capi = caches.aggregate::<CapiIpAddress, Used<ByPool>>(&group).numbers();
    match (metal3.is_empty(), capi.is_empty()) {
        (_, true) => metal3.numbers().clone(),
        (true, false) => capi.numbers().clone(),
        (false, false) => metal3.numbers().plus(capi.numbers()),
    }
}

/// By the first address that it has.
fn family(pool: &IpPool) -> &'static str {
    let texts = pool.spec.pools.iter().filter_map(|it| it.start.as_deref().or(it.subnet.as_deref()));
    let mut addresses =
        texts.filter_map(|text| text.split('/').next()?.parse::<Address>().ok().map(Address::to_ip));
    match addresses.next() {
        Some(IpAddr::V6(_)) => "ipv6",
        _ => "ipv4",
    }
}
