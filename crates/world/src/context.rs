//! What every controller of the world shares, and how one is made.

use std::sync::Arc;

use capm3_engine::{
    ApiClient, Caches, Clock, Controller, Executor, ObjectKey, Outcome, Plan, Queue, drive, rng::Rng,
};
use futures::FutureExt;

use crate::{
    config_drives::ConfigDrives,
    nodes::Kubelets,
    pace::{Pace, Stopwatch},
    workloads::Workloads,
    world::Cast,
};

/// One queue per controller.
#[derive(Debug, Default, Clone)]
pub(crate) struct Queues {
    pub(crate) hosts: Arc<Queue<ObjectKey>>,
    pub(crate) clusters: Arc<Queue<ObjectKey>>,
    pub(crate) control_planes: Arc<Queue<ObjectKey>>,
    pub(crate) deployments: Arc<Queue<ObjectKey>>,
    pub(crate) sets: Arc<Queue<ObjectKey>>,
    pub(crate) machines: Arc<Queue<ObjectKey>>,
    pub(crate) configs: Arc<Queue<ObjectKey>>,
    pub(crate) health_checks: Arc<Queue<ObjectKey>>,
    /// Hosts whose node may have to join.
    pub(crate) joins: Arc<Queue<ObjectKey>>,
    /// Nodes that are out of service or gone, by [`outage_key`](crate::nodes::outage_key).
    pub(crate) outages: Arc<Queue<ObjectKey>>,
    /// Hosts whose node may need a provider ID.
    pub(crate) cloud: Arc<Queue<ObjectKey>>,
}

/// What every controller shares.
pub(crate) struct Context {
    pub(crate) cast: Cast,
    pub(crate) client: ApiClient,
    pub(crate) caches: Arc<Caches>,
    pub(crate) executor: Executor,
    pub(crate) clock: Clock,
    pub(crate) pace: Pace,
    pub(crate) rng: Rng,
    pub(crate) config_drives: ConfigDrives,
    pub(crate) host_watch: Stopwatch,
    pub(crate) join_watch: Stopwatch,
    pub(crate) outage_watch: Stopwatch,
    pub(crate) kubelets: Arc<Kubelets>,
    pub(crate) bootstrap_watch: Stopwatch,
    pub(crate) workloads: Workloads,
    pub(crate) queues: Queues,
}

impl Context {
    /// Looks, decides and acts on the management API.
    pub(crate) async fn drive(&self, plan: impl FnMut() -> Plan + Send) -> Outcome {
        drive(&self.executor, plan).await
    }

    /// Drives one key: decides about what is observed of it. A key of which nothing is there is done.
    pub(crate) async fn reconcile<S>(
        &self,
        observe: impl Fn(&Caches, &str) -> Option<S> + Send,
        decide: impl Fn(&S, &Rng) -> Plan + Send,
    ) -> Outcome {
        let now = self.clock.now_text();
        let plan = move || observe(&self.caches, &now).map_or_else(Plan::done, |s| decide(&s, &self.rng));
        self.drive(plan).await
    }
}

/// A controller whose work on a key is `work`.
pub(crate) fn controller<F>(
    name: &'static str,
    queue: &Arc<Queue<ObjectKey>>,
    context: &Arc<Context>,
    work: impl Fn(Arc<Context>, ObjectKey) -> F + Send + Sync + 'static,
) -> Controller
where
    F: Future<Output = Outcome> + Send + 'static,
{
    let context = Arc::clone(context);
    let reconcile = Arc::new(move |key| work(Arc::clone(&context), key).boxed());
    Controller::new(name, Arc::clone(queue), reconcile)
}
