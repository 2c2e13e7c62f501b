//! The provider as a whole: caches, controllers, workload clusters, and their start and end.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use crate::plan::Plan;
use capm3_api::neighbours::{Cluster, SecretMetadata};
use capm3_domain::wait::Wait;
use capm3_engine::{
    ActError, ApiClient, ApiError, Caches, Clock, Controller, Executor, Index, Object, ObjectKey, Queue,
    ResourceKind, Tasks, WorkloadWriter, WriteGate,
    absence::{self, Doubt, Verdict},
    controller::Outcome,
    drive,
    informer::{Advice, KindHealth, KindState},
    metrics::{ControllerSource, Metrics, RequestCounts, RequestSource},
};

use futures::{FutureExt, future::BoxFuture};
use serde_json::Value;
use tracing::{debug, info};

use crate::{
    baremetalhost::{self, Orphans},
    crd_migration::{self, Phases},
    deletion_tracker::DeletionTracker,
    host_crd::HostCrd,
    ippool, kinds, label_sync, metal3cluster, metal3data, metal3datatemplate, metal3machine,
    metal3machinetemplate, metal3remediation,
    metrics::{CacheSource, HostClaims, Progress, ProviderSource},
    waits::{Waiting, Waits},
    watch_filter::WatchFilter,
    watching::subscribe,
    workload::{Connect, Workloads},
};

/// What helps where a kind cannot be read.
pub const ADVICE: Advice = Advice {
    forbidden: "apply the ClusterRole capm3-manager-role that `capm3 manifests` prints (config/rbac/rbac.yaml; docs/rbac.md \
        lists each right)",
    not_served: "install the CRDs in this version: those of capm3 with `capm3 manifests`, Cluster API with contract v1beta2, \
        the Baremetal Operator (docs/install.md)",
};

/// How a provider runs.
#[derive(Debug, Clone)]
pub struct Options {
    /// Workers per controller.
    pub workers: usize,
    /// Workers of single controllers, by name; the others have [`workers`](Self::workers).
    pub workers_of: BTreeMap<&'static str, usize>,
    /// The only namespace that is watched; empty for all.
    pub namespace: String,
    /// Which objects are taken care of.
    pub watch_filter: WatchFilter,
    /// Whether the built-in address manager serves IPPools.
    pub serve_addresses: bool,
    /// Whether IPClaims are named after their hosts, so that reservations of a pool outlive machines.
    pub name_claims_by_host: bool,
    /// Whether released hosts stay powered on for faster provisioning.
    pub fast_track: bool,
    /// After which time a host is released whose machine is proven to be gone; without it only a person's request does.
    pub release_orphaned_hosts_after: Option<Duration>,
    /// Which parts of the storage version migration are done; none where the CRDs belong to somebody else.
    pub crd_migration: Option<Phases>,
    /// Lets writes pass; controllers start when it opens and end when it closes.
    pub gate: WriteGate,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            workers: 10,
            workers_of: BTreeMap::new(),
            namespace: String::new(),
            watch_filter: WatchFilter::default(),
            serve_addresses: true,
            name_claims_by_host: false,
            fast_track: false,
            release_orphaned_hosts_after: None,
            crd_migration: None,
            gate: WriteGate::always_open(),
        }
    }
}

/// What every controller needs.
#[derive(Clone)]
pub(crate) struct Context {
    pub(crate) client: ApiClient,
    pub(crate) caches: Arc<Caches>,
    pub(crate) fast_track: bool,
    pub(crate) serves_addresses: bool,
    pub(crate) names_claims_by_host: bool,
    pub(crate) executor: Executor,
    pub(crate) clock: Clock,
    pub(crate) workloads: Arc<Workloads>,
    pub(crate) deletions: Arc<DeletionTracker>,
    pub(crate) orphans: Arc<Orphans>,
    pub(crate) waits: Arc<Waits>,
    pub(crate) release_orphans_after: Option<Duration>,
    pub(crate) host_crd: Arc<HostCrd>,
    pub(crate) watch_filter: WatchFilter,
}

impl Context {
    /// Reads one object past the cache and into it.
    pub(crate) async fn read_live<K: Object>(&self, key: &ObjectKey) -> Result<Option<Value>, ApiError> {
        let kind = ResourceKind::of::<K>();
        let known = self.caches.version(&kind, key);
        let found = self.client.get::<Value>(&kind, key).await?;
        match &found {
            Some(object) => self.caches.feed(&kind, object),
            None => self.caches.forget(&kind, key, known),
        }
        Ok(found)
    }

    /// Proves that an object is gone; what the server shows enters the cache.
    pub(crate) async fn prove_absent<K: Object>(&self, key: &ObjectKey) -> Result<Verdict, ApiError> {
        self.prove_absent_of(&ResourceKind::of::<K>(), key).await
    }

    /// The same for a kind that is not known by type.
    pub(crate) async fn prove_absent_of(
        &self,
        kind: &ResourceKind,
        key: &ObjectKey,
    ) -> Result<Verdict, ApiError> {
        absence::prove_absent(&self.client, &self.caches, kind, key).await
    }

    /// Proves that no object of a kind has that value in an index; what the server shows enters the cache.
    pub(crate) async fn prove_none<K: Object>(
        &self,
        namespace: &str,
        index: &Index<K>,
        value: &str,
    ) -> Result<Verdict, ApiError> {
        let is_wanted = |object: &Value| {
            let object = K::deserialize(object);
            // An object that cannot be parsed may be one of them.
            object.map_or(true, |object| (index.values)(&object).iter().any(|it| it == value))
        };
        absence::prove_none(&self.client, &self.caches, &ResourceKind::of::<K>(), namespace, is_wanted).await
    }

    /// Passes once the absence of an object is proven, or the object is in the cache.
    pub(crate) async fn prove_gone<K: Object>(&self, key: &ObjectKey) -> Result<(), Outcome> {
        let kind = ResourceKind::of::<K>();
        self.prove_gone_of(&kind, key).await
    }

    /// The same for a kind that is not known by type.
    pub(crate) async fn prove_gone_of(&self, kind: &ResourceKind, key: &ObjectKey) -> Result<(), Outcome> {
        match self.prove_absent_of(kind, key).await {
            Ok(Verdict::Gone | Verdict::Present) => Ok(()),
            Ok(Verdict::Unknown(doubt)) => Err(kept(kind, key, &doubt)),
            Err(source) => Err(Outcome::Failed(ActError::reading(format!("read {kind} {key}"), source))),
        }
    }

    /// Passes once it is proven that no object of a kind has that value in an index, or those that have it are in the cache.
    pub(crate) async fn prove_none_left<K: Object>(
        &self,
        namespace: &str,
        index: &Index<K>,
        value: &str,
    ) -> Result<(), Outcome> {
        let kind = ResourceKind::of::<K>();
        if let Some(state) = self.caches.health_of(&kind).map(KindHealth::state)
            && state == KindState::NotInstalled
        {
            return Ok(());
        }
        match self.prove_none(namespace, index, value).await {
            Ok(Verdict::Gone | Verdict::Present) => Ok(()),
            Ok(Verdict::Unknown(doubt)) => {
                info!("cannot confirm that no {kind} refers to {value}: {doubt}; keeps it and retries");
                Err(Outcome::After(doubt.retry_after()))
            }
            Err(source) => {
                let what = format!("list {kind} of namespace {namespace}");
                Err(Outcome::Failed(ActError::reading(what, source)))
            }
        }
    }

    /// Carries out the plan for what an object left behind, if there is anything to do and it is proven that the object is
    /// gone.
    pub(crate) async fn clean_up_after<K: Object>(
        &self,
        key: &ObjectKey,
        plan: impl Fn() -> Plan + Send,
    ) -> Outcome {
        if plan().is_quiet() {
            return Outcome::Settled;
        }
        match self.prove_absent::<K>(key).await {
            Ok(Verdict::Gone) => drive(&self.executor, plan).await,
            Ok(Verdict::Present) => Outcome::Settled,
            Ok(Verdict::Unknown(doubt)) => kept(&ResourceKind::of::<K>(), key, &doubt),
            Err(source) => Outcome::Failed(ActError::reading(format!("read {} {key}", K::kind(&())), source)),
        }
    }
}

/// Says that what belongs to an object is kept, because it is not proven that the object is gone.
pub(crate) fn kept(kind: &ResourceKind, key: &ObjectKey, doubt: &Doubt) -> Outcome {
    info!("cannot confirm that {kind} {key} is deleted: {doubt}; keeps its objects and retries");
    Outcome::After(doubt.retry_after())
}

/// A running provider; dropping it stops it at once.
#[derive(Debug)]
pub struct Provider {
    caches: Arc<Caches>,
    controllers: Vec<Controller>,
    workloads: Arc<Workloads>,
    orphans: Arc<Orphans>,
    waits: Arc<Waits>,
    figures: Arc<ProviderSource>,
    /// Requests to the API server and to workload clusters, by host.
    requests: Vec<(String, RequestCounts)>,
    _tasks: Arc<Tasks>,
}

impl Provider {
    /// Starts informers and controllers; controllers wait until every cache has its first list and the gate is open.
    pub fn start(client: ApiClient, connect: Arc<dyn Connect>, clock: Clock, options: &Options) -> Self {
        let mut caches = Caches::advising(ADVICE);
        kinds::register(&mut caches);
        let caches = Arc::new(caches);
        let tasks = Arc::new(Tasks::default());
        let requests = vec![client.requests(), ("workload-clusters".to_owned(), connect.requests())];
        let workloads = Arc::new(Workloads::new(client.clone(), connect, clock));
        let (claims, progress) = (HostClaims::default(), Progress::default());
        progress.watch(&caches, clock);
        let noted = claims.clone();
        let context = Context {
            executor: Executor::new(client.clone(), Arc::clone(&caches), clock, "capm3")
                .with_workloads(Arc::clone(&workloads) as Arc<dyn WorkloadWriter>)
                .with_gate(options.gate.clone())
                .telling(move |write, error| noted.note(write, error)),
            client: client.clone(),
            caches: Arc::clone(&caches),
            fast_track: options.fast_track,
            serves_addresses: options.serve_addresses,
            names_claims_by_host: options.name_claims_by_host,
            clock,
            workloads: Arc::clone(&workloads),
            deletions: Arc::default(),
            orphans: Arc::default(),
            waits: Arc::default(),
            release_orphans_after: options.release_orphaned_hosts_after,
            host_crd: Arc::default(),
            watch_filter: options.watch_filter.clone(),
        };
        context.deletions.watch(&context);
        follow_clusters(&context);
        let (hosts, orphans) = baremetalhost::controller(&context);
        tasks.spawn(orphans);
        let mut controllers = vec![
            metal3cluster::controller(&context),
            metal3machine::controller(&context),
            metal3machinetemplate::cleaning::controller(&context),
            metal3machinetemplate::capacity::controller(&context),
            hosts,
            metal3datatemplate::controller(&context),
            metal3data::controller(&context),
            label_sync::controller(&context),
            metal3remediation::controller(&context),
        ];
        if options.serve_addresses {
            controllers.push(ippool::controller(&context));
        }
        let (host_crd, asked) = (Arc::clone(&context.host_crd), client.clone());
        tasks.spawn(async move {
            if let Err(error) = host_crd.lacks(&asked).await {
                debug!(%error, cause = %error.source, "could not read the CRD of hosts; the first machine reads it again");
            }
        });
        if let Some(phases) = options.crd_migration {
            let (client, gate) = (client.clone(), options.gate.clone());
            // It writes objects of every namespace, which the caches of one namespace must not take in.
            let executor = Executor::new(client.clone(), Arc::default(), clock, "capm3")
                .with_gate(gate.clone())
                .counted_in(context.executor.counts().clone());
            tasks.spawn(crd_migration::run(client, executor, gate, phases));
        }
        caches.start_informers_in(&options.namespace, &client, &tasks);
        for controller in &controllers {
            let workers = options.workers_of.get(controller.name).copied().unwrap_or(options.workers);
            controller.start_when_synced(workers, &tasks, Arc::clone(&caches), &options.gate);
        }
        let figures = Arc::new(ProviderSource {
            caches: CacheSource(Arc::clone(&caches)),
            orphans: Arc::clone(&context.orphans),
            waits: Arc::clone(&context.waits),
            workloads: Arc::clone(&workloads),
            claims,
            progress,
            writes: context.executor.counts().clone(),
        });
        Self {
            caches,
            controllers,
            workloads,
            orphans: context.orphans,
            waits: context.waits,
            figures,
            requests,
            _tasks: tasks,
        }
    }

    /// Adds what is known of its requests and controllers, and of hosts, machines, pools and clusters.
    pub fn add_to(&self, metrics: &Metrics) {
        metrics.add(RequestSource::new(self.requests.clone()));
        metrics.add(ControllerSource::new(self.controllers.iter().map(Controller::figures).collect()));
        metrics.add(Arc::clone(&self.figures));
    }

    /// What the provider sees.
    pub fn caches(&self) -> &Arc<Caches> {
        &self.caches
    }

    /// How many hosts name a machine that cannot be found or does not know them.
    pub fn orphaned_hosts(&self) -> usize {
        self.orphans.count()
    }

    /// What objects wait for at present, by the controller's name and key.
    pub fn waits(&self) -> BTreeMap<Waiting, Wait> {
        self.waits.all()
    }

    /// How often each controller has taken up an object, by the controller's name.
    pub fn looks(&self) -> BTreeMap<&'static str, u64> {
        self.controllers.iter().map(|controller| (controller.name, controller.queue.taken())).collect()
    }

    /// Whether every first list has arrived, no watch is broken, and no key waits, is worked on or is due later.
    pub fn is_idle(&self) -> bool {
        self.caches.are_synced()
            && self.caches.are_followed()
            && self.workloads.is_settled()
            && self.controllers.iter().all(|controller| controller.queue.depth().is_empty())
    }
}

/// Connections to workload clusters follow their kubeconfig Secrets and end with their Clusters.
fn follow_clusters(context: &Context) {
    let workloads = Arc::clone(&context.workloads);
    subscribe::<SecretMetadata>(context, move |secret| workloads.secret_changed(&secret.key()));
    let Some(clusters) = context.caches.store::<Cluster>() else { return };
    let workloads = Arc::clone(&context.workloads);
    clusters.subscribe(move |change| {
        let Some(old) = &change.old else { return };
        if change.new.as_ref().is_none_or(|new| new.metadata.uid != old.metadata.uid) {
            workloads.forget(&old.key());
        }
    });
}

/// A controller whose work on a key is `work`.
pub(crate) fn controller<F>(
    context: &Context,
    name: &'static str,
    queue: Arc<Queue<ObjectKey>>,
    work: impl Fn(Context, ObjectKey) -> F + Send + Sync + 'static,
) -> Controller
where
    F: Future<Output = Outcome> + Send + 'static,
{
    let context = context.clone();
    Controller::new(name, queue, Arc::new(move |key| boxed(work(context.clone(), key))))
}

/// Boxes the work on a key.
pub(crate) fn boxed(work: impl Future<Output = Outcome> + Send + 'static) -> BoxFuture<'static, Outcome> {
    work.boxed()
}
