//! What an index and an address cost, and that the price does not grow with their number.
//!
//! Measures one pass of the controllers themselves, from the caches to every write, part by part as they are carried out, at
//! templates and pools with many claims that all wait. The same number of claims is in memory both times, once of one template or pool
//! and once spread over many small ones: so the ratio shows what the number of neighbours costs, not what memory costs.

use anyhow::{Context, Result, ensure};
use capm3_api::{
    ipam::{IpClaim, IpPool},
    v1beta2::{Metal3DataClaim, Metal3DataTemplate},
};
use capm3_engine::{Caches, Object, ObjectKey};
use capm3_provider::{ippool, kinds, metal3datatemplate};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::processor;

/// Cost per item at the full size against that at [`SMALL`].
const BUDGET: f64 = 1.2;
const SMALL: usize = 100;
/// The best of so many is taken: what disturbs a run only makes it slower.
const TRIES: usize = 15;
/// When everything happens.
const NOW: &str = "2026-01-01T00:00:00Z";

/// What one claim costs.
struct Row {
    name: &'static str,
    nanos: f64,
    ratio: f64,
}

/// Runs the benchmark.
pub fn run(size: usize, as_json: bool) -> Result<()> {
    ensure!(size >= SMALL && size.is_multiple_of(SMALL), "--size {size} is no multiple of {SMALL}");
    let v4 = ("10.0.0.0/16", "10.0.255.254");
    let v6 = ("2001:db8::/64", "2001:db8::ffff:ffff:ffff:ffff");
    let rows = [
        row("indexes", size, indexes_of, index_plan)?,
        row(
            "addressesV4",
            size,
            |caches, name, claims| addresses_of(caches, name, claims, v4),
            address_plan,
        )?,
        row(
            "addressesV6",
            size,
            |caches, name, claims| addresses_of(caches, name, claims, v6),
            address_plan,
        )?,
    ];
    if as_json {
        let figure = |row: &Row| {
            let ratio = (row.ratio * 100.0).round() / 100.0;
            (row.name.to_owned(), json!({"nanosEach": row.nanos.round(), "ratio": ratio}))
        };
        let mut line = json!({"bench": "allocate", "size": size, "budget": {"ratio": BUDGET}});
        if let Some(members) = line.as_object_mut() {
            members.extend(rows.iter().map(figure));
        }
        println!("{line}");
    } else {
        for Row { name, nanos, ratio } in &rows {
            println!(
                "{name:<12} {nanos:>6.0} ns each at {size}, {ratio:.2} times that at {SMALL}   budget {BUDGET}"
            );
        }
    }
    ensure!(rows.iter().all(|row| row.ratio <= BUDGET), "the price grows with the number");
    Ok(())
}

/// A pool of that name, a whole subnet whose last address is reserved for one of its claims, and those.
fn addresses_of(caches: &Caches, name: &str, claims: usize, (subnet, last): (&str, &str)) -> Result<()> {
    let spec = json!({"namePrefix": "pool", "prefix": 64, "pools": [{"subnet": subnet}],
        "preAllocations": {claim_name(name, 7): last}});
    put::<IpPool>(caches, name, json!({"spec": spec}))?;
    for number in 0..claims {
        let spec = json!({"spec": {"pool": {"name": name}}});
        put::<IpClaim>(caches, &claim_name(name, number), spec)?;
    }
    Ok(())
}

/// A template of that name and its claims.
fn indexes_of(caches: &Caches, name: &str, claims: usize) -> Result<()> {
    put::<Metal3DataTemplate>(caches, name, json!({}))?;
    for number in 0..claims {
        let claim = claim_name(name, number);
        let owner = json!({"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "Metal3Machine",
            "name": claim, "uid": claim, "controller": true});
        let object = json!({"metadata": {"ownerReferences": [owner]}, "spec": {"template": {"name": name}}});
        put::<Metal3DataClaim>(caches, &claim, object)?;
    }
    Ok(())
}

fn claim_name(owner: &str, number: usize) -> String {
    format!("{owner}-claim-{number:05}")
}

/// Puts an object into the caches as if it had been watched.
fn put<K: Object + DeserializeOwned>(caches: &Caches, name: &str, mut object: Value) -> Result<()> {
    let metadata = json!({"name": name, "namespace": "bench", "uid": name, "resourceVersion": "1",
        "creationTimestamp": NOW});
    for (member, value) in metadata.as_object().into_iter().flatten() {
        if let Some(slot) = object.as_object_mut() {
            slot.entry("metadata").or_insert_with(|| json!({}))[member] = value.clone();
        }
    }
    caches.store::<K>().context("a kind that nobody registered")?.apply(serde_json::from_value(object)?);
    Ok(())
}

/// How many writes one pass over a template or pool plans.
type Pass = fn(&Caches, &ObjectKey) -> usize;

fn address_plan(caches: &Caches, key: &ObjectKey) -> usize {
    let writes = |snapshot| ippool::decide_in_parts(&snapshot, NOW).map(|part| part.writes.len()).sum();
    ippool::observe(caches, key).map_or(0, writes)
}

fn index_plan(caches: &Caches, key: &ObjectKey) -> usize {
    let writes =
        |snapshot| metal3datatemplate::decide_in_parts(&snapshot, NOW).map(|part| part.writes.len()).sum();
    metal3datatemplate::observe(caches, key).map_or(0, writes)
}

/// Caches with claims, spread evenly over some owners.
struct Fleet {
    caches: Caches,
    owners: Vec<ObjectKey>,
    claims: usize,
}

impl Fleet {
    fn of(claims: usize, each: usize, make: &impl Fn(&Caches, &str, usize) -> Result<()>) -> Result<Self> {
        let mut caches = Caches::default();
        kinds::register(&mut caches);
        let owners: Vec<ObjectKey> =
            (0..claims / each).map(|number| ObjectKey::new("bench", format!("pool-{number:03}"))).collect();
        for owner in &owners {
            make(&caches, &owner.name, each)?;
        }
        Ok(Self { caches, owners, claims })
    }

    /// Nanoseconds a claim, and the writes of all.
    fn pass(&self, pass: Pass) -> Result<(f64, usize)> {
        let start = processor::used()?;
        let writes = self.owners.iter().map(|owner| pass(&self.caches, owner)).sum();
        let nanos = (processor::used()? - start).as_secs_f64() * 1e9;
        Ok((nanos / self.claims as f64, writes))
    }
}

fn row(
    name: &'static str,
    size: usize,
    make: impl Fn(&Caches, &str, usize) -> Result<()>,
    pass: Pass,
) -> Result<Row> {
    let (spread, together) = (Fleet::of(size, SMALL, &make)?, Fleet::of(size, size, &make)?);
    let (mut least_spread, mut least_together) = (f64::INFINITY, f64::INFINITY);
    // By turns, so that a machine that is busy for a while disturbs both.
    for _ in 0..TRIES {
        for (fleet, least) in [(&spread, &mut least_spread), (&together, &mut least_together)] {
            let (nanos, writes) = fleet.pass(pass)?;
            ensure!(writes > size, "{name}: {writes} writes for {size} claims");
            *least = least.min(nanos);
        }
    }
    Ok(Row { name, nanos: least_together, ratio: least_together / least_spread })
}
