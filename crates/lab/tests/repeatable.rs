//! Equal seeds give equal writes in equal order.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may panic")]

mod common;

use std::sync::Arc;

use capm3_lab::{Lab, Options};
use common::*;
use parking_lot::Mutex;

/// Up, scale workers 3 -> 5 -> 2, delete; the server's log of writes.
async fn write_log(seed: u64) -> Vec<String> {
    let log = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&log);
    let options = Options {
        seed,
        workers: 4,
        observer: Some(Arc::new(move |record| {
            sink.lock().push(format!(
                "{} {} {} {}/{} {} {}",
                record.user_agent,
                record.verb,
                record.resource,
                record.namespace.as_deref().unwrap_or("-"),
                record.name,
                record.subresource.as_deref().unwrap_or("-"),
                record.body_digest
            ));
        })),
        ..Options::default()
    };
    let lab = Lab::start(&options).await.unwrap();
    lab.apply(&three_racks()).await.unwrap();
    rest(&lab).await;
    for replicas in [5, 2] {
        scale_workers(&lab, replicas).await;
        rest(&lab).await;
    }
    delete_cluster(&lab).await;
    rest(&lab).await;
    assert!(lab.objects("Metal3Machine").is_empty());
    std::mem::take(&mut *log.lock())
}

fn on_a_fresh_runtime(seed: u64) -> Vec<String> {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    runtime.block_on(write_log(seed))
}

#[test]
fn twenty_seeds_run_twice_give_the_same_writes_and_seeds_differ_in_order() {
    let mut orders = std::collections::BTreeSet::new();
    for seed in 1..=20 {
        let first = on_a_fresh_runtime(seed);
        let second = on_a_fresh_runtime(seed);
        let differs = first.iter().zip(&second).position(|(a, b)| a != b);
        assert_eq!(differs.map(|at| (&first[at], &second[at])), None, "seed {seed}");
        assert_eq!(first.len(), second.len(), "seed {seed}");
        orders.insert(first.iter().map(|line| shape(line)).collect::<Vec<_>>());
    }
    assert!(orders.len() >= 2, "every seed gave the same order");
}

/// A line of the log without generated names and contents: who did what to which kind.
fn shape(line: &str) -> String {
    line.split(' ').take(3).collect::<Vec<_>>().join(" ")
}
