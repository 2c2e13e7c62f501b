//! Forecast equals fact: what the planner says will happen to a random site is what the provider makes of it.
//!
//! A site is brought up to some moment: machines without hosts beside machines that run, or a provider that died in the
//! middle of its work. The planner is asked what will happen, then the provider works to rest, and host, data template,
//! index, addresses and both documents of every machine are compared. Each controller has one worker, and a write takes no
//! time.
//! `CAPM3_PROPERTY_CASES` says how many sites, `CAPM3_FORECAST_SITE` which one alone.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may panic")]

mod facts;
mod site;

use std::{sync::Arc, time::Duration};

use capm3_engine::manifests::Document;
use capm3_lab::{
    Lab, Options, Settled,
    faults::{Cut, Side},
    manifests::Manifest,
};
use capm3_offline::planner::Planner;
use facts::{Fact, Facts, facts};
use serde_json::{Value, json};
use site::Site;

/// Sites of a usual run.
const SITES: u64 = 30;
/// More sites than this tell nothing more.
const MOST: u64 = 300;
/// Sites that every run has: after a restart their templates served the claims that were there at once and the others a moment
/// later, while the pools served the claims of the first data, so that lower names got higher addresses.
const KEPT: [u64; 5] = [9, 40, 109, 128, 290];

#[test]
fn forecast_equals_fact() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let seeds: Vec<u64> = match number("CAPM3_FORECAST_SITE") {
        Some(one) => vec![one],
        None => {
            let last = number("CAPM3_PROPERTY_CASES").map_or(SITES, |cases| cases.min(MOST));
            (1..=last).chain(KEPT.into_iter().filter(|kept| *kept > last)).collect()
        }
    };
    assert!(!seeds.is_empty(), "there are sites");
    let (mut machines, mut ahead, mut with_host, mut with_data) = (0, 0, 0, 0);
    let mut wrong = Vec::new();
    for seed in &seeds {
        let Played { before, forecast, fact } = play(*seed);
        machines += fact.len();
        ahead += fact.iter().filter(|(key, is)| before.get(*key) != Some(*is)).count();
        with_host += fact.values().filter(|fact| fact.host.is_some()).count();
        with_data += fact.values().filter(|fact| fact.network_data.is_some()).count();
        assert_eq!(forecast.len(), fact.len(), "site {seed}");
        let is_wrong = |(key, is): &(&String, &Fact)| forecast.get(*key) != Some(*is);
        let differ: Vec<_> = fact.iter().filter(is_wrong).collect();
        for (key, is) in differ {
            let (was, said) = (before.get(key), forecast.get(key));
            wrong.push(format!(
                "site {seed}, machine {key}:\n was {was:?}\n forecast {said:?}\n fact {is:?}\n"
            ));
        }
    }
    println!(
        "{} sites, {machines} machines: {ahead} had something ahead of them, {with_host} end with a host, {with_data} \
         with network data",
        seeds.len()
    );
    assert!(
        seeds.len() == 1 || ahead > 0 && with_data > 0 && with_host < machines,
        "the sites say something"
    );
    assert!(wrong.is_empty(), "{} of {machines} are wrong:\n{}", wrong.len(), wrong.concat());
}

/// What a site was, what was said of it, and what it came to.
struct Played {
    before: Facts,
    forecast: Facts,
    fact: Facts,
}

fn play(seed: u64) -> Played {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    runtime.block_on(async {
        let site = Site::random(seed);
        let cut = Arc::new(site.dies_at.map_or_else(Cut::never, |write| Cut::at(write, Side::After)));
        let options = Options { seed, workers: 1, faults: Arc::clone(&cut) as _, ..Options::default() };
        let mut lab = Lab::start(&options).await.unwrap();
        put(&lab, &site.before).await;
        rest(&lab).await;
        put(&lab, &site.first_hosts).await;
        rest(&lab).await;
        lab.stop_providers();
        put(&lab, &site.hosts).await;
        for (kind, name, patch) in &site.changes {
            change(&lab, kind, name, patch).await;
        }
        rest(&lab).await;
        if site.dies_at.is_some() {
            lab.start_provider();
            cut.arm();
            let _too_early = tokio::time::timeout(Duration::from_secs(60), cut.happened()).await;
            lab.stop_providers();
            cut.over();
        }
        tokio::time::sleep(site.pause).await;
        let (before, forecast) = (now(&lab), forecast(&lab, seed));
        lab.start_provider();
        rest(&lab).await;
        Played { before, forecast, fact: now(&lab) }
    })
}

async fn rest(lab: &Lab) {
    assert_eq!(lab.settle(Duration::from_secs(7200)).await, Settled::Quiet, "the lab does not come to rest");
}

async fn put(lab: &Lab, objects: &[Value]) {
    let manifests = objects.iter().map(|object| Manifest { file: "site".to_owned(), object: object.clone() });
    lab.apply(&manifests.collect::<Vec<_>>()).await.unwrap();
}

/// Changes an object of that name in every namespace; of an empty name the first one.
async fn change(lab: &Lab, kind: &str, name: &str, patch: &Value) {
    let objects = lab.objects(kind);
    let is_it = |object: &&Arc<Value>| name.is_empty() || object["metadata"]["name"] == name;
    let found: Vec<_> = objects.iter().filter(is_it).take(if name.is_empty() { 1 } else { 2 }).collect();
    for object in found {
        let manifest = Manifest { file: "change".to_owned(), object: object.as_ref().clone() };
        lab.patch(&manifest.resource(), &manifest.key(), patch).await.unwrap();
    }
}

const KINDS: [&str; 15] = [
    "Metal3Machine",
    "Metal3MachineTemplate",
    "Metal3Cluster",
    "Metal3DataTemplate",
    "Metal3DataClaim",
    "Metal3Data",
    "IPPool",
    "IPClaim",
    "IPAddress",
    "BareMetalHost",
    "Cluster",
    "Machine",
    "MachineSet",
    "MachineDeployment",
    "Secret",
];

fn now(lab: &Lab) -> Facts {
    facts(|kind| lab.objects(kind).iter().map(|object| object.as_ref().clone()).collect())
}

fn forecast(lab: &Lab, seed: u64) -> Facts {
    let objects = KINDS.iter().flat_map(|kind| lab.objects(kind));
    let documents: Vec<Document> =
        objects.map(|object| Document::made("lab", object.as_ref().clone())).collect();
    let (mut planner, problems) = Planner::read(&documents);
    assert!(problems.is_empty(), "site {seed}: {problems:?}");
    assert!(planner.run(lab.now()), "site {seed}: the planner comes to rest");
    facts(|kind| planner.list(kind))
}

/// An annotation.
fn annotated(name: &str, value: &str) -> Value {
    json!({"metadata": {"annotations": {name: value}}})
}
