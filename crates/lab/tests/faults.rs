//! What the provider does when calls fail, replies get lost, and another provider works beside it.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may panic")]

mod common;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use capm3_lab::{
    Lab, Options, Settled,
    faults::{Call, Fault, Faults, NoFaults, RandomFaults, Refusal},
    fleet::fleet,
    invariants::{leaks, mix_ups},
    report::report,
};
use common::*;

/// Hosts and machines: one control-plane machine and as many workers as make this number.
const MACHINES: usize = 200;

/// Two providers without an election between them, and as many machines as hosts, all wanted at once.
async fn two_replicas(faults: Arc<dyn Faults>) -> Lab {
    let options = Options { faults, remembered: Some(usize::MAX), ..Options::default() };
    let mut lab = Lab::start(&options).await.unwrap();
    lab.add_provider();
    lab.apply(&fleet(MACHINES - 1)).await.unwrap();
    assert_eq!(lab.settle(Duration::from_secs(6 * 3600)).await, Settled::Quiet, "never came to rest");
    lab
}

/// Every machine has one host and every host one machine, now and at every revision before.
fn assert_one_to_one(lab: &Lab) {
    assert_eq!(mix_ups(lab.server()), Vec::<String>::new());
    let report = report(lab, 0);
    assert_eq!(report.duplicates(), Vec::<String>::new());
    let unready: Vec<&str> = report.machines.iter().filter(|m| !m.ready).map(|m| m.name.as_str()).collect();
    assert_eq!(unready, Vec::<&str>::new(), "not ready");
    let consumers: BTreeMap<&str, &str> =
        report.hosts.iter().filter_map(|h| Some((h.consumer.as_deref()?, h.name.as_str()))).collect();
    assert_eq!(consumers.len(), MACHINES, "every host has a machine of its own");
    for machine in &report.machines {
        assert_eq!(machine.host.as_deref(), consumers.get(machine.name.as_str()).copied());
    }
    assert_eq!(leaks(&lab.server().objects(None), &BTreeSet::new()), Vec::<String>::new());
}

/// Hosts are claimed by compare and swap on the host itself, so replicas need no election to be safe.
#[tokio::test(start_paused = true)]
async fn two_replicas_give_two_hundred_machines_one_host_each() {
    let lab = two_replicas(Arc::new(NoFaults)).await;
    assert_one_to_one(&lab);
}

/// The same while every tenth call fails, its reply gets lost, or a watch breaks.
#[tokio::test(start_paused = true)]
async fn two_replicas_in_a_storm_give_two_hundred_machines_one_host_each() {
    let storm = Arc::new(RandomFaults::new(7, 10));
    let lab = two_replicas(Arc::clone(&storm) as Arc<dyn Faults>).await;
    assert!(storm.hits() > 500, "only {} calls went wrong", storm.hits());
    storm.over();
    rest(&lab).await;
    assert_one_to_one(&lab);
    let before = writes(&lab);
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(writes(&lab), before, "nothing is written once the storm is over");
}

fn writes(lab: &Lab) -> u64 {
    let requests = lab.server().requests();
    let writes = requests.iter().filter(|r| !matches!(r.verb.as_str(), "get" | "list" | "watch"));
    writes.map(|r| r.count).sum()
}

/// A watch that falls behind what the server remembers ends with 410. The caches list again by themselves, and every
/// machine comes up.
#[tokio::test(start_paused = true)]
async fn caches_list_again_when_the_server_has_forgotten_what_they_missed() {
    let lab = Lab::start(&Options { remembered: Some(1), ..Options::default() }).await.unwrap();
    lab.apply(&fleet(10)).await.unwrap();
    rest(&lab).await;
    let requests = lab.server().requests();
    let lists = |resource: &str| -> u64 {
        let of_provider = requests.iter().filter(|r| r.user_agent == "capm3" && r.verb == "list");
        of_provider.filter(|r| r.resource == resource).map(|r| r.count).sum()
    };
    assert!(lists("metal3.io/baremetalhosts") > 1, "nothing was forgotten: {requests:?}");
    assert_eq!(report(&lab, 0).machines.iter().filter(|machine| machine.ready).count(), 11);
}

/// No watch of hosts can be opened until that is over.
#[derive(Default)]
struct Blind {
    over: AtomicBool,
}

impl Faults for Blind {
    fn apply_fault(&self, call: &Call) -> Fault {
        let is_hit = call.is_watch() && call.path.contains("baremetalhosts");
        match is_hit && !self.over.load(Ordering::Relaxed) {
            true => Fault::Refused(Refusal::Unavailable),
            false => Fault::None,
        }
    }
}

/// A provider that waits to open a watch again does not know what there is to do: that is no rest.
#[tokio::test(start_paused = true)]
async fn a_lab_whose_watches_are_broken_is_not_at_rest() {
    let blind = Arc::new(Blind::default());
    let options = Options { faults: Arc::clone(&blind) as Arc<dyn Faults>, ..Options::default() };
    let lab = Lab::start(&options).await.unwrap();
    assert_eq!(lab.settle(Duration::from_secs(600)).await, Settled::Busy);
    blind.over.store(true, Ordering::Relaxed);
    lab.apply(&fleet(10)).await.unwrap();
    rest(&lab).await;
    assert_eq!(report(&lab, 0).machines.iter().filter(|machine| machine.ready).count(), 11);
}
