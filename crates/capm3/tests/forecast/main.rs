//! Forecast equals fact: what the planner says will happen to a random site is what the provider makes of it.
//!
//! A site is brought up to some moment: machines without hosts beside machines that run, or a provider that died in the
//! middle of its work. The planner is asked what will happen, then the provider works to rest, and host, data template,
//! index, addresses and both documents of every machine are compared. Where every machine has a uid all of it is decided.
//! `render` must say the same of machines that come to their documents; it also renders those that wait for something else.
//! Then the planner is asked the same of machines that have no uid yet: it names the hosts among which the uid decides, and
//! the host of the machine is one of them. Each controller has one worker, and a write takes no time.
//! `CAPM3_PROPERTY_CASES` says how many sites, `CAPM3_FORECAST_SITE` which one alone.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may panic")]

mod facts;
mod site;
mod small;
mod tally;

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use capm3_domain::host::PossibleHosts;
use capm3_engine::manifests::Document;
use capm3_lab::{
    Lab, Options, Settled,
    faults::{CrashAtWrite, Side},
    manifests::Manifest,
};
use capm3_offline::{
    planner::Planner,
    render::{Options as RenderOptions, Rendered, render},
};
use facts::{Facts, facts};
use serde_json::{Value, json};
use site::Site;
use tally::Tally;

/// Sites of a usual run.
const SITES: u64 = 30;
/// More sites than this show nothing more.
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
    let mut tally = Tally::default();
    seeds.iter().for_each(|seed| tally.add(*seed, &play(*seed)));
    println!("{tally}");
    if seeds.len() as u64 >= SITES {
        tally.assert_that_it_tells();
    }
    tally.assert_that_nothing_is_wrong();
}

/// What a site was, what was forecast, and what happened.
struct Played {
    /// What the site has.
    parts: Vec<&'static str>,
    before: Facts,
    forecast: Forecast,
    /// The same for machines that have no uid before they have a host.
    without_uids: Forecast,
    fact: Facts,
}

/// What the planner says.
struct Forecast {
    facts: Facts,
    /// Machines whose host is not decided, and the hosts that they may take.
    undecided: BTreeMap<String, PossibleHosts>,
    /// What `render` says of the same objects. None where a claim that is made next may have the age of one that is there:
    /// ages are in seconds, and files do not tell the time.
    rendered: Option<Vec<Rendered>>,
}

fn play(seed: u64) -> Played {
    play_site(seed, &Site::random(seed))
}

fn play_site(seed: u64, site: &Site) -> Played {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    runtime.block_on(async {
        let cut = Arc::new(
            site.dies_at.map_or_else(CrashAtWrite::never, |write| CrashAtWrite::at(write, Side::After)),
        );
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
        let before = now(&lab);
        let [forecast, without_uids] = [true, false].map(|has_uids| forecast(&lab, seed, has_uids));
        let is_later = site.dies_at.is_none() || site.pause >= Duration::from_secs(1);
        let forecast = Forecast { rendered: forecast.rendered.filter(|_| is_later), ..forecast };
        lab.start_provider();
        rest(&lab).await;
        Played { parts: site.parts(), before, forecast, without_uids, fact: now(&lab) }
    })
}

async fn rest(lab: &Lab) {
    assert_eq!(lab.settle(Duration::from_secs(7200)).await, Settled::Quiet, "the lab does not become idle");
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

fn forecast(lab: &Lab, seed: u64, has_uids: bool) -> Forecast {
    let objects = KINDS.iter().flat_map(|kind| lab.objects(kind)).map(|object| {
        let mut object = object.as_ref().clone();
        let is_new = object.pointer("/metadata/annotations/metal3.io~1BareMetalHost").is_none();
        if object["kind"] == "Metal3Machine" && is_new && !has_uids {
            object["metadata"]["uid"].take();
        }
        Document::made("lab", object)
    });
    let objects: Vec<Document> = objects.collect();
    let (mut planner, problems) = Planner::read(&objects);
    assert!(problems.is_empty(), "site {seed}: {problems:?}");
    assert!(planner.run(lab.now()), "site {seed}: the planner comes to rest");
    let undecided = planner.undecided().iter().map(|(key, hosts)| (key.to_string(), hosts.clone()));
    let rendered =
        render(&objects, &RenderOptions { machines: Some(0), ..RenderOptions::default() }).machines;
    Forecast {
        facts: facts(|kind| planner.list(kind)),
        undecided: undecided.collect(),
        rendered: Some(rendered),
    }
}

/// An annotation.
fn annotated(name: &str, value: &str) -> Value {
    json!({"metadata": {"annotations": {name: value}}})
}
