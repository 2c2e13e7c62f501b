//! One cluster of many workers on the embedded server, in process and in virtual time.

use std::time::Duration;

use anyhow::{Result, ensure};
use capm3_engine::clock::Stopwatch;
use capm3_lab::{Lab, Options, Settled, fleet::fleet, report::report};

use super::{REST, figures::Figures};
use crate::{memory, requests::Counts};

/// User agent of the provider in a lab.
const PROVIDER: &str = "capm3";

/// Runs the benchmark.
pub fn run(size: usize) -> Result<Figures> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build()?;
    runtime.block_on(measure(size))
}

async fn measure(size: usize) -> Result<Figures> {
    let lab = Lab::start(&Options::default()).await?;
    let stopwatch = Stopwatch::start();
    lab.apply(&fleet(size)).await?;
    ensure!(
        lab.settle(Duration::from_secs(24 * 3600)).await == Settled::Quiet,
        "the fleet never came to rest"
    );
    let seconds = stopwatch.elapsed().as_secs_f64();
    let ready = report(&lab, 0).machines.iter().filter(|m| m.ready).count();
    ensure!(ready == size + 1, "only {ready} of {} machines are ready", size + 1);
    let counts = || Counts::embedded(&lab.server().requests(), PROVIDER);
    let up = counts();
    tokio::time::sleep(REST).await;
    Ok(Figures {
        bench: "machines",
        size,
        seconds,
        up,
        writes_at_rest: counts().writes - up.writes,
        peak_rss_mb: memory::peak_mb("self")?,
        memory_of: "provider, server and world in one process",
    })
}
