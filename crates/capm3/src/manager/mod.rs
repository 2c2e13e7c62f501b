//! `capm3 manager`: the controllers against a real cluster.

mod client_flags;
mod cluster;
mod controller_flags;
mod election;
mod flags;
mod later_flags;
mod log_flags;
mod probes;
mod webhook;

use std::{path::PathBuf, sync::Arc, time::Duration};

use capm3_engine::{
    Clock, WriteGate,
    client::ServiceAccount,
    informer::KindHealth,
    lease::{Elector, LeadershipLost},
};
use capm3_provider::{Options, Provider, workload::ConnectOverNetwork};
use clap::{ArgAction, Args};
use tracing::{info, warn};

use crate::{
    exit::Failure,
    stop::{StopSignal, stop_signal},
};
use client_flags::ClientArgs;
use controller_flags::ControllerArgs;
use election::ElectionArgs;
pub use flags::duration;
use flags::{ListenAddress, WithoutEffect};
use later_flags::LaterArgs;
use log_flags::LogArgs;
pub use log_flags::LogFormat;
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
#[command(
    args_override_self = true,
    after_help = "The cluster needs the CRDs of capm3, of Cluster API and of the host operator. \
    SIGTERM and Ctrl-C stop the manager: writes in flight end, the Lease is released, the exit code is 0. \
    A manager that loses its Lease ends with code 1. It can be started again at any time. Webhooks need a certificate; \
    --webhook-port=0 serves none."
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

    /// Release an orphaned host automatically after this time, such as 24h: its disk is deprovisioned. If not set, only `capm3 release` releases such hosts
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
    later: LaterArgs,
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
        all.extend(self.later.without_effect());
        all
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
    for WithoutEffect { flag, why } in args.without_effect() {
        warn!("{flag} has no effect: {why}");
    }
    let candidate = args.election.candidate(&ServiceAccount::default())?;
    let client = cluster::connect(args.kubeconfig.as_deref(), args.context.as_deref(), USER_AGENT).await?;
    // Before the caches: lists in the older version are converted here.
    let clock = Clock::system();
    let webhooks = webhook::start(&args.webhooks, &client, clock).await?;
    let listener = args.health_addr.bind().await.map_err(|e| {
        Failure::CouldNotRun(format!("--health-addr {}: {e}; choose another port", args.health_addr))
    })?;
    let stop = stop_signal().map_err(|e| Failure::CouldNotRun(format!("cannot wait for signals: {e}")))?;
    let gate = if candidate.is_some() { WriteGate::for_leader() } else { WriteGate::always_open() };
    let mut elector = match candidate {
        // Its requests are never held back: a late renewal costs the Lease.
        Some(candidate) => Some(election::elector(client.clone(), clock, candidate, gate.clone())?),
        None => None,
    };
    let client = client.at_rate(args.client.management());
    let (rate, burst) = args.client.workload();
    let connect = Arc::new(ConnectOverNetwork::new(USER_AGENT).at_rate(rate, burst));
    let provider = Arc::new(Provider::start(client, connect, clock, &options(args, gate.clone())));
    let health = listener.local_addr().map_or_else(|_| args.health_addr.to_string(), |at| at.to_string());
    info!(health, ipam = args.enable_ipam, leader_elect = elector.is_some(), "manager started");
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
        workers: args.controllers.workers(),
        workers_of: args.controllers.workers_of(),
        namespace: args.controllers.namespace().to_owned(),
        watch_filter: args.controllers.watch_filter(),
        serve_addresses: args.enable_ipam,
        name_claims_by_host: args.enable_bmh_name_based_preallocation,
        fast_track: std::env::var("CAPM3_FAST_TRACK").is_ok_and(|value| value == "true"),
        release_orphaned_hosts_after: args.release_orphaned_hosts_after,
        crd_migration: args.later.crd_migration(),
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

    /// Every flag of the Go manager is taken in Go's syntax; those of the webhooks are tested beside them.
    #[test]
    fn op141_flags_of_the_go_manager_are_taken() {
        let args = parse(&[
            "--leader-elect=true",
            "--leader-elect-lease-duration=15s",
            "--leader-elect-renew-deadline=10s",
            "--leader-elect-retry-period=2s",
            "--namespace=metal3",
            "--watch-filter=a",
            "--sync-period=10m0s",
            "--clustercache-client-qps=20",
            "--clustercache-client-burst=30",
            "--health-addr=:9440",
            "--metal3machine-concurrency=1",
            "--metal3cluster-concurrency=2",
            "--metal3datatemplate-concurrency=3",
            "--metal3data-concurrency=4",
            "--metal3labelsync-concurrency=5",
            "--metal3machinetemplate-concurrency=6",
            "--metal3remediation-concurrency=7",
            "--kube-api-qps=20.5",
            "--kube-api-burst=30",
            "--enable-bmh-name-based-preallocation=true",
            "--diagnostics-address=:8443",
            "--insecure-diagnostics=false",
            "--skip-crd-migration-phases=StorageVersionMigration",
            "--skip-crd-migration-phases=CleanupManagedFields",
            "--kubeconfig=/a/file",
            "--logging-format=json",
            "-v=4",
            "--vmodule=",
            "--log-flush-frequency=5s",
            "--log-text-split-stream=false",
            "--log-text-info-buffer-size=0",
            "--log-json-split-stream=false",
            "--log-json-info-buffer-size=0",
        ]);
        let options = options(&args, WriteGate::always_open());
        assert_eq!(
            (options.namespace.as_str(), options.watch_filter),
            ("metal3", capm3_provider::WatchFilter::new("a"))
        );
        assert_eq!(options.workers_of["metal3machine"], 1);
        assert_eq!(options.workers_of["metal3machinetemplate-capacity"], 6);
        assert!(options.name_claims_by_host && !options.serve_addresses);
        assert!(args.client.management().is_some());
        assert_eq!((args.log_level(), args.logging_format()), ("info,capm3=debug", LogFormat::Json));
        let said: Vec<&str> = args.without_effect().iter().map(|it| it.flag).collect();
        let expected = [
            "--metal3labelsync-concurrency",
            "--metal3remediation-concurrency",
            "--sync-period",
            "--log-flush-frequency",
            "--log-text-info-buffer-size",
            "--log-json-info-buffer-size",
            "--diagnostics-address",
        ];
        assert_eq!(options.crd_migration, None, "both phases are skipped");
        assert_eq!(said, expected);
    }

    #[test]
    fn without_flags_all_namespaces_are_served_without_a_limit_and_nothing_is_said() {
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
}
