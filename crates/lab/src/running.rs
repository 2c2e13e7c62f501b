//! A running lab: server, world and provider, and how to wait for them.

use std::{sync::Arc, time::Duration};

use capm3_apiserver::{ApiServer, WriteRecord};
use capm3_engine::{ApiClient, ApiError, Clock, ObjectKey, ResourceKind};
use capm3_provider::{Provider, WatchFilter, crd_migration::Phases};
use capm3_world::{Profile, World};
use jiff::Timestamp;
use serde_json::Value;
use thiserror::Error;

use crate::{
    admission::InProcess,
    faults::{Faults, Faulty, NoFaults},
    installed::{self, StoredAs},
    manifests::Manifest,
    workload_apis::{Asked, ConnectInProcess, Embedded},
};

/// How a lab polls for rest: how often, and how many polls in a row must find nobody busy.
#[derive(Debug, Clone, Copy)]
struct Polling {
    /// The pause before the first poll; each poll that finds somebody busy doubles it.
    first: Duration,
    /// The longest pause.
    longest: Duration,
    /// So many polls in a row that find nobody busy mean rest.
    quiet_polls: u32,
}

/// On a paused runtime time passes only when nobody has anything to do, so one poll is enough.
const VIRTUAL: Polling =
    Polling { first: Duration::from_millis(1), longest: Duration::from_millis(64), quiet_polls: 1 };

/// In real time something may be on its way from one to the other.
const REAL: Polling =
    Polling { first: Duration::from_millis(20), longest: Duration::from_millis(20), quiet_polls: 15 };

/// First day of simulations, so that two runs write the same times.
const FIRST_DAY: i64 = 1_767_225_600;

type Observer = Arc<dyn Fn(&WriteRecord) + Send + Sync>;

/// How a lab runs.
#[derive(Clone)]
pub struct Options {
    /// Seed of uids, name suffixes and durations.
    pub seed: u64,
    /// How much time things take in the world.
    pub profile: Profile,
    /// How many times faster than the profile says.
    pub speed: f64,
    /// Workers per controller.
    pub workers: usize,
    /// Whether objects carry the machine's time, as they must where people look at them; otherwise every run starts
    /// at the same moment.
    pub real_time: bool,
    /// Called for every write in the server's order.
    pub observer: Option<Observer>,
    /// Faults of the calls of the providers; none by default.
    pub faults: Arc<dyn Faults>,
    /// Whether the provider's own address manager serves IPPools.
    pub serve_addresses: bool,
    /// Whether the provider names IPClaims after hosts.
    pub name_claims_by_host: bool,
    /// How many changes of each resource the server remembers; `None`: as many as usual.
    pub remembered: Option<usize>,
    /// After which time the provider releases a host whose machine is proven to be gone.
    pub release_orphaned_hosts_after: Option<Duration>,
    /// Which parts of the storage version migration the provider does.
    pub crd_migration: Option<Phases>,
    /// The only namespace that the provider watches; empty for all.
    pub namespace: String,
    /// Which objects the provider takes care of.
    pub watch_filter: WatchFilter,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            seed: 1,
            profile: Profile::Instant,
            speed: 1.0,
            workers: 4,
            real_time: false,
            observer: None,
            faults: Arc::new(NoFaults),
            serve_addresses: true,
            name_claims_by_host: false,
            remembered: None,
            release_orphaned_hosts_after: None,
            crd_migration: None,
            namespace: String::new(),
            watch_filter: WatchFilter::default(),
        }
    }
}

impl std::fmt::Debug for Options {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Options")
            .field("seed", &self.seed)
            .field("workers", &self.workers)
            .finish_non_exhaustive()
    }
}

/// Why something could not be put into a lab.
#[derive(Debug, Error)]
pub enum LabError {
    /// The server refused an object.
    #[error("{file}: {object}: {source}")]
    Refused {
        /// Where the object came from.
        file: String,
        /// The object.
        object: String,
        /// The server's words.
        source: ApiError,
    },
    /// An object names the uid of one that is not there.
    #[error("{0} names the uid of an object that is not there")]
    Unresolved(String),
}

/// How a wait ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Settled {
    /// Queues are empty and the world is idle: nothing more will happen by itself.
    Quiet,
    /// Something still goes on, or is tried again and again.
    Busy,
}

/// Server, world and providers in one process.
pub struct Lab {
    server: ApiServer,
    client: ApiClient,
    clock: Clock,
    world: World,
    providers: Vec<Provider>,
    faults: Arc<dyn Faults>,
    asked: Asked,
    provider_options: capm3_provider::Options,
    polling: Polling,
}

impl Lab {
    /// Starts the server with every CRD, the world and one provider.
    pub async fn start(options: &Options) -> Result<Self, LabError> {
        let (server, clock) = server(options).await?;
        Ok(Self::run(options, server, clock))
    }

    /// Starts world and provider on what another provider has left. Nothing has run yet when this returns.
    pub async fn start_on(
        options: &Options,
        installed: &[Manifest],
        stored_as: StoredAs,
    ) -> Result<Self, LabError> {
        let (server, clock) = server(options).await?;
        installed::put(&server, &client_of(&server, "capm3-lab"), installed, stored_as).await?;
        server.set_admission(Arc::new(InProcess));
        Ok(Self::run(options, server, clock))
    }

    /// A server with such objects on which nobody works, in real time. The rules of admission are open.
    pub async fn server_on(installed: &[Manifest], stored_as: StoredAs) -> Result<ApiServer, LabError> {
        let (server, _) = server(&Options { real_time: true, ..Options::default() }).await?;
        installed::put(&server, &client_of(&server, "capm3-lab"), installed, stored_as).await?;
        Ok(server)
    }

    fn run(options: &Options, server: ApiServer, clock: Clock) -> Self {
        let client = client_of(&server, "capm3-lab");
        let world_client = client_of(&server, "capm3-world");
        let apis = Arc::new(Embedded { server: server.clone(), client: world_client.clone() });
        let world_options = capm3_world::Options {
            cast: capm3_world::Cast::Everybody,
            profile: options.profile,
            speed: options.speed,
            seed: options.seed,
            workers: options.workers,
        };
        let polling = if options.real_time { REAL } else { VIRTUAL };
        let world = World::start(world_client, apis, clock, &world_options);
        let faults = Arc::clone(&options.faults);
        let mut lab = Self {
            server,
            client,
            clock,
            world,
            providers: Vec::new(),
            faults,
            asked: Asked::default(),
            provider_options: capm3_provider::Options {
                workers: options.workers,
                serve_addresses: options.serve_addresses,
                name_claims_by_host: options.name_claims_by_host,
                release_orphaned_hosts_after: options.release_orphaned_hosts_after,
                crd_migration: options.crd_migration,
                namespace: options.namespace.clone(),
                watch_filter: options.watch_filter.clone(),
                ..capm3_provider::Options::default()
            },
            polling,
        };
        lab.add_provider();
        lab
    }

    /// Starts a provider with empty caches in place of the present ones.
    pub fn start_provider(&mut self) {
        self.stop_providers();
        self.add_provider();
    }

    /// Starts one more provider with empty caches: a replica beside the others, without an election among them.
    pub fn add_provider(&mut self) {
        let service = Faulty::new(self.server.clone(), Arc::clone(&self.faults));
        let client = ApiClient::new(kube::Client::new(service, "default"), "capm3");
        let connect = ConnectInProcess::new(client.clone(), Arc::clone(&self.asked));
        self.providers.push(Provider::start(client, connect, self.clock, &self.provider_options));
    }

    /// Stops every provider in the middle of whatever it does.
    pub fn stop_providers(&mut self) {
        self.providers.clear();
    }

    /// Creates what is not there and merges what is, in order.
    pub async fn apply(&self, manifests: &[Manifest]) -> Result<(), LabError> {
        apply(&self.client, manifests).await
    }

    /// Waits until nothing goes on any more, at most for `limit`.
    pub async fn settle(&self, limit: Duration) -> Settled {
        let end = tokio::time::Instant::now() + limit;
        let (mut quiet, mut pause) = (0, self.polling.first);
        while tokio::time::Instant::now() < end {
            tokio::time::sleep(pause).await;
            if !self.is_quiet() {
                quiet = 0;
                pause = (pause * 2).min(self.polling.longest);
                continue;
            }
            quiet += 1;
            if quiet == self.polling.quiet_polls {
                return Settled::Quiet;
            }
        }
        Settled::Busy
    }

    /// Whether nothing goes on at this moment.
    pub fn is_quiet(&self) -> bool {
        self.world.is_idle() && self.providers.iter().all(Provider::is_idle)
    }

    /// What time it is in the lab.
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// The clock by which everything here goes.
    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// The server.
    pub fn server(&self) -> &ApiServer {
        &self.server
    }

    /// A client with a name of its own.
    pub fn client(&self) -> &ApiClient {
        &self.client
    }

    /// The world.
    pub fn world(&self) -> &World {
        &self.world
    }

    /// The provider, or the first of several, if one is running.
    pub fn provider(&self) -> Option<&Provider> {
        self.providers.first()
    }

    /// Every address outside the management API to which a provider wanted to be connected so far, in order.
    pub fn connections(&self) -> Vec<String> {
        self.asked.lock().clone()
    }

    /// Every object of a kind in the management API, by namespace and name.
    pub fn objects(&self, kind: &str) -> Vec<Arc<Value>> {
        self.server.objects_of(&[kind])
    }

    /// The object of a kind with this namespace and name.
    pub fn object_at(&self, kind: &str, key: &ObjectKey) -> Option<Arc<Value>> {
        let text = |o: &Value, pointer: &str| {
            o.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
        };
        let is_it = |o: &Arc<Value>| {
            text(o, "/metadata/name") == key.name && text(o, "/metadata/namespace") == key.namespace
        };
        self.objects(kind).into_iter().find(is_it)
    }

    /// One object of the management API.
    pub fn object(&self, kind: &str, name: &str) -> Option<Arc<Value>> {
        let is_it = |o: &Arc<Value>| o.pointer("/metadata/name").and_then(Value::as_str) == Some(name);
        self.objects(kind).into_iter().find(is_it)
    }

    /// Merges a patch into an object.
    pub async fn patch(
        &self,
        kind: &ResourceKind,
        key: &ObjectKey,
        patch: &Value,
    ) -> Result<Value, ApiError> {
        self.client.merge_patch(kind, key, None, patch).await
    }

    /// The same for the status.
    pub async fn patch_status(
        &self,
        kind: &ResourceKind,
        key: &ObjectKey,
        patch: &Value,
    ) -> Result<Value, ApiError> {
        self.client.merge_patch(kind, key, Some("status"), patch).await
    }
}

impl std::fmt::Debug for Lab {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Lab").field("providers", &self.providers).finish_non_exhaustive()
    }
}

/// A server with every CRD and the rules of admission, and the clock by which it goes.
pub(crate) async fn server(options: &Options) -> Result<(ApiServer, Clock), LabError> {
    let start = Timestamp::from_second(FIRST_DAY).unwrap_or(Timestamp::UNIX_EPOCH);
    let clock = if options.real_time { Clock::system() } else { Clock::starting_at(start) };
    let mut server_options = capm3_apiserver::Options::new(Arc::new(move || clock.now()), options.seed);
    server_options.observer.clone_from(&options.observer);
    server_options.log_capacity = options.remembered.unwrap_or(server_options.log_capacity);
    // Only where people can reach the server does anybody write more than the controllers.
    if !options.real_time {
        server_options.log_bytes = usize::MAX;
    }
    let server = ApiServer::new(server_options);
    server.set_admission(Arc::new(InProcess));
    server.set_conversion(Arc::new(InProcess));
    apply(&client_of(&server, "capm3-lab"), &crds()).await?;
    Ok((server, clock))
}

fn client_of(server: &ApiServer, user_agent: &str) -> ApiClient {
    ApiClient::new(kube::Client::new(server.clone(), "default"), user_agent)
}

/// Creates what is not there and merges what is, in order, on any API server.
pub async fn apply(client: &ApiClient, manifests: &[Manifest]) -> Result<(), LabError> {
    for manifest in manifests {
        put(client, manifest).await?;
    }
    Ok(())
}

/// Every CRD that the provider and the world need.
pub fn crds() -> Vec<Manifest> {
    let all = capm3_world::crds().into_iter().chain(capm3_api::crd::all());
    all.map(|object| Manifest { file: "built-in CRD".to_owned(), object }).collect()
}

async fn put(client: &ApiClient, manifest: &Manifest) -> Result<(), LabError> {
    let (kind, key) = (manifest.resource(), manifest.key());
    let result = match client.create(&kind, &key.namespace, manifest.object.clone()).await {
        Err(ApiError::AlreadyExists { .. }) => client.merge_patch(&kind, &key, None, &manifest.object).await,
        other => other,
    };
    match result {
        Ok(_) => Ok(()),
        Err(source) => {
            Err(LabError::Refused { file: manifest.file.clone(), object: manifest.to_string(), source })
        }
    }
}
