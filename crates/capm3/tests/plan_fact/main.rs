//! Plan equals fact: what `plan` says of a roll-out is what happens in the lab.
//!
//! A random cluster is brought up, then something is changed: a template, a version, a number of replicas. The plan is made of the
//! objects before the change; then the lab makes the change and is watched minute by minute. Both must tell the same: which machine
//! goes when, which host returns when, when a machine takes a host and when it is ready, and at which point it all stands still.
//! Hosts, indexes and addresses are those of the plan; where the uid of a machine that did not exist yet decides, they are among the
//! outcomes that the plan names, a different one for each machine. `CAPM3_PROPERTY_CASES` says how many roll-outs,
//! `CAPM3_PLAN_SITE` which one alone.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may panic")]

#[path = "../forecast/facts.rs"]
#[allow(dead_code, reason = "not every test needs all that is shared")]
mod facts;
mod site;
mod story;

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use capm3_engine::manifests::Document;
use capm3_lab::{Lab, Options, Settled, manifests::Manifest};
use capm3_offline::plan::{self, Durations, Event, Plan};
use capm3_world::{Profile, Steps};
use serde_json::Value;
use site::Site;
use story::{Happening, Happenings};

/// Roll-outs of a usual run.
const SITES: u64 = 12;
/// Roll-outs of the long run.
const MOST: u64 = 200;
/// Minutes that nothing happens before a lab counts as standing still: longer than any step.
const STILL: u64 = 100;
const LONGEST: u64 = 60 * 48;

const STEPS: Durations =
    Durations { provision: Duration::from_secs(20 * 60), clean: Duration::from_secs(30 * 60) };

#[derive(Default)]
struct Tally {
    sites: usize,
    steps: usize,
    stopped: usize,
    exact: usize,
    named: usize,
    open: usize,
    reused: usize,
    wrong: Vec<String>,
}

#[test]
fn plan_equals_fact() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let seeds: Vec<u64> = match number("CAPM3_PLAN_SITE") {
        Some(one) => vec![one],
        None => {
            (1..=number("CAPM3_PROPERTY_CASES").map_or(SITES, |cases| cases.clamp(SITES, MOST))).collect()
        }
    };
    let mut tally = Tally::default();
    seeds.iter().for_each(|seed| compare(*seed, &mut tally));
    let Tally { sites, steps, stopped, exact, named, open, reused, wrong } = &tally;
    println!(
        "{sites} roll-outs, {stopped} of them stop before the end; {steps} steps; machines that take a host: {exact} exactly as \
         planned, {named} among the named outcomes, {open} with an index that depends on others; {reused} hosts kept by node reuse"
    );
    assert!(wrong.is_empty(), "{} roll-outs differ:\n{}", wrong.len(), wrong.concat());
    if seeds.len() as u64 >= SITES {
        assert!(
            *stopped > 0 && stopped < sites && *exact > 0 && *named > 0 && *reused > 0,
            "every case is among them"
        );
    }
}

fn compare(seed: u64, tally: &mut Tally) {
    let site = Site::random(seed);
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    let (plan, fact, counts) = runtime.block_on(play(seed, &site));
    tally.sites += 1;
    tally.stopped += usize::from(!plan.finishes);
    tally.steps += plan.steps.len();
    let mut differences = Vec::new();
    let planned = story::planned(&plan);
    let minutes: BTreeSet<u64> = planned.keys().chain(fact.keys()).copied().collect();
    for minute in minutes {
        let empty = Happenings::new();
        let (planned, happened) =
            (planned.get(&minute).unwrap_or(&empty), fact.get(&minute).unwrap_or(&empty));
        if let Err(difference) = story::matches(planned, happened) {
            differences.push(format!("  minute {minute}: {difference}\n"));
        }
    }
    if plan.finishes != counts.values().all(|(wanted, ready)| wanted == ready) {
        differences.push(format!("  finishes: {}, in fact {counts:?}\n", plan.finishes));
    }
    for step in plan.steps.iter().filter(|step| step.event == Event::MachineTakesHost) {
        let is_open = !step.data_templates.is_empty() && step.indexes.is_empty();
        let is_exact = step.possible_hosts.is_empty() && step.indexes.len() == 1;
        tally.exact += usize::from(is_exact);
        tally.open += usize::from(is_open);
        tally.named += usize::from(!is_exact && !is_open);
    }
    tally.reused += plan.steps.iter().filter(|step| step.kept_for.is_some()).count();
    if !differences.is_empty() {
        let words: String = differences.concat();
        tally.wrong.push(format!("site {seed}, {}:\n{words}", site.what));
    }
}

/// The plan, what happened by minute, and for each owner of machines how many it wants and how many are ready in the end.
async fn play(seed: u64, site: &Site) -> (Plan, BTreeMap<u64, Happenings>, BTreeMap<String, (u64, u64)>) {
    let profile = Profile::Steps(Steps { provision: STEPS.provision, clean: STEPS.clean });
    let lab = Lab::start(&Options { seed, workers: 1, profile, ..Options::default() }).await.unwrap();
    put(&lab, &site.before).await;
    assert_eq!(lab.settle(Duration::from_secs(14 * 86_400)).await, Settled::Quiet, "site {seed} comes up");
    let plan = planned(&lab, site);
    let mut before = story::Seen::of(&lab);
    let known = before.names();
    put(&lab, &site.added).await;
    for (kind, name, patch) in &site.patches {
        let found = lab.object(kind, name).unwrap();
        let manifest = Manifest { file: "change".to_owned(), object: found.as_ref().clone() };
        lab.patch(&manifest.resource(), &manifest.key(), patch).await.unwrap();
    }
    // What happens at a full minute is seen half a minute later.
    tokio::time::sleep(Duration::from_secs(30)).await;
    let (mut fact, mut quiet, mut minute) = (BTreeMap::new(), 0, 0);
    while quiet < STILL && minute < LONGEST {
        let now = story::Seen::of(&lab);
        let happened: Vec<Happening> = now.since(&before, &known);
        quiet = if happened.is_empty() { quiet + 1 } else { 0 };
        if !happened.is_empty() {
            fact.insert(minute, happened);
        }
        before = now;
        minute += 1;
        tokio::time::sleep(Duration::from_secs(60)).await;
    }
    (plan, fact, story::counts(&lab))
}

fn planned(lab: &Lab, site: &Site) -> Plan {
    let objects = story::KINDS.iter().flat_map(|kind| lab.objects(kind));
    let state: Vec<Document> = objects.map(|object| Document::made("lab", object.as_ref().clone())).collect();
    let mut changes: Vec<Document> =
        site.added.iter().map(|object| Document::made("change", object.clone())).collect();
    for (kind, name, patch) in &site.patches {
        let mut object = lab.object(kind, name).unwrap().as_ref().clone();
        let whole = serde_json::json!({"apiVersion": object["apiVersion"].take(), "kind": kind,
            "metadata": {"name": name, "namespace": object["metadata"]["namespace"].take()}, "spec": patch["spec"]});
        changes.push(Document::made("change", whole));
    }
    let options = plan::Options { durations: STEPS, ..plan::Options::default() };
    let planned = plan::plan(&state, &changes, &options, lab.now()).unwrap();
    assert!(planned.problems.is_empty(), "{:?}", planned.problems);
    planned.plan
}

async fn put(lab: &Lab, objects: &[Value]) {
    let manifests = objects.iter().map(|object| Manifest { file: "site".to_owned(), object: object.clone() });
    lab.apply(&manifests.collect::<Vec<_>>()).await.unwrap();
}
