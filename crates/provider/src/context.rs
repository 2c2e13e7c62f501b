//! The provider as a whole: caches, controllers, workload clusters, and their start and end.

use std::{collections::BTreeMap, sync::Arc};

use capm3_api::neighbours::{Cluster, SecretMetadata};
use capm3_engine::{
    ActError, ApiClient, ApiError, Caches, Clock, Controller, Executor, Object, ObjectKey, Plan,
    ResourceKind, Tasks, controller::Outcome, drive,
};
use futures::{FutureExt, future::BoxFuture};
use serde_json::Value;
use tracing::debug;

use crate::{
    baremetalhost,
    departures::Departures,
    host_crd::HostCrd,
    indexes, ippool, metal3cluster, metal3data, metal3datatemplate, metal3machine, metal3machinetemplate,
    watching::subscribe,
    workload::{Connect, Workloads},
};

/// How a provider runs.
#[derive(Debug, Clone)]
pub struct Options {
    /// Workers per controller.
    pub workers: usize,
    /// Whether the built-in address manager serves IPPools.
    pub serve_addresses: bool,
    /// Whether IPClaims are named after their hosts, so that reservations of a pool outlive machines.
    pub name_claims_by_host: bool,
    /// Whether released hosts stay powered on for faster provisioning.
    pub fast_track: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { workers: 10, serve_addresses: true, name_claims_by_host: false, fast_track: false }
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
    pub(crate) departures: Arc<Departures>,
    pub(crate) host_crd: Arc<HostCrd>,
}

impl Context {
    /// Reads one object past the cache and into it.
    pub(crate) async fn read_live<K: Object>(&self, key: &ObjectKey) -> Result<Option<Value>, ApiError> {
        let kind = ResourceKind::of::<K>();
        let known = self.caches.version(&kind, key);
        let found = self.client.get::<Value>(&kind, key).await?;
        match &found {
            Some(object) => self.caches.feed(&kind, object.clone()),
            None => self.caches.forget(&kind, key, known),
        }
        Ok(found)
    }

    /// Carries out the plan for what an object left behind, if there is anything to do and the server itself says that
    /// the object is gone: a cache may not show it yet.
    pub(crate) async fn clean_up_after<K: Object>(
        &self,
        key: &ObjectKey,
        plan: impl Fn() -> Plan,
    ) -> Outcome {
        if plan().is_quiet() {
            return Outcome::Settled;
        }
        match self.read_live::<K>(key).await {
            Ok(None) => drive(&self.executor, plan).await,
            Ok(Some(_)) => Outcome::Settled,
            Err(source) => Outcome::Failed(ActError { what: format!("read {} {key}", K::kind(&())), source }),
        }
    }
}

/// A running provider; dropping it stops it at once.
#[derive(Debug)]
pub struct Provider {
    caches: Arc<Caches>,
    controllers: Vec<Controller>,
    workloads: Arc<Workloads>,
    _tasks: Arc<Tasks>,
}

impl Provider {
    /// Starts informers and controllers; controllers wait until every cache has its first list.
    pub fn start(client: ApiClient, connect: Arc<dyn Connect>, clock: Clock, options: &Options) -> Self {
        let mut caches = Caches::default();
        indexes::register(&mut caches);
        let caches = Arc::new(caches);
        let tasks = Arc::new(Tasks::default());
        let workloads = Arc::new(Workloads::new(client.clone(), connect, clock));
        let context = Context {
            executor: Executor::new(client.clone(), Arc::clone(&caches), clock, "capm3"),
            client: client.clone(),
            caches: Arc::clone(&caches),
            fast_track: options.fast_track,
            serves_addresses: options.serve_addresses,
            names_claims_by_host: options.name_claims_by_host,
            clock,
            workloads: Arc::clone(&workloads),
            departures: Arc::new(Departures::default()),
            host_crd: Arc::default(),
        };
        context.departures.watch(&context);
        follow_clusters(&context);
        let mut controllers = vec![
            metal3cluster::controller(&context),
            metal3machine::controller(&context),
            metal3machinetemplate::cleaning::controller(&context),
            metal3machinetemplate::capacity::controller(&context),
            baremetalhost::controller(&context),
            metal3datatemplate::controller(&context),
            metal3data::controller(&context),
        ];
        if options.serve_addresses {
            controllers.push(ippool::controller(&context));
        }
        let (host_crd, asked) = (Arc::clone(&context.host_crd), client.clone());
        tasks.spawn(async move {
            if let Err(error) = host_crd.lacks(&asked).await {
                debug!(%error, cause = %error.source, "asked again by the first machine");
            }
        });
        caches.start_informers(&client, &tasks);
        for controller in &controllers {
            controller.start_when_synced(options.workers, &tasks, Arc::clone(&caches));
        }
        Self { caches, controllers, workloads, _tasks: tasks }
    }

    /// What the provider sees.
    pub fn caches(&self) -> &Arc<Caches> {
        &self.caches
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

/// Boxes the work on a key.
pub(crate) fn boxed(work: impl Future<Output = Outcome> + Send + 'static) -> BoxFuture<'static, Outcome> {
    work.boxed()
}
