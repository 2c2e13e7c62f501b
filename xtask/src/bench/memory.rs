//! What the provider keeps in memory: its caches with all their indexes, filled with a finished fleet.
//!
//! Measured is the resident memory by which this process grows, so the allocator's share is in it. What a manager needs
//! besides (connections, the text of a list while it is read) is not: `bench real` tells the peak of a whole process.

use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use capm3_api::{
    ipam::{IpAddress, IpClaim},
    neighbours::{BareMetalHost, Machine, SecretMetadata},
    v1beta2::{Metal3Data, Metal3DataClaim, Metal3Machine},
};
use capm3_engine::{
    Caches, Object,
    clock::Stopwatch,
    metrics::{Format, Metrics},
};
use capm3_provider::{kinds, metrics::CacheSource};
use serde_json::{Value, json};

use super::fleet_objects as objects;
use crate::memory;

/// Budgets: bytes a cached host, and megabytes of everything at 10,000 hosts and machines.
const HOST_BYTES: u64 = 4096;
const WHOLE_MB: u64 = 200;
/// The fleet that the second budget is about.
const WHOLE_SIZE: usize = 10_000;

/// Runs the benchmark.
pub fn run(size: usize, as_json: bool) -> Result<()> {
    ensure!(size > 0, "--size 0 fills nothing");
    let mut caches = Caches::default();
    kinds::register(&mut caches);
    let hosts = fill::<BareMetalHost>(&caches, size, &objects::host())?;
    let kinds = [
        ("Machine", fill::<Machine>(&caches, size, &objects::machine())?),
        ("Metal3Machine", fill::<Metal3Machine>(&caches, size, &objects::metal3_machine())?),
        ("Metal3DataClaim", fill::<Metal3DataClaim>(&caches, size, &objects::data_claim())?),
        ("Metal3Data", fill::<Metal3Data>(&caches, size, &objects::data())?),
        ("IPClaim", fill::<IpClaim>(&caches, size, &objects::ip_claim())?),
        ("IPAddress", fill::<IpAddress>(&caches, size, &objects::ip_address())?),
        ("Secret, metadata", fill::<SecretMetadata>(&caches, size, &objects::secret())?),
    ];
    let whole = memory::resident()? / (1024 * 1024);
    let scrape = scrape_milliseconds(caches);
    if as_json {
        let each: serde_json::Map<String, Value> =
            kinds.iter().map(|(kind, bytes)| ((*kind).to_owned(), json!(bytes))).collect();
        let line = json!({"bench": "memory", "size": size, "bytesPerHost": hosts, "bytesEach": each,
            "wholeMb": whole, "scrapeMs": scrape, "budget": {"bytesPerHost": HOST_BYTES, "wholeMb": WHOLE_MB}});
        println!("{line}");
    } else {
        println!("{:<18} {hosts:>6} bytes each   budget {HOST_BYTES}", "BareMetalHost");
        for (kind, bytes) in kinds {
            println!("{kind:<18} {bytes:>6} bytes each");
        }
        println!(
            "{:<18} {whole:>6} MB with {size} of each   budget {WHOLE_MB} with {WHOLE_SIZE}",
            "this process"
        );
        println!("{:<18} {scrape:>6.1} ms for what the caches tell", "a scrape");
    }
    ensure!(hosts <= HOST_BYTES, "a cached host takes {hosts} bytes");
    ensure!(size > WHOLE_SIZE || whole <= WHOLE_MB, "{size} machines take {whole} MB");
    Ok(())
}

/// How long a scrape of the caches takes; the shortest of several.
fn scrape_milliseconds(caches: Caches) -> f64 {
    let metrics = Metrics::default();
    metrics.add(CacheSource(Arc::new(caches)));
    let times = (0..10).map(|_| {
        let clock = Stopwatch::start();
        std::hint::black_box(metrics.text(Format::Text));
        clock.elapsed().as_secs_f64() * 1000.0
    });
    times.fold(f64::INFINITY, f64::min)
}

/// Fills a store as a watch would, from text; resident bytes an object. The first tenth is not counted: with it
/// comes what the process needs however many there are.
fn fill<K: Object>(caches: &Caches, size: usize, template: &Value) -> Result<u64> {
    let store = caches.store::<K>().context("a kind that nobody registered")?;
    let text = template.to_string();
    let add = |number: usize| -> Result<()> {
        let object = text.replace(objects::NUMBER, &format!("{number:05}"));
        ensure!(store.apply(serde_json::from_str(&object)?), "two objects of one name");
        Ok(())
    };
    let first = size / 10;
    (0..first).try_for_each(add)?;
    let before = memory::resident()?;
    (first..size).try_for_each(add)?;
    Ok(memory::resident()?.saturating_sub(before) / (size - first) as u64)
}
