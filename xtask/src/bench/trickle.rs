//! What one more claim costs in a template and in a pool that serve many.
//!
//! Measured are the controllers' own reconciles on objects in memory: a claim is added, its template or pool is reconciled, and
//! once more for the object that was created, as its watch event demands. The status of the template or pool lists everything
//! that was given out, so writing it grows with the number; it is written at most once per second however many claims come,
//! and is measured apart.

use anyhow::{Result, ensure};
use capm3_api::{
    ipam::{IpAddress, IpClaim, IpPool},
    v1beta2::{Metal3Data, Metal3DataClaim, Metal3DataTemplate},
};
use capm3_engine::{Memory, Object, ObjectKey};
use capm3_provider::{
    dry_run::{Controller, Settings},
    kinds,
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::processor;

/// Cost per claim at the full size against that at [`SMALL`].
const BUDGET: f64 = 1.5;
const SMALL: usize = 100;
/// Claims that come one by one: enough for a clock that ticks every few milliseconds.
const CLAIMS: usize = 1_000;
/// The best of so many is taken: what disturbs a run only makes it slower.
const TRIES: usize = 5;
const START: &str = "2026-01-01T00:00:00Z";
const NEXT_SECOND: &str = "2026-01-01T00:00:01Z";

/// What is allocated.
#[derive(Clone, Copy)]
struct Subject {
    name: &'static str,
    controller: Controller,
    /// Puts the template or pool.
    owner: fn(&mut Memory),
    /// Puts one claim.
    claim: fn(&mut Memory, usize),
    /// How many objects were given out.
    given: fn(&Memory) -> usize,
}

/// What a claim costs.
struct Row {
    name: &'static str,
    micros: f64,
    ratio: f64,
    status_millis: f64,
}

/// Runs the benchmark.
pub fn run(size: usize, as_json: bool) -> Result<()> {
    ensure!(size > SMALL, "--size {size} is not more than {SMALL}");
    let rows = [
        row(indexes(), size)?,
        row(addresses("addressesV4", v4), size)?,
        row(addresses("addressesV6", v6), size)?,
    ];
    if as_json {
        let round = |value: f64| (value * 100.0).round() / 100.0;
        let mut line = json!({"bench": "allocate --trickle", "size": size, "budget": {"ratio": BUDGET}});
        let figure = |row: &Row| {
            let figures = json!({"microsEach": round(row.micros), "ratio": round(row.ratio),
                "statusMillis": round(row.status_millis)});
            (row.name.to_owned(), figures)
        };
        if let Some(members) = line.as_object_mut() {
            members.extend(rows.iter().map(figure));
        }
        println!("{line}");
    } else {
        for Row { name, micros, ratio, status_millis } in &rows {
            println!(
                "{name:<12} {micros:>6.1} µs per claim beside {size}, {ratio:.2} times that beside {SMALL}   budget {BUDGET}; \
                 the status, at most once per second: {status_millis:.1} ms"
            );
        }
    }
    ensure!(
        rows.iter().all(|row| row.ratio <= BUDGET),
        "the cost of a claim grows with the number of claims"
    );
    Ok(())
}

fn row(subject: Subject, size: usize) -> Result<Row> {
    let (small, mut large) = (Trickle::new(subject, SMALL)?, Trickle::new(subject, size)?);
    let (mut least_small, mut least_large) = (f64::INFINITY, f64::INFINITY);
    // By turns, so that a machine that is busy for a while disturbs both.
    for _ in 0..TRIES {
        least_small = least_small.min(small.micros()?);
        least_large = least_large.min(large.micros()?);
    }
    let name = subject.name;
    Ok(Row { name, micros: least_large, ratio: least_large / least_small, status_millis: large.status()? })
}

/// A template or pool with claims that are served.
struct Trickle {
    subject: Subject,
    memory: Memory,
    claims: usize,
}

impl Trickle {
    fn new(subject: Subject, claims: usize) -> Result<Self> {
        let mut memory = kinds::memory();
        memory.tell_time(START);
        (subject.owner)(&mut memory);
        (0..claims).for_each(|number| (subject.claim)(&mut memory, number));
        let mut trickle = Self { subject, memory, claims };
        trickle.reconcile(START);
        ensure!((subject.given)(&trickle.memory) == claims, "{}: not every claim is served", subject.name);
        Ok(trickle)
    }

    fn reconcile(&mut self, now: &str) {
        let settings = Settings { serves_addresses: true, ..Settings::default() };
        let _end = self.subject.controller.reconcile(&mut self.memory, &key("owner"), settings, now);
    }

    /// Microseconds per claim. The status was written in this second, so it is not written again.
    fn micros(&self) -> Result<f64> {
        let mut copy = Self { memory: self.memory.clone(), ..*self };
        let start = processor::used()?;
        copy.add_claims();
        let spent = (processor::used()? - start).as_secs_f64() * 1e6;
        let name = self.subject.name;
        ensure!((self.subject.given)(&copy.memory) == copy.claims, "{name}: a claim was missed");
        Ok(spent / CLAIMS as f64)
    }

    fn add_claims(&mut self) {
        for _ in 0..CLAIMS {
            (self.subject.claim)(&mut self.memory, self.claims);
            self.claims += 1;
            self.reconcile(START);
            self.reconcile(START);
        }
    }

    /// Milliseconds for the status.
    fn status(&mut self) -> Result<f64> {
        self.add_claims();
        let (before, start) = (self.memory.version(), processor::used()?);
        self.reconcile(NEXT_SECOND);
        ensure!(self.memory.version() > before, "{}: the status was not written", self.subject.name);
        Ok((processor::used()? - start).as_secs_f64() * 1e3)
    }
}

fn indexes() -> Subject {
    Subject {
        name: "indexes",
        controller: Controller::DataTemplate,
        owner: |memory| put::<Metal3DataTemplate>(memory, "owner", json!({})),
        claim: |memory, number| {
            let name = format!("claim-{number:05}");
            let owner = json!({"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "Metal3Machine",
                "name": name, "uid": name, "controller": true});
            let claim =
                json!({"metadata": {"ownerReferences": [owner]}, "spec": {"template": {"name": "owner"}}});
            put::<Metal3DataClaim>(memory, &name, claim);
        },
        given: count::<Metal3Data>,
    }
}

fn addresses(name: &'static str, owner: fn(&mut Memory)) -> Subject {
    Subject {
        name,
        controller: Controller::Pool,
        owner,
        claim: |memory, number| {
            put::<IpClaim>(
                memory,
                &format!("claim-{number:05}"),
                json!({"spec": {"pool": {"name": "owner"}}}),
            );
        },
        given: count::<IpAddress>,
    }
}

fn v4(memory: &mut Memory) {
    pool(memory, "10.0.0.0/16");
}

fn v6(memory: &mut Memory) {
    pool(memory, "2001:db8::/64");
}

fn pool(memory: &mut Memory, subnet: &str) {
    let spec = json!({"namePrefix": "pool", "prefix": 64, "pools": [{"subnet": subnet}]});
    put::<IpPool>(memory, "owner", json!({"spec": spec}));
}

fn put<K: Object + DeserializeOwned>(memory: &mut Memory, name: &str, mut object: Value) {
    let metadata = json!({"name": name, "namespace": "bench", "uid": name, "creationTimestamp": START});
    json_patch::merge(&mut object, &json!({"metadata": metadata}));
    memory.put_whole::<K>(object);
}

fn count<K: Object>(memory: &Memory) -> usize {
    memory.caches().store::<K>().map_or(0, |store| store.all().len())
}

fn key(name: &str) -> ObjectKey {
    ObjectKey::new("bench", name)
}
