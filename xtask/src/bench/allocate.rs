//! What an index and an address cost, and that the price does not grow with their number.
//!
//! Measured is one look of the controllers themselves at a template or pool with many claims that all wait. Choosing is the
//! look that says which index or address, under which name, each claim gets; planning adds the writes. Only choosing has a
//! budget that must not grow: planning holds all writes in memory at once, and is told beside it.

use anyhow::{Context, Result, ensure};
use capm3_api::{
    ipam::{IpClaim, IpPool},
    v1beta2::{Metal3DataClaim, Metal3DataTemplate},
};
use capm3_engine::{Caches, Object, ObjectKey};
use capm3_provider::{indexes, ippool, metal3datatemplate};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::processor;

/// Cost per item at the full size against that at [`SMALL`].
const BUDGET: f64 = 1.2;
const SMALL: usize = 100;
/// Items a measurement handles in all, so that small and large sizes are timed alike.
const WORK: usize = 20_000;
/// The best of so many is taken: what disturbs a run only makes it slower.
const TRIES: usize = 7;
/// When everything happens.
const NOW: &str = "2026-01-01T00:00:00Z";

/// What one look costs.
struct Row {
    name: &'static str,
    nanos: f64,
    ratio: f64,
    /// The same up to the plan with every write.
    planned: (f64, f64),
}

/// Runs the benchmark.
pub fn run(size: usize, as_json: bool) -> Result<()> {
    let v4 = pool("10.0.0.0/16", "10.0.255.254");
    let v6 = pool("2001:db8::/64", "2001:db8::ffff:ffff:ffff:ffff");
    let rows = [
        row("indexes", size, indexes_of, (index_choice, index_plan))?,
        row("addressesV4", size, |count| addresses_of(&v4, count), (address_choice, address_plan))?,
        row("addressesV6", size, |count| addresses_of(&v6, count), (address_choice, address_plan))?,
    ];
    if as_json {
        let rounded = |ratio: f64| (ratio * 100.0).round() / 100.0;
        let figure = |row: &Row| {
            let figures = json!({"nanosEach": row.nanos.round(), "ratio": rounded(row.ratio),
                "planNanosEach": row.planned.0.round(), "planRatio": rounded(row.planned.1)});
            (row.name.to_owned(), figures)
        };
        let mut line = json!({"bench": "allocate", "size": size, "budget": {"ratio": BUDGET}});
        if let Some(members) = line.as_object_mut() {
            members.extend(rows.iter().map(figure));
        }
        println!("{line}");
    } else {
        for Row { name, nanos, ratio, planned } in &rows {
            println!(
                "{name:<12} {nanos:>6.0} ns each at {size}, {ratio:.2} times that at {SMALL}   budget {BUDGET}   \
                 (with its writes {:.0} ns, {:.2} times)",
                planned.0, planned.1
            );
        }
    }
    ensure!(rows.iter().all(|row| row.ratio <= BUDGET), "the price grows with the number");
    Ok(())
}

/// A whole subnet with a reservation at its end.
fn pool(subnet: &str, last: &str) -> Value {
    json!({"namePrefix": "pool", "prefix": 64, "pools": [{"subnet": subnet}],
        "preAllocations": {"claim-00007": last}})
}

fn addresses_of(pool: &Value, count: usize) -> Result<Caches> {
    let mut caches = Caches::default();
    indexes::register(&mut caches);
    put::<IpPool>(&caches, "pool", json!({"spec": pool}))?;
    for number in 0..count {
        let spec = json!({"spec": {"pool": {"name": "pool"}}});
        put::<IpClaim>(&caches, &format!("claim-{number:05}"), spec)?;
    }
    Ok(caches)
}

fn indexes_of(count: usize) -> Result<Caches> {
    let mut caches = Caches::default();
    indexes::register(&mut caches);
    put::<Metal3DataTemplate>(&caches, "pool", json!({}))?;
    for number in 0..count {
        let name = format!("claim-{number:05}");
        let owner = json!({"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "Metal3Machine",
            "name": name, "uid": name, "controller": true});
        let claim = json!({"metadata": {"ownerReferences": [owner]}, "spec": {"template": {"name": "pool"}}});
        put::<Metal3DataClaim>(&caches, &name, claim)?;
    }
    Ok(caches)
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

fn here() -> ObjectKey {
    ObjectKey::new("bench", "pool")
}

fn address_choice(caches: &Caches) -> usize {
    ippool::observe(caches, &here()).map_or(0, |snapshot| snapshot.claims.len())
}

fn address_plan(caches: &Caches) -> usize {
    ippool::observe(caches, &here()).map_or(0, |snapshot| ippool::decide(&snapshot, NOW).writes.len())
}

fn index_choice(caches: &Caches) -> usize {
    metal3datatemplate::observe(caches, &here()).map_or(0, |snapshot| snapshot.claims.len())
}

fn index_plan(caches: &Caches) -> usize {
    let snapshot = metal3datatemplate::observe(caches, &here());
    snapshot.map_or(0, |snapshot| metal3datatemplate::decide(&snapshot, NOW).writes.len())
}

/// A look at the caches; answers of how many claims, or of how many writes.
type Look = fn(&Caches) -> usize;

fn row(
    name: &'static str,
    size: usize,
    make: impl Fn(usize) -> Result<Caches>,
    (choice, plan): (Look, Look),
) -> Result<Row> {
    let (small, large) = (make(SMALL)?, make(size)?);
    for (caches, count) in [(&small, SMALL), (&large, size)] {
        let (claims, writes) = (choice(caches), plan(caches));
        ensure!(claims == count && writes > count, "{claims} claims and {writes} writes instead of {count}");
    }
    let (nanos, ratio) = compare((&small, SMALL), (&large, size), choice)?;
    Ok(Row { name, nanos, ratio, planned: compare((&small, SMALL), (&large, size), plan)? })
}

/// Nanoseconds per item at the full size, and how that compares with the small one.
fn compare(small: (&Caches, usize), large: (&Caches, usize), look: Look) -> Result<(f64, f64)> {
    let (mut least_small, mut least_large) = (f64::INFINITY, f64::INFINITY);
    // By turns, so that a machine that is busy for a while disturbs both.
    for _ in 0..TRIES {
        least_small = least_small.min(each(small, look)?);
        least_large = least_large.min(each(large, look)?);
    }
    Ok((least_large, least_large / least_small))
}

fn each((caches, count): (&Caches, usize), look: Look) -> Result<f64> {
    let rounds = (WORK / count).max(1);
    let start = processor::used()?;
    for _ in 0..rounds {
        std::hint::black_box(look(caches));
    }
    Ok((processor::used()? - start).as_secs_f64() * 1e9 / (rounds * count) as f64)
}
