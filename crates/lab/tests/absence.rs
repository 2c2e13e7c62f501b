//! What becomes of a cluster at rest while the server seems to lack objects of one kind for an hour. The whole set is
//! `cargo xtask sweep --fault absence`.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may panic")]

mod common;

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use capm3_engine::{Caches, ResourceKind};
use capm3_lab::{
    Lab, Options,
    faults::{Absence, AnswerFault, Faults},
    invariants::{losses, mix_ups},
    report::report,
};
use common::*;

/// Every kind that the provider reads, as the sweep has them.
fn kinds() -> Vec<ResourceKind> {
    let mut caches = Caches::default();
    capm3_provider::kinds::register(&mut caches);
    caches.kinds()
}

/// An hour of a fault in a cluster at rest, and what is wrong afterwards.
async fn an_hour_of(fault: AnswerFault, kind: &str) -> Vec<String> {
    let kind = kinds().into_iter().find(|it| it.kind == kind).unwrap();
    let absence = Arc::new(Absence::new(kind, fault, None));
    let faults = Arc::clone(&absence) as Arc<dyn Faults>;
    let options = Options { faults, remembered: Some(usize::MAX), ..Options::default() };
    let lab = Lab::start(&options).await.unwrap();
    lab.apply(&three_racks()).await.unwrap();
    rest(&lab).await;
    absence.begin();
    tokio::time::sleep(Duration::from_secs(3600)).await;
    absence.over();
    tokio::time::sleep(Duration::from_secs(120)).await;
    rest(&lab).await;
    let machines = report(&lab, 0).machines;
    assert_eq!(machines.len(), 6);
    let unready = machines.into_iter().filter(|machine| !machine.ready);
    let unready = unready.map(|machine| format!("{} is not ready", machine.name));
    mix_ups(lab.server()).into_iter().chain(losses(lab.server())).chain(unready).collect()
}

/// A provider that knew its machines and hosts before goes on knowing them.
#[tokio::test(start_paused = true)]
async fn a_cluster_at_rest_survives_an_hour_of_each_fault() {
    for fault in AnswerFault::ALL {
        for kind in ["Metal3Machine", "BareMetalHost"] {
            assert_eq!(an_hour_of(fault, kind).await, Vec::<String>::new(), "{fault} of {kind}");
        }
    }
}

/// The sweep must not leave a kind out that the provider comes to read.
#[tokio::test(start_paused = true)]
async fn the_sweep_knows_every_kind_that_the_provider_lists() {
    let lab = Lab::start(&Options::default()).await.unwrap();
    rest(&lab).await;
    let requests = lab.server().requests();
    let of_provider = requests.iter().filter(|r| r.user_agent == "capm3" && r.verb == "list");
    let listed: BTreeSet<String> = of_provider.map(|r| r.resource.clone()).collect();
    let name = |kind: &ResourceKind| format!("{}/{}", kind.group, kind.plural);
    assert_eq!(listed, capm3_lab::sweep::points().iter().map(|point| name(&point.kind)).collect());
}
