//! The webhooks of a manager under load: reviews arrive at a fixed rate, whether or not earlier ones are answered.
//!
//! The manager is a process of its own and has the embedded server as its cluster; nothing leaves loopback.

mod figures;
mod load;
mod questions;

use std::{net::TcpListener, time::Duration};

use anyhow::{Context, Result};
use capm3_engine::client::over_network;
use clap::Args;

use self::{figures::Figures, load::Load, questions::Questions};
use crate::{
    e2e::build_manager,
    embedded::Embedded,
    manager_process::ManagerProcess,
    real::{pki::Authority, wait::Stopwatch},
    webhook_client::{Client, Protocol},
};

/// How long the manager may take to serve its webhooks.
const START_LIMIT: Duration = Duration::from_secs(60);

/// How much is asked. Bounded, so that a mistyped number cannot take the machine down.
#[derive(Debug, Clone, Args)]
pub struct Options {
    /// Admission reviews a second
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    rate: u32,
    /// Seconds
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=600))]
    seconds: u32,
    /// Connections, half of them HTTP/2
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=128))]
    connections: u32,
    /// Conversion reviews of 50 objects a second, besides
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(0..=100))]
    conversions: u32,
    /// Print one JSON line with every figure and its budget
    #[arg(long)]
    json: bool,
}

impl Options {
    /// Little enough for a debug build on a busy machine: whether every answer comes and is right.
    pub fn sample() -> Self {
        Self { rate: 200, seconds: 5, connections: 50, conversions: 2, json: false }
    }
}

/// Measures and prints; fails if an answer is missing or wrong, or a figure is over its budget.
pub fn run(options: &Options) -> Result<()> {
    let binary = build_manager()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let figures = runtime.block_on(measure(options, &binary))?;
    println!("{}", if options.json { figures.json() } else { figures.text() });
    figures.judge()
}

async fn measure(options: &Options, binary: &std::path::Path) -> Result<Figures> {
    let questions = Questions::new()?;
    let server = Embedded::start()?;
    let kubeconfig = std::fs::read_to_string(server.kubeconfig())?;
    let client = over_network(&kubeconfig, None, "capm3-bench").await?;
    capm3_lab::apply(&client, &capm3_lab::crds()).await?;
    let authority = Authority::create()?;
    let pair = authority.server()?;
    std::fs::write(server.folder().join("tls.crt"), pair.certificate)?;
    std::fs::write(server.folder().join("tls.key"), pair.key)?;
    let authority = authority.certificate();
    let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
    let flags = [
        format!("--kubeconfig={}", server.kubeconfig().display()),
        format!("--webhook-cert-dir={}", server.folder().display()),
        format!("--webhook-port={port}"),
    ];
    let log = server.folder().join("manager.log");
    let mut manager = ManagerProcess::start(binary, &flags, &log)?;
    let played = async {
        until_served(&mut manager, port, &authority).await?;
        let (at_rest_mb, _) = manager.memory_mb()?;
        let load = Load { rate: options.rate, conversions: options.conversions, seconds: options.seconds };
        let mut clients = Vec::new();
        for number in 0..options.connections {
            let protocol = if number % 2 == 0 { Protocol::Http2 } else { Protocol::Http1 };
            clients.push(Client::connect(port, &authority, protocol).await?);
        }
        let answers = load.run(questions, clients).await?;
        let (_, peak_mb) = manager.memory_mb()?;
        anyhow::Ok(Figures::new(options, &answers, at_rest_mb, peak_mb))
    };
    played.await.with_context(|| std::fs::read_to_string(&log).unwrap_or_default())
}

async fn until_served(manager: &mut ManagerProcess, port: u16, authority: &str) -> Result<()> {
    let watch = Stopwatch::start();
    loop {
        match Client::connect(port, authority, Protocol::Http2).await {
            Ok(_) => return Ok(()),
            Err(error) if watch.elapsed() > START_LIMIT || manager.ended()?.is_some() => {
                return Err(error).context("the manager does not serve its webhooks");
            }
            Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
        }
    }
}
