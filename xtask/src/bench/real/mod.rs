//! One cluster of many workers on a real API server: the manager is a process of its own, requests are counted in the
//! server's audit log.
//!
//! A round of ours is followed by one of [`raw`], which sends only the writes that must happen, each on a server of its own
//! with the webhooks of a manager. Seconds of both are compared, so what else the computer does matters less.

mod clusters;
mod raw;

use std::collections::BTreeMap;

use anyhow::Result;
use capm3_engine::clock::Stopwatch;
use capm3_lab::{
    fleet::{full_fleet, scaled},
    manifests::Manifest,
};

use super::{
    REST,
    figures::{Everything, Figures, Limit},
};
use crate::{
    e2e::{Manager, Server, Stage, build_manager},
    requests,
};

/// How many machines are deleted afterwards, to count what that costs.
const GO: usize = 50;

/// Runs the benchmark; each round of ours is followed by one of the raw writer.
pub fn run(size: usize, rounds: usize) -> Result<Figures> {
    let binary = build_manager()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let (mut figures, mut limit) = (Vec::new(), Limit::default());
        for round in 0..rounds.max(1) {
            let ours = Box::pin(ours(size, &binary, round == 0)).await?;
            limit.ours += ours.seconds;
            eprintln!("round {}: {size} machines in {:.1} s", round + 1, ours.seconds);
            figures.push(ours);
            if rounds > 0 {
                let seconds = Box::pin(raw::measure(size, &binary)).await?;
                limit.raw += seconds;
                eprintln!("round {}: the raw writer takes {seconds:.1} s", round + 1);
            }
        }
        let mut figures = figures.swap_remove(0);
        if let Some(everything) = &mut figures.everything {
            everything.limit = (rounds > 0).then_some(limit);
        }
        Ok(figures)
    })
}

/// Runs it for clusters of one machine.
pub fn clusters(count: usize) -> Result<Figures> {
    let binary = build_manager()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(Box::pin(clusters::measure(count, &binary)))
}

async fn ours(size: usize, binary: &std::path::Path, is_first: bool) -> Result<Figures> {
    let server = Server::start_real()?;
    let stage = Stage::on(&server).await?;
    let manager = Manager::start(binary, &server)?;
    server.until_webhooks_are_asked().await?;
    Box::pin(measure(size, &server, &stage, &manager, is_first)).await
}

/// Requests so far: those with budgets of their own, and everything.
fn count(server: &Server) -> Result<BTreeMap<String, u64>> {
    server.everything_of_manager()
}

fn all(requests: &BTreeMap<String, u64>) -> u64 {
    requests.values().sum()
}

fn table_with_title(what: &str, requests: &BTreeMap<String, u64>) -> Vec<String> {
    let rows = requests::table(requests.iter().map(|(what, count)| (what.clone(), *count)));
    [what.to_owned()].into_iter().chain(rows).collect()
}

/// Seconds until as many machines are ready.
async fn seconds_until(stage: &Stage, manifests: &[Manifest], workers: usize) -> Result<f64> {
    let stopwatch = Stopwatch::start();
    stage.apply(manifests).await?;
    stage.until_ready(1, i64::try_from(workers)?).await?;
    Ok(stopwatch.elapsed().as_secs_f64())
}

async fn measure(
    size: usize,
    server: &Server,
    stage: &Stage,
    manager: &Manager,
    is_first: bool,
) -> Result<Figures> {
    let started = count(server)?;
    let seconds = seconds_until(stage, &full_fleet(size), size).await?;
    stage.until_still().await?;
    let (up, counted) = (server.manager_requests()?, count(server)?);
    let coming = requests::since(&started, &counted);
    let mut by_kind = table_with_title("to come up:", &coming);
    let mut everything = Everything {
        per_machine: all(&coming) as f64 / (size + 1) as f64,
        to_delete_one: None,
        processor: manager.processor_seconds()?,
        limit: None,
    };
    let mut writes_at_rest = 0;
    if is_first {
        writes_at_rest = server.manager_writes_during(REST).await?;
        let gone = size.min(GO);
        let rested = count(server)?;
        seconds_until(stage, &scaled(size, size - gone), size - gone).await?;
        stage.until_still().await?;
        let going = requests::since(&rested, &count(server)?);
        by_kind.extend(table_with_title(&format!("to delete {gone}:"), &going));
        everything.to_delete_one = Some(all(&going) as f64 / gone.max(1) as f64);
    }
    Ok(Figures {
        bench: "real".to_owned(),
        size,
        clusters: None,
        seconds,
        processor: None,
        up,
        writes_at_rest,
        deletion: None,
        growth: None,
        everything: Some(everything),
        by_kind,
        peak_rss_mb: manager.peak_rss_mb()?,
        memory_of: "the manager alone".to_owned(),
    })
}
