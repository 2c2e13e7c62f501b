//! `capm3 manager`: the controllers against a real cluster.

mod client_flags;
mod cluster;
mod controller_flags;
mod diagnostics;
mod election;
mod flags;
mod log_flags;
mod migration_flags;
mod probes;
mod server_version;
mod webhook;

use std::{path::PathBuf, sync::Arc, time::Duration};

use capm3_engine::{
    Clock, WriteGate,
    client::ServiceAccount,
    lease::{Elector, LeadershipLost},
    metrics::{CertificateSource, LeadershipSource, Metrics, ProcessSource},
};
use capm3_provider::{ADVICE, Options, Provider, workload::ConnectOverNetwork};
use clap::{ArgAction, Args};
use tracing::{info, warn};

use crate::{
    exit::Failure,
    logs::Level,
    stop::{StopSignal, stop_signal},
};
use client_flags::ClientArgs;
use controller_flags::ControllerArgs;
use diagnostics::DiagnosticsArgs;
use election::ElectionArgs;
pub use flags::duration;
use flags::{ListenAddress, WithoutEffect};
use log_flags::LogArgs;
pub use log_flags::LogFormat;
use migration_flags::MigrationArgs;
use probes::Probes;
use webhook::{WebhookArgs, Webhooks};

/// Name under which the server counts the manager's requests.
const USER_AGENT: &str = "cluster-api-provider-metal3-manager";

/// How long a stop waits for writes in flight, and then for the Lease to be given back. Both, and an event, fit into the ten
/// seconds that the Deployment leaves.
const STOP_TIMEOUT: Duration = Duration::from_secs(3);

/// How long requests to the webhooks may take to end after that.
const WEBHOOK_STOP_TIMEOUT: Duration = Duration::from_secs(1);

/// Run the controllers and webhooks against a cluster.
#[derive(Debug, Args)]
#[command(
    args_override_self = true,
    after_help = "The cluster needs the CRDs of capm3, of Cluster API and of the host operator. \
    SIGTERM and Ctrl-C stop the manager: it finishes writes in flight, releases the Lease and exits with code 0. \
    A manager that loses its Lease exits with code 1. It is safe to restart it at any time. Webhooks need a certificate; \
    --webhook-port=0 disables them."
)]
pub struct ManagerArgs {
    /// Kubeconfig of the management cluster; without it, that of KUBECONFIG, or the service account of the pod
    #[arg(long, value_name = "PATH")]
    kubeconfig: Option<PathBuf>,

    /// Context of the kubeconfig; without it, the current one
    #[arg(long, value_name = "NAME")]
    context: Option<String>,

    /// Serve IPPools with the built-in address manager; do not set it where another one runs
    #[arg(long, action = ArgAction::Set, num_args = 0..=1, require_equals = true, default_value = "false",
        default_missing_value = "true", value_parser = flags::boolean, value_name = "BOOL")]
    enable_ipam: bool,

    /// Name IPClaims <host>-<pool> instead of <data>-<pool>, so that preAllocations of a pool can pin an address to a host
    #[arg(long, alias = "enableBMHNameBasedPreallocation", action = ArgAction::Set, num_args = 0..=1, require_equals = true,
        default_value = "false", default_missing_value = "true", value_parser = flags::boolean, value_name = "BOOL")]
    enable_bmh_name_based_preallocation: bool,

    /// Release an orphaned host automatically after this time, such as 24h. The host is deprovisioned, and the data on its disk is lost. If not set, only `capm3 release` releases such hosts
    ///
    /// The machine must be proven to be gone: its kind is served, the API server says NotFound for the machine, a fresh list
    /// lacks it, and the watch was healthy for a minute.
    #[arg(long, value_name = "DURATION", value_parser = flags::duration)]
    release_orphaned_hosts_after: Option<Duration>,

    /// Address of /healthz and /readyz; without a host, every interface
    #[arg(long, default_value = ":9440", value_name = "ADDR", value_parser = flags::listen_address)]
    health_addr: ListenAddress,

    #[command(flatten, next_help_heading = "Leader election")]
    election: ElectionArgs,

    #[command(flatten)]
    webhooks: WebhookArgs,

    #[command(flatten)]
    controllers: ControllerArgs,

    #[command(flatten)]
    client: ClientArgs,

    #[command(flatten)]
    logs: LogArgs,

    #[command(flatten)]
    diagnostics: DiagnosticsArgs,

    #[command(flatten)]
    migration: MigrationArgs,
}

impl ManagerArgs {
    /// Form of the logs.
    pub fn logging_format(&self) -> LogFormat {
        self.logs.format()
    }

    /// What is logged.
    pub fn log_level(&self) -> &'static str {
        self.logs.level()
    }

    /// Flags of the Go manager that were set and do nothing here.
    fn without_effect(&self) -> Vec<WithoutEffect> {
        let mut all = self.controllers.without_effect();
        all.extend(self.logs.without_effect());
        all
    }
}

/// Runs until a signal stops it or another process leads.
pub fn run(args: &ManagerArgs, level: Level) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|e| Failure::CouldNotRun(format!("cannot start the runtime: {e}")))?;
    let result = runtime.block_on(manage(args, level));
    // Whatever is still under way is not waited for: every write is guarded, and a crash between two writes is normal.
    runtime.shutdown_background();
    result
}

/// Why the manager ends.
enum Ended {
    Stopped(StopSignal),
    Lost(LeadershipLost),
}

async fn manage(args: &ManagerArgs, level: Level) -> Result<(), Failure> {
    for WithoutEffect { flag, why } in args.without_effect() {
        warn!("{flag} has no effect: {why}");
    }
    let candidate = args.election.candidate(&ServiceAccount::default())?;
    let client = cluster::connect(args.kubeconfig.as_deref(), args.context.as_deref(), USER_AGENT).await?;
    let metrics = Metrics::default();
    let tls = args.webhooks.tls()?;
    let diagnostics = diagnostics::start(&args.diagnostics, &tls, &client, metrics.clone(), level).await?;
    // Before the caches: lists in the older version are converted here.
    let clock = Clock::system();
    let webhooks = webhook::start(&args.webhooks, &client, clock).await?;
    let listener = args.health_addr.bind().await.map_err(|e| {
        Failure::CouldNotRun(format!("--health-addr {}: {e}; choose another port", args.health_addr))
    })?;
    let stop = stop_signal().map_err(|e| Failure::CouldNotRun(format!("cannot wait for signals: {e}")))?;
    let gate = if candidate.is_some() { WriteGate::for_leader() } else { WriteGate::always_open() };
    if let Some(candidate) = &candidate {
        metrics.add(LeadershipSource { lease: candidate.lease.name.clone(), gate: gate.clone() });
    }
    let mut elector = match candidate {
        // Its requests are never held back: a late renewal costs the Lease.
        Some(candidate) => Some(election::elector(client.clone(), clock, candidate, gate.clone())?),
        None => None,
    };
    let unsupported = server_version::unsupported(client.clone());
    let client = client.at_rate(args.client.management());
    let (rate, burst) = args.client.workload();
    let connect = Arc::new(ConnectOverNetwork::new(USER_AGENT).at_rate(rate, burst));
    let provider = Arc::new(Provider::start(client, connect, clock, &options(args, gate.clone())));
    provider.add_to(&metrics);
    let served = webhooks.as_ref().map(Webhooks::served).unwrap_or_default();
    metrics.add(CertificateSource { name: "webhook", end: move || served.not_after() });
    metrics.add(ProcessSource { version: env!("CARGO_PKG_VERSION") });
    let health = listener.local_addr().map_or_else(|_| args.health_addr.to_string(), |at| at.to_string());
    info!(health, ipam = args.enable_ipam, leader_elect = elector.is_some(), "manager started");
    let probes = probes(Arc::clone(&provider), webhooks.as_ref());
    let ended = tokio::select! {
        biased;
        signal = stop => Ended::Stopped(signal),
        lost = lead(elector.as_mut()) => Ended::Lost(lost),
        failure = unsupported => return Err(failure),
        () = probes::serve(listener, probes) => return Ok(()),
    };
    let result = end(ended, elector, &gate).await;
    drop(diagnostics);
    if let Some(webhooks) = webhooks {
        webhooks.stop(WEBHOOK_STOP_TIMEOUT).await;
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
        workers: args.controllers.workers(),
        workers_of: args.controllers.workers_of(),
        namespace: args.controllers.namespace().to_owned(),
        watch_filter: args.controllers.watch_filter(),
        serve_addresses: args.enable_ipam,
        name_claims_by_host: args.enable_bmh_name_based_preallocation,
        fast_track: std::env::var("CAPM3_FAST_TRACK").is_ok_and(|value| value == "true"),
        release_orphaned_hosts_after: args.release_orphaned_hosts_after,
        crd_migration: args.migration.crd_migration(),
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
            elector.release(STOP_TIMEOUT).await;
            Ok(())
        }
        (Ended::Stopped(signal), None) => {
            info!(%signal, "manager stops");
            if !gate.finish(STOP_TIMEOUT).await {
                warn!(writes = gate.in_flight(), "writes are still in flight");
            }
            Ok(())
        }
        (Ended::Lost(lost), _) => {
            gate.finish(STOP_TIMEOUT).await;
            let ways = "this manager exits and writes nothing more; restart it to compete for the Lease";
            Err(Failure::LeadershipLost(format!("leadership is lost: {lost}; {ways}")))
        }
    }
}

/// Why the provider is not ready: every kind that it needs and cannot rely on, one per line, and then what helps.
fn unready(provider: &Provider) -> Option<String> {
    let (mut lines, mut advice) = (Vec::new(), Vec::new());
    for health in provider.caches().health() {
        let Some(line) = health.unready() else { continue };
        lines.push(line);
        advice.extend(ADVICE.on(&health.state()).filter(|it| !advice.contains(it)));
    }
    lines.extend(advice.into_iter().map(str::to_owned));
    (!lines.is_empty()).then(|| lines.join("\n"))
}

#[cfg(test)]
mod go_flags_tests;

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Command {
        #[command(flatten)]
        manager: ManagerArgs,
    }

    fn parse(arguments: &[&str]) -> ManagerArgs {
        let command = Command::try_parse_from(["manager"].iter().chain(arguments));
        command.unwrap_or_else(|error| panic!("{arguments:?}: {error}")).manager
    }

    #[test]
    fn without_flags_all_namespaces_are_served_without_a_limit_and_nothing_is_logged() {
        let args = parse(&[]);
        let options = options(&args, WriteGate::always_open());
        assert!(options.namespace.is_empty() && options.workers_of.is_empty());
        assert_eq!((options.workers, options.watch_filter), (10, capm3_provider::WatchFilter::default()));
        assert!(args.client.management().is_none());
        assert_eq!((args.without_effect(), args.log_level()), (Vec::new(), "info"));
        assert_eq!(args.health_addr.to_string(), ":9440", "a kubelet asks at the address of the pod");
    }

    #[test]
    fn truth_values_need_no_value_and_older_spellings_are_taken() {
        for flag in ["--enableBMHNameBasedPreallocation=true", "--enable-bmh-name-based-preallocation"] {
            assert!(parse(&[flag]).enable_bmh_name_based_preallocation, "{flag}");
        }
        assert!(!parse(&["--enable-ipam=false"]).enable_ipam);
        assert!(parse(&["--enable-ipam", "--leader-elect"]).enable_ipam, "the next flag is no value");
        for (arguments, level) in [
            (["-v", "5"], "info,capm3=trace"),
            (["--v", "4"], "info,capm3=debug"),
            (["--v", "2"], "info"),
            (["-v", "-1"], "info"),
        ] {
            assert_eq!(parse(&arguments).log_level(), level, "{arguments:?}");
        }
    }

    #[test]
    fn of_a_flag_that_is_given_twice_the_last_counts() {
        assert_eq!(parse(&["--namespace=a", "--namespace=b"]).controllers.namespace(), "b");
        assert!(!parse(&["--enable-ipam", "--enable-ipam=false"]).enable_ipam);
    }

    /// The process is healthy while the webhook server accepts connections, and ready only with a certificate besides.
    #[tokio::test]
    async fn op144_health_and_readiness_depend_on_the_webhook_server() {
        let folder = tempfile::tempdir().unwrap();
        let key = rcgen::KeyPair::generate().unwrap();
        let certificate =
            rcgen::CertificateParams::new(["localhost".to_owned()]).unwrap().self_signed(&key).unwrap();
        std::fs::write(folder.path().join("tls.crt"), certificate.pem()).unwrap();
        std::fs::write(folder.path().join("tls.key"), key.serialize_pem()).unwrap();
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let lab = capm3_lab::Lab::start(&capm3_lab::Options { real_time: true, ..Default::default() })
            .await
            .unwrap();
        let clock = Clock::system();
        let start = async |more: &[&str]| {
            let args = parse(&[&[format!("--webhook-port={port}").as_str()][..], more].concat());
            let webhooks = webhook::start(&args.webhooks, lab.client(), clock).await.unwrap().unwrap();
            let connect = Arc::new(ConnectOverNetwork::new(USER_AGENT));
            let options = options(&args, WriteGate::always_open());
            let provider = Arc::new(Provider::start(lab.client().clone(), connect, clock, &options));
            provider.caches().synced().await;
            let probes = probes(provider, Some(&webhooks));
            (webhooks, probes)
        };
        let folder = format!("--webhook-cert-dir={}", folder.path().display());
        let (webhooks, Probes { unhealthy, unready }) = start(&[&folder]).await;
        assert_eq!((unhealthy(), unready()), (None, None));
        webhooks.stop(WEBHOOK_STOP_TIMEOUT).await;
        let ended = "the webhook server does not accept connections".to_owned();
        assert_eq!((unhealthy(), unready()), (Some(ended.clone()), Some(ended)));
        // The namespace of its Secret is not there, so it gets no certificate.
        let own = ["--self-managed-certs", "--webhook-service-namespace=nowhere"];
        let (_webhooks, Probes { unhealthy, unready }) = start(&own).await;
        let none = "the webhook server has no certificate yet".to_owned();
        assert_eq!((unhealthy(), unready()), (None, Some(none)), "a restart would not help");
    }
}
