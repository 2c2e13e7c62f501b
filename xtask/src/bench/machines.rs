//! One cluster of many workers on the embedded server.

use std::{fs, time::Duration};

use anyhow::{Context, Result, ensure};
use capm3_engine::clock::Stopwatch;
use capm3_lab::{Lab, Options, Settled, fleet::fleet, report::report};
use serde_json::json;

/// User agent of the provider in a lab.
const PROVIDER: &str = "capm3";
/// Virtual time in which nothing may be written at rest.
const REST: Duration = Duration::from_secs(60);

/// Budgets: writes and reads per machine, writes at rest.
const WRITES: f64 = 18.0;
const READS: f64 = 4.0;

/// Requests of the provider so far: writes without events, and reads that are neither lists at start nor watches.
#[derive(Debug, Clone, Copy, Default)]
struct Counts {
    writes: u64,
    reads: u64,
}

/// Runs the benchmark.
pub fn run(size: usize, as_json: bool) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build()?;
    runtime.block_on(measure(size, as_json))
}

async fn measure(size: usize, as_json: bool) -> Result<()> {
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
    let up = counts(&lab);
    tokio::time::sleep(REST).await;
    let at_rest = counts(&lab).writes - up.writes;
    let per = |count: u64| count as f64 / (size + 1) as f64;
    let (writes, reads) = (per(up.writes), per(up.reads));
    let peak = peak_rss_mb()?;
    if as_json {
        let line = json!({"bench": "machines", "size": size, "seconds": round(seconds), "writesPerMachine": round(writes),
            "readsPerMachine": round(reads), "writesAtRest": at_rest, "peakRssMb": peak,
            "budget": {"writesPerMachine": WRITES, "readsPerMachine": READS, "writesAtRest": 0}});
        println!("{line}");
    } else {
        println!(
            "{size} machines in {seconds:.1} s ({:.1} ms each), all in one process",
            seconds * 1000.0 / size as f64
        );
        println!("writes per machine  {writes:>6.1}   budget {WRITES}");
        println!("reads per machine   {reads:>6.1}   budget {READS}");
        println!("writes in 60 s at rest {at_rest:>3}   budget 0");
        println!("peak memory         {peak:>6} MB, server and world included");
    }
    Ok(())
}

fn counts(lab: &Lab) -> Counts {
    let mut counts = Counts::default();
    for request in
        lab.server().requests().iter().filter(|r| r.user_agent == PROVIDER && r.resource != "/events")
    {
        match request.verb.as_str() {
            "watch" | "list" => {}
            "get" => counts.reads += request.count,
            _ => counts.writes += request.count,
        }
    }
    counts
}

fn round(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}

/// Most memory that this process has had, in megabytes.
fn peak_rss_mb() -> Result<u64> {
    let status = fs::read_to_string("/proc/self/status").context("reading /proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).context("no VmHWM")?;
    let kilobytes: u64 = line.trim().trim_end_matches("kB").trim().parse()?;
    Ok(kilobytes / 1024)
}
