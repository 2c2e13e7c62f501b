//! `capm3 manager`: the controllers against a real cluster.

mod cluster;
mod election;
mod flags;
mod probes;
mod webhook;

use std::{net::SocketAddr, num::NonZeroUsize, path::PathBuf, sync::Arc, time::Duration};

use capm3_engine::{
    Clock, WriteGate,
    client::ServiceAccount,
    informer::KindHealth,
    lease::{Elector, LeadershipLost},
};
use capm3_provider::{Options, Provider, workload::ConnectOverNetwork};
use clap::{Args, ValueEnum};
use tracing::{info, warn};

use crate::{
    exit::Failure,
    numbers,
    stop::{StopSignal, stop_signal},
};
use election::ElectionArgs;
use probes::Probes;
use webhook::{WebhookArgs, Webhooks};

/// Name under which the server counts the manager's requests.
const USER_AGENT: &str = "cluster-api-provider-metal3-manager";

/// How long a stop waits for writes in flight, and then for the Lease to be given back. Both, and an event, fit into the ten
/// seconds that the Deployment leaves.
const PATIENCE: Duration = Duration::from_secs(3);

/// How long requests to the webhooks may take to end after that.
const WEBHOOK_PATIENCE: Duration = Duration::from_secs(1);

/// Run the controllers and webhooks against a cluster.
#[derive(Debug, Args)]
#[command(after_help = "The cluster needs the CRDs of capm3, of Cluster API and of the host operator. \
    SIGTERM and Ctrl-C stop the manager: writes in flight end, the Lease is released, the exit code is 0. \
    A manager that loses its Lease ends with code 1. It can be started again at any time. Webhooks need a certificate; \
    --webhook-port=0 serves none.")]
pub struct ManagerArgs {
    /// Kubeconfig of the management cluster; without it, that of KUBECONFIG, or the service account of the pod
    #[arg(long, value_name = "PATH")]
    kubeconfig: Option<PathBuf>,

    /// Context of the kubeconfig; without it, the current one
    #[arg(long, value_name = "NAME")]
    context: Option<String>,

    /// Serve IPPools with the built-in address manager; do not set it where another one runs
    #[arg(long)]
    enable_ipam: bool,

    /// Name IPClaims <host>-<pool> instead of <data>-<pool>, so that preAllocations of a pool can pin an address to a host
    #[arg(long)]
    enable_bmh_name_based_preallocation: bool,

    /// Release an orphaned host automatically after this time, such as 24h: its disk is deprovisioned. If not set, only `capm3 release` releases such hosts
    ///
    /// Takes a number with a unit: s, m or h. The machine must be proven to be gone: its kind is served, the API server
    /// says NotFound for the machine, a fresh list lacks it, and the watch was healthy for a minute.
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    release_orphaned_hosts_after: Option<Duration>,

    #[command(flatten)]
    election: ElectionArgs,

    #[command(flatten)]
    webhooks: WebhookArgs,

    /// Workers per controller
    #[arg(long, default_value = "10", value_name = "N", value_parser = numbers::positive::<NonZeroUsize>)]
    workers: NonZeroUsize,

    /// Address of /healthz and /readyz
    #[arg(long, default_value = "127.0.0.1:9440", value_name = "ADDR")]
    health_addr: SocketAddr,

    /// Format of the logs on stderr
    #[arg(long, value_enum, default_value_t = LogFormat::Text)]
    logging_format: LogFormat,
}

/// A duration as `90s`, `15m` or `24h`.
pub fn duration(text: &str) -> Result<Duration, String> {
    let wrong = || format!("'{text}' is not a duration; use a number with s, m or h, such as 24h");
    let unit = match text.chars().last() {
        Some('s') => 1,
        Some('m') => 60,
        Some('h') => 3600,
        _ => return Err(wrong()),
    };
    let number: u64 = text.get(..text.len() - 1).and_then(|number| number.parse().ok()).ok_or_else(wrong)?;
    number.checked_mul(unit).map(Duration::from_secs).ok_or_else(wrong)
}

/// Form of the logs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// One line per entry
    Text,
    /// One JSON document per line
    Json,
}

impl ManagerArgs {
    /// Form of the logs.
    pub fn logging_format(&self) -> LogFormat {
        self.logging_format
    }
}

/// Runs until a signal stops it or another process leads.
pub fn run(args: &ManagerArgs) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|e| Failure::CouldNotRun(format!("cannot start the runtime: {e}")))?;
    let result = runtime.block_on(manage(args));
    // Whatever is still under way is not waited for: every write is guarded, and a crash between two writes is normal.
    runtime.shutdown_background();
    result
}

/// Why the manager ends.
enum Ended {
    Stopped(StopSignal),
    Lost(LeadershipLost),
}

async fn manage(args: &ManagerArgs) -> Result<(), Failure> {
    let candidate = args.election.candidate(&ServiceAccount::default())?;
    let client = cluster::connect(args.kubeconfig.as_deref(), args.context.as_deref(), USER_AGENT).await?;
    // Before the caches: lists in the older version are converted here.
    let clock = Clock::system();
    let webhooks = webhook::start(&args.webhooks, &client, clock).await?;
    let listener = tokio::net::TcpListener::bind(args.health_addr).await;
    let listener = listener.map_err(|e| {
        Failure::CouldNotRun(format!("--health-addr {}: {e}; choose another port", args.health_addr))
    })?;
    let stop = stop_signal().map_err(|e| Failure::CouldNotRun(format!("cannot wait for signals: {e}")))?;
    let gate = if candidate.is_some() { WriteGate::for_leader() } else { WriteGate::always_open() };
    let mut elector = match candidate {
        Some(candidate) => Some(election::elector(client.clone(), clock, candidate, gate.clone())?),
        None => None,
    };
    let connect = Arc::new(ConnectOverNetwork::new(USER_AGENT));
    let provider = Arc::new(Provider::start(client, connect, clock, &options(args, gate.clone())));
    let health = listener.local_addr().unwrap_or(args.health_addr);
    info!(%health, ipam = args.enable_ipam, leader_elect = elector.is_some(), "manager started");
    let probes = probes(Arc::clone(&provider), webhooks.as_ref());
    let ended = tokio::select! {
        biased;
        signal = stop => Ended::Stopped(signal),
        lost = lead(elector.as_mut()) => Ended::Lost(lost),
        () = probes::serve(listener, probes) => return Ok(()),
    };
    let result = end(ended, elector, &gate).await;
    if let Some(webhooks) = webhooks {
        webhooks.stop(WEBHOOK_PATIENCE).await;
    }
    result
}

/// What the probes ask. Without certificate the process is alive, but nobody should send it reviews.
fn probes(provider: Arc<Provider>, webhooks: Option<&Webhooks>) -> Probes {
    let Some(webhooks) = webhooks else {
        return Probes { unhealthy: Arc::new(|| None), unready: Arc::new(move || unready(&provider)) };
    };
    let (problem, is_ended) = (webhooks.problem(), webhooks.is_ended());
    Probes {
        unhealthy: Arc::new(move || is_ended().map(str::to_owned)),
        unready: Arc::new(move || {
            let lines: Vec<String> =
                problem().map(str::to_owned).into_iter().chain(unready(&provider)).collect();
            (!lines.is_empty()).then(|| lines.join("\n"))
        }),
    }
}

fn options(args: &ManagerArgs, gate: WriteGate) -> Options {
    Options {
        workers: args.workers.get(),
        serve_addresses: args.enable_ipam,
        name_claims_by_host: args.enable_bmh_name_based_preallocation,
        fast_track: std::env::var("CAPM3_FAST_TRACK").is_ok_and(|value| value == "true"),
        release_orphaned_hosts_after: args.release_orphaned_hosts_after,
        gate,
    }
}

/// Leads until that ends; for ever without an election.
async fn lead(elector: Option<&mut Elector>) -> LeadershipLost {
    let Some(elector) = elector else { return std::future::pending().await };
    elector.acquire().await;
    elector.keep().await
}

/// Lets no new write begin, waits for those in flight, and gives the Lease back.
async fn end(ended: Ended, elector: Option<Elector>, gate: &WriteGate) -> Result<(), Failure> {
    match (ended, elector) {
        (Ended::Stopped(signal), Some(mut elector)) => {
            info!(%signal, "manager stops");
            elector.release(PATIENCE).await;
            Ok(())
        }
        (Ended::Stopped(signal), None) => {
            info!(%signal, "manager stops");
            if !gate.finish(PATIENCE).await {
                warn!(writes = gate.in_flight(), "writes are still in flight");
            }
            Ok(())
        }
        (Ended::Lost(lost), _) => {
            gate.finish(PATIENCE).await;
            let ways = "this manager exits and writes nothing more; restart it to compete for the Lease";
            Err(Failure::LeadershipLost(format!("leadership is lost: {lost}; {ways}")))
        }
    }
}

/// Why the provider is not ready: every kind that it needs and cannot rely on, one per line.
fn unready(provider: &Provider) -> Option<String> {
    let lines: Vec<String> = provider.caches().health().filter_map(KindHealth::unready).collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_has_a_unit() {
        for (text, seconds) in [("5s", Some(5)), ("15m", Some(900)), ("24h", Some(86_400)), ("0s", Some(0))] {
            assert_eq!(duration(text).ok().map(|duration| duration.as_secs()), seconds, "{text}");
        }
        for text in ["", "5", "h", "-5s", "1.5h", "5d", "99999999999999999999h", "5\u{e4}"] {
            assert!(duration(text).is_err(), "{text}");
        }
    }
}
