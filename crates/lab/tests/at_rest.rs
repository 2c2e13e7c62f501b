//! When everything stands, nothing is written, and on the way there what lasts; a restarted provider finds
//! everything as it left it.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may panic")]

mod common;

use std::time::Duration;

use capm3_apiserver::RequestCount;
use capm3_lab::{
    Lab, Options,
    fleet::{full_fleet, scaled},
    report::report,
};
use capm3_world::Profile;
use common::*;

fn writes(lab: &Lab) -> u64 {
    let requests = lab.server().requests();
    let writes = requests.iter().filter(|r| !matches!(r.verb.as_str(), "get" | "list" | "watch"));
    writes.map(|r| r.count).sum()
}

/// Requests of the provider for a kind that were carried out, by verb, plural and subresource: a lost race for a host is none.
fn asked(requests: &[RequestCount], what: (&str, &str, &str)) -> u64 {
    let (verb, plural, subresource) = what;
    let is_it = |r: &&RequestCount| {
        let of = r.resource.rsplit('/').next().unwrap_or_default();
        r.user_agent == "capm3"
            && r.code < 300
            && (r.verb.as_str(), of, r.subresource.as_str()) == (verb, plural, subresource)
    };
    requests.iter().filter(is_it).map(|r| r.count).sum()
}

/// What a machine costs when it comes up and when it goes; `docs/performance.md` has the same table for a real server.
#[tokio::test(start_paused = true)]
async fn each_object_of_a_machine_is_written_once_or_twice_and_one_question_serves_machines_that_go_together()
{
    const MACHINES: u64 = 21;
    const GO: u64 = 10;
    let lab = settled(&full_fleet(20)).await;
    let up = lab.server().requests();
    for (verb, plural, subresource, times) in [
        ("patch", "metal3machines", "", 3),
        ("patch", "metal3machines", "status", 1),
        ("patch", "baremetalhosts", "", 2),
        ("patch", "secrets", "", 1),
        ("create", "metal3dataclaims", "", 1),
        ("patch", "metal3dataclaims", "status", 1),
        ("create", "metal3datas", "", 1),
        ("patch", "metal3datas", "status", 1),
        ("create", "secrets", "", 2),
        ("create", "ipclaims", "", 1),
        ("patch", "ipclaims", "status", 1),
        ("create", "ipaddresses", "", 1),
        ("patch", "nodes", "", 1),
        ("create", "events", "", 1),
    ] {
        let what = (verb, plural, subresource);
        assert_eq!(asked(&up, what), times * MACHINES, "{what:?}");
    }
    lab.apply(&scaled(20, 10)).await.unwrap();
    rest(&lab).await;
    let gone = lab.server().requests();
    let since = |what| asked(&gone, what) - asked(&up, what);
    for (verb, plural, times) in [
        ("patch", "metal3machines", 1),
        ("patch", "baremetalhosts", 2),
        ("patch", "secrets", 1),
        ("patch", "metal3dataclaims", 1),
        ("delete", "metal3dataclaims", 1),
        ("delete", "metal3datas", 1),
        ("patch", "metal3datas", 1),
        ("delete", "ipclaims", 1),
        ("patch", "ipclaims", 1),
        ("delete", "ipaddresses", 1),
        ("patch", "ipaddresses", 1),
        ("create", "events", 1),
    ] {
        assert_eq!(since((verb, plural, "")), times * GO, "{verb} {plural}");
    }
    let questions = since(("get", "customresourcedefinitions", ""));
    assert!((1..=3).contains(&questions), "{questions} questions whether the definition stays");
}

#[tokio::test(start_paused = true)]
async fn nothing_is_written_in_an_hour_at_rest() {
    let lab = settled(&three_racks()).await;
    let before = writes(&lab);
    tokio::time::sleep(Duration::from_secs(3600)).await;
    rest(&lab).await;
    assert_eq!(writes(&lab), before);
}

/// Each step of this world takes up to a second, so that a word for each would be a write for each.
#[tokio::test(start_paused = true)]
async fn a_machine_that_comes_up_within_seconds_says_so_once() {
    let lab =
        Lab::start(&Options { profile: Profile::Demo, speed: 10.0, ..Options::default() }).await.unwrap();
    lab.apply(&racks_without_machines()).await.unwrap();
    rest(&lab).await;
    lab.apply(&three_racks()).await.unwrap();
    rest(&lab).await;
    assert!(report(&lab, 0).machines.iter().all(|m| m.ready));
    let requests = lab.server().requests();
    let of_machines = requests.iter().filter(|r| {
        r.resource.ends_with("/metal3machines") && r.subresource == "status" && r.user_agent == "capm3"
    });
    assert_eq!(of_machines.map(|r| r.count).sum::<u64>(), 6, "one for each machine");
}

#[tokio::test(start_paused = true)]
async fn a_restarted_provider_changes_nothing() {
    let mut lab = settled(&three_racks()).await;
    let (before, table) = (writes(&lab), report(&lab, 0));
    lab.start_provider();
    rest(&lab).await;
    assert_eq!(writes(&lab), before);
    assert_eq!(report(&lab, 0), table);
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_is_cut_off_half_way_is_taken_over_by_the_next() {
    let mut lab = started(&three_racks()).await;
    for _ in 0..40 {
        // A few steps of everybody, then the provider is gone in the middle of whatever it did.
        for _ in 0..50 {
            tokio::task::yield_now().await;
        }
        lab.start_provider();
    }
    rest(&lab).await;
    let report = report(&lab, 0);
    assert_eq!(report.machines.len(), 6);
    assert_eq!(report.duplicates(), Vec::<String>::new());
    assert!(report.machines.iter().all(|m| m.ready), "{report:?}");
    let consumed = report.hosts.iter().filter(|h| h.consumer.is_some()).count();
    assert_eq!(consumed, 6, "no host is claimed beyond those in use");
}
