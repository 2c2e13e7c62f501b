//! The world as a whole: start, end and the questions that tests ask.

use std::sync::Arc;

use capm3_engine::{ApiClient, Caches, Clock, Controller, Executor, ObjectKey, Tasks, WriteGate, rng::Rng};

use crate::{
    capi,
    config_drives::{ConfigDrives, NodeData},
    context::{Context, Queues},
    hosts, indexes, nodes,
    pace::{Pace, Profile, Stopwatch},
    wake,
    workloads::{WorkloadApis, Workloads},
};

/// Which of the neighbours are played.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Cast {
    /// All of them.
    #[default]
    Everybody,
    /// The host operator, the kubelets and the cloud provider: beside a real Cluster API, whose kubeadm control plane looks at
    /// more of a node than the played one does.
    HostsAndNodes,
}

/// How a world runs.
#[derive(Debug, Clone)]
pub struct Options {
    /// Who is played.
    pub cast: Cast,
    /// How much time things take.
    pub profile: Profile,
    /// How many times faster than the profile says.
    pub speed: f64,
    /// Seed of name suffixes and durations.
    pub seed: u64,
    /// Workers per controller.
    pub workers: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { cast: Cast::Everybody, profile: Profile::Instant, speed: 1.0, seed: 1, workers: 4 }
    }
}

/// A running world; dropping it stops everything at once.
pub struct World {
    context: Arc<Context>,
    controllers: Vec<Controller>,
    _tasks: Tasks,
}

impl World {
    /// Starts informers and controllers; must be called on a runtime.
    pub fn start(client: ApiClient, apis: Arc<dyn WorkloadApis>, clock: Clock, options: &Options) -> Self {
        let mut caches = Caches::default();
        indexes::register(&mut caches, options.cast);
        let caches = Arc::new(caches);
        let (queues, kubelets) = (Queues::default(), Arc::new(nodes::Kubelets::default()));
        nodes::follow_power(&caches, &kubelets);
        wake::subscribe(&caches, &queues);
        let context = Arc::new(Context {
            cast: options.cast,
            executor: Executor::new(client.clone(), Arc::clone(&caches), clock, "capm3-world"),
            client: client.clone(),
            caches: Arc::clone(&caches),
            clock,
            pace: Pace::new(options.profile, options.speed, options.seed),
            rng: Rng::seeded(options.seed),
            config_drives: ConfigDrives::default(),
            host_watch: Stopwatch::new(clock),
            join_watch: Stopwatch::new(clock),
            outage_watch: Stopwatch::new(clock),
            kubelets,
            bootstrap_watch: Stopwatch::new(clock),
            workloads: Workloads::new(apis, clock),
            queues,
        });
        let mut controllers = vec![hosts::controller(&context)];
        match options.cast {
            Cast::Everybody => controllers.extend(capi::controllers(&context)),
            Cast::HostsAndNodes => controllers.push(nodes::workloads(&context)),
        }
        controllers.extend(nodes::controllers(&context));
        let tasks = Tasks::default();
        caches.start_informers(&client, &tasks);
        let (workers, gate) = (options.workers.max(1), WriteGate::always_open());
        for controller in &controllers {
            controller.start_when_synced(workers, &tasks, Arc::clone(&caches), &gate);
        }
        Self { context, controllers, _tasks: tasks }
    }

    /// Whether every first list has arrived, no watch is broken, and no key waits, is worked on or is due later.
    pub fn is_idle(&self) -> bool {
        self.context.caches.are_synced()
            && self.context.caches.are_followed()
            && self.context.workloads.are_followed()
            && self.controllers.iter().all(|controller| controller.queue.depth().is_empty())
    }

    /// What the node on a host was given when the host was last provisioned.
    pub fn node_data(&self, host: &ObjectKey) -> Option<NodeData> {
        self.context.config_drives.get(host)
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.context.workloads.forget_all();
    }
}

impl std::fmt::Debug for World {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("World").field("controllers", &self.controllers).finish()
    }
}
