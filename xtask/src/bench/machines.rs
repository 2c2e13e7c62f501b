//! One cluster of many workers on the embedded server, in process and in virtual time.

use std::time::Duration;

use anyhow::{Result, ensure};
use capm3_engine::clock::Stopwatch;
use capm3_lab::{
    Lab, Options, Settled,
    fleet::{fleet, scaled},
    report::report,
};

use super::{
    REST,
    figures::{Deletion, Figures},
};
use crate::{
    memory, processor,
    requests::{Counts, between, embedded_by_kind},
};

/// How many machines are deleted afterwards, to count what that costs.
const GO: usize = 50;

/// How finely a deletion is watched, and how long nothing must happen for it to be over.
const TICK: Duration = Duration::from_millis(10);
const STILL: Duration = Duration::from_secs(30);

/// User agent of the provider in a lab.
const PROVIDER: &str = "capm3";

/// Runs the benchmark.
pub fn run(size: usize) -> Result<Figures> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build()?;
    runtime.block_on(measure(size))
}

/// How long until a number changes for the last time, by the clock of the lab, seen every few milliseconds.
async fn last_change(number: impl Fn() -> u64) -> Duration {
    let (mut seen, mut changed, mut now) = (number(), Duration::ZERO, Duration::ZERO);
    while now < changed + STILL {
        tokio::time::sleep(TICK).await;
        now += TICK;
        let current = number();
        if current != seen {
            (seen, changed) = (current, now);
        }
    }
    changed
}

async fn measure(size: usize) -> Result<Figures> {
    let lab = Lab::start(&Options::default()).await?;
    let (stopwatch, processor) = (Stopwatch::start(), processor::used()?);
    lab.apply(&fleet(size)).await?;
    ensure!(
        lab.settle(Duration::from_secs(24 * 3600)).await == Settled::Quiet,
        "the fleet never came to rest"
    );
    let seconds = stopwatch.elapsed().as_secs_f64();
    let processor = (processor::used()? - processor).as_secs_f64();
    let ready = report(&lab, 0).machines.iter().filter(|m| m.ready).count();
    ensure!(ready == size + 1, "only {ready} of {} machines are ready", size + 1);
    let counts = || Counts::embedded(&lab.server().requests(), PROVIDER);
    let up = counts();
    let mut by_kind = embedded_by_kind(&lab.server().requests(), PROVIDER);
    tokio::time::sleep(REST).await;
    let (at_rest, before) = (counts(), lab.server().requests());
    let gone = size.min(GO);
    lab.apply(&scaled(size, size - gone)).await?;
    let to_delete = last_change(|| counts().all()).await;
    ensure!(lab.settle(Duration::from_secs(24 * 3600)).await == Settled::Quiet, "machines never went");
    by_kind.push(format!("to delete {gone}:"));
    by_kind.extend(embedded_by_kind(&between(&before, &lab.server().requests()), PROVIDER));
    let left = report(&lab, 0).machines.len();
    ensure!(left == size + 1 - gone, "{left} machines are left of {}", size + 1 - gone);
    Ok(Figures {
        bench: "machines".to_owned(),
        size,
        clusters: None,
        seconds,
        processor: Some(processor),
        up,
        writes_at_rest: at_rest.since(up).writes,
        deletion: Some(Deletion {
            requests: counts().since(at_rest).all() as f64 / gone.max(1) as f64,
            seconds: to_delete.as_secs_f64(),
        }),
        growth: None,
        everything: None,
        by_kind,
        peak_rss_mb: memory::peak_mb("self")?,
        memory_of: "provider, server and world in one process".to_owned(),
    })
}
