//! `cargo xtask real replicas`: two managers with leader election on a real API server. The leader is killed again and again, and
//! stopped for longer than its Lease lasts, while a fleet comes up, gets a new version and goes.
//!
//! The fleet must get there each time. At no revision may a host, an index or an address have two owners or be taken from a
//! live machine, nothing may be left behind, and no process may write while another one leads.

mod audit;
pub mod history;
mod judge;
mod phase;
mod replica;
mod scenario;
mod webhooks;

use std::time::Duration;

use anyhow::Result;
use clap::Args;

use self::{phase::Size, scenario::Scenario};
use crate::{e2e::build_manager, real::Cluster};

/// Where the fleet is.
const NAMESPACE: &str = "fleet";

/// How much is tried. Bounded, so that a mistyped number cannot take the machine down.
#[derive(Debug, Clone, Args)]
pub struct Options {
    /// Worker machines; one control-plane machine comes with them
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u16).range(5..=500))]
    machines: u16,
    /// How often the leader is killed
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u8).range(0..=30))]
    kills: u8,
    /// How often the leader is stopped for a while, and then continued
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u8).range(0..=10))]
    stops: u8,
    /// Seconds for which it is stopped
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u16).range(1..=300))]
    stopped: u16,
    /// Seconds of the lease duration, the renew deadline and the retry period
    #[arg(long, num_args = 3, value_names = ["LEASE", "RENEW", "RETRY"], default_values_t = [15, 10, 2],
        value_parser = clap::value_parser!(u8).range(1..=60))]
    election: Vec<u8>,
}

impl Options {
    /// A sample with a short Lease: one kill a phase.
    pub fn sample() -> Self {
        Self { machines: 20, kills: 3, stops: 0, stopped: 60, election: vec![6, 4, 1] }
    }

    /// Lease duration, renew deadline, retry period.
    fn election(&self) -> [Duration; 3] {
        let second =
            |place: usize| Duration::from_secs(self.election.get(place).copied().unwrap_or(1).into());
        [second(0), second(1), second(2)]
    }

    fn size(&self) -> Size {
        Size(self.machines.into())
    }
}

/// Runs the scenario on a cluster that is started for it.
pub fn run(options: &Options) -> Result<()> {
    let binary = build_manager()?;
    let cluster = Cluster::start()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async { Box::pin(Scenario::run(options, binary, &cluster)).await })
}

fn say(what: &str) {
    eprintln!("replicas: {what}");
}
