//! One cluster of many workers on a real API server: the manager is a process of its own, requests are counted in the
//! server's audit log.

use anyhow::Result;
use capm3_engine::clock::Stopwatch;
use capm3_lab::fleet::fleet;

use super::{REST, figures::Figures};
use crate::e2e::{Manager, Server, Stage, build_manager};

/// Runs the benchmark.
pub fn run(size: usize) -> Result<Figures> {
    let binary = build_manager()?;
    let server = Server::start_real()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let stage = Stage::on(&server).await?;
        let manager = Manager::start(&binary, &server)?;
        server.until_webhooks_are_asked().await?;
        Box::pin(measure(size, &server, &stage, &manager)).await
    })
}

async fn measure(size: usize, server: &Server, stage: &Stage, manager: &Manager) -> Result<Figures> {
    let stopwatch = Stopwatch::start();
    stage.apply(&fleet(size)).await?;
    stage.until_ready(1, i64::try_from(size)?).await?;
    let seconds = stopwatch.elapsed().as_secs_f64();
    stage.until_still().await?;
    let up = server.manager_requests()?;
    let by_kind = server.manager_requests_by_kind()?;
    let writes_at_rest = server.manager_writes_during(REST).await?;
    Ok(Figures {
        bench: "real".to_owned(),
        size,
        seconds,
        processor: None,
        up,
        writes_at_rest,
        deletion: None,
        growth: None,
        by_kind,
        peak_rss_mb: manager.peak_rss_mb()?,
        memory_of: "the manager alone".to_owned(),
    })
}
