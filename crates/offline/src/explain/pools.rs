//! The pools that the machine's data takes addresses from.

use capm3_api::metadata::MetadataExt;
use capm3_domain::{
    address::ClaimKind,
    render::{Objects, PoolRef, referenced_pools},
};
use capm3_engine::ObjectKey;
use capm3_provider::metal3data::{self, DataSnapshot, claim_kind, wanted_spec};
use serde::Serialize;

use super::{Site, pool_usage::PoolUsage};

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
    /// What spec.preAllocations keeps and nobody has, where that is why the machine has no address.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reservations: Vec<String>,
    /// Who has its addresses, where that is why the machine has none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub holders: Vec<String>,
    /// Why the machine has no address of it.
    pub problem: Option<String>,
    /// The kind by which it is asked for addresses, where the API server does not serve that.
    #[serde(skip)]
    pub not_served: Option<ClaimKind>,
}

/// How much of a pool is left.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Stock {
    /// How many addresses it has.
    pub capacity: u128,
    /// How many are given out or kept for somebody.
    pub used: u128,
    /// How many of these spec.preAllocations keeps for somebody who has not come.
    pub reserved: u128,
    /// How many are left.
    pub free: u128,
}

/// The pools of a data object, by name.
pub(super) fn pools(site: &Site, data: &ObjectKey) -> Vec<PoolLine> {
    let Some(snapshot) = metal3data::observe(&site.objects, data, metal3data::Settings::default()) else {
        return Vec::new();
    };
    let Some(template) = snapshot.template.as_deref() else { return Vec::new() };
    let spec = wanted_spec(template, snapshot.metal3_machine.as_deref());
    let objects = Objects {
        metal3_machine: snapshot.metal3_machine.as_deref(),
        machine: snapshot.machine.as_deref(),
        host: snapshot.host.as_deref(),
    };
    // A template that cannot be read for pools is reported as what the data waits for.
    let wanted = referenced_pools(&spec, objects).unwrap_or_default();
    wanted.values().map(|pool| line(site, &snapshot, pool)).collect()
}

fn line(site: &Site, snapshot: &DataSnapshot, pool: &PoolRef) -> PoolLine {
    let claim = snapshot.ip_claims.iter().find(|claim| claim.claim.is_on(pool));
    let there = snapshot.pools.get(&pool.name).filter(|_| pool.is_metal3());
    let not_served = Some(claim_kind(pool)).filter(|kind| snapshot.kinds_not_served.contains(kind));
    let problem = match claim {
        None if let Some(kind) = not_served => Some(format!("the API server does not serve {kind}")),
        _ if pool.is_metal3() && there.is_none() => Some("there is no such pool".to_owned()),
        Some(claim) => claim.claim.problem(),
        None => None,
    };
    let address = claim.and_then(|claim| claim.address.as_ref()).map(|address| address.address.clone());
    let usage = there.map(|pool| PoolUsage::of(site, pool));
    // Who has the others matters to a machine that has none.
    let lacks = |usage: &&PoolUsage| address.is_none() && usage.stock.free == 0;
    let (reservations, holders) = match (usage.as_ref().filter(lacks), there) {
        (Some(usage), Some(pool)) => {
            (usage.reservations(), usage.holders(site, pool.metadata.namespace_str()))
        }
        _ => (Vec::new(), Vec::new()),
    };
    PoolLine {
        kind: pool.kind.clone(),
        name: pool.name.clone(),
        address,
        stock: usage.map(|usage| usage.stock),
        reservations,
        holders,
        problem,
        not_served,
    }
}
