//! What an index and an address cost, and that the price does not grow with their number.
//!
//! Measured is one look of the controller itself, at a template or pool with many claims that all wait: from its caches to the
//! plan with every write. What the server does with the plan is not in it.

use std::fs;

use anyhow::{Context, Result, ensure};
use capm3_api::{
    ipam::{IpClaim, IpPool},
    v1beta2::{Metal3DataClaim, Metal3DataTemplate},
};
use capm3_engine::{Caches, Object, ObjectKey, Plan};
use capm3_provider::{indexes, ippool, metal3datatemplate};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// Cost per item at the full size against that at [`SMALL`].
const BUDGET: f64 = 1.2;
const SMALL: usize = 100;
/// Items a measurement handles in all, so that small and large sizes are timed alike.
const WORK: usize = 20_000;
/// The best of so many is taken: what disturbs a run only makes it slower.
const TRIES: usize = 7;
/// When everything happens.
const NOW: &str = "2026-01-01T00:00:00Z";

/// Runs the benchmark.
pub fn run(size: usize, as_json: bool) -> Result<()> {
    let v4 = pool("10.0.0.0/16", "10.0.255.254");
    let v6 = pool("2001:db8::/64", "2001:db8::ffff:ffff:ffff:ffff");
    let rows = [
        ("indexes", ratio(size, indexes_of, data)?),
        ("addressesV4", ratio(size, |count| addresses_of(&v4, count), addresses)?),
        ("addressesV6", ratio(size, |count| addresses_of(&v6, count), addresses)?),
    ];
    if as_json {
        let figure = |(name, (nanos, ratio)): &(&str, (f64, f64))| {
            let figures = json!({"nanosEach": nanos.round(), "ratio": (ratio * 100.0).round() / 100.0});
            ((*name).to_owned(), figures)
        };
        let mut line = json!({"bench": "allocate", "size": size, "budget": {"ratio": BUDGET}});
        if let Some(members) = line.as_object_mut() {
            members.extend(rows.iter().map(figure));
        }
        println!("{line}");
    } else {
        for (name, (nanos, ratio)) in rows {
            println!(
                "{name:<12} {nanos:>6.0} ns each at {size}, {ratio:.2} times that at {SMALL}   budget {BUDGET}"
            );
        }
    }
    ensure!(rows.iter().all(|(_, (_, ratio))| *ratio <= BUDGET), "the price grows with the number");
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

fn addresses(caches: &Caches) -> Option<Plan> {
    Some(ippool::decide(&ippool::observe(caches, &here())?, NOW))
}

fn data(caches: &Caches) -> Option<Plan> {
    Some(metal3datatemplate::decide(&metal3datatemplate::observe(caches, &here())?, NOW))
}

/// Nanoseconds per item at the full size, and how that compares with the small one.
fn ratio(
    size: usize,
    make: impl Fn(usize) -> Result<Caches>,
    look: fn(&Caches) -> Option<Plan>,
) -> Result<(f64, f64)> {
    let (small, large) = (make(SMALL)?, make(size)?);
    for (caches, count) in [(&small, SMALL), (&large, size)] {
        let writes = look(caches).context("the object is not in the caches")?.writes.len();
        ensure!(writes > count, "only {writes} writes for {count} claims");
    }
    let (mut least_small, mut least_large) = (f64::INFINITY, f64::INFINITY);
    // By turns, so that a machine that is busy for a while disturbs both.
    for _ in 0..TRIES {
        least_small = least_small.min(each(&small, SMALL, look)?);
        least_large = least_large.min(each(&large, size, look)?);
    }
    Ok((least_large, least_large / least_small))
}

fn each(caches: &Caches, count: usize, look: fn(&Caches) -> Option<Plan>) -> Result<f64> {
    let rounds = (WORK / count).max(1);
    let start = processor_nanos()?;
    for _ in 0..rounds {
        std::hint::black_box(look(caches));
    }
    Ok((processor_nanos()? - start) / (rounds * count) as f64)
}

/// Processor time of this thread so far: others may use the machine meanwhile.
fn processor_nanos() -> Result<f64> {
    let text = fs::read_to_string("/proc/thread-self/schedstat").context("reading the processor's time")?;
    Ok(text.split_whitespace().next().context("no time")?.parse()?)
}
