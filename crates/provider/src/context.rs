//! The provider as a whole: caches, controllers, workload clusters, and their start and end.

use std::sync::Arc;

use capm3_engine::{ApiClient, Caches, Clock, Controller, Executor, Tasks, controller::Outcome};
use futures::{FutureExt, future::BoxFuture};

use crate::{
    indexes, ippool, metal3cluster, metal3data, metal3datatemplate, metal3machine,
    workload::{Connect, Workloads},
};

/// How a provider runs.
#[derive(Debug, Clone)]
pub struct Options {
    /// Workers per controller.
    pub workers: usize,
    /// Whether the built-in address manager serves IPPools.
    pub serve_addresses: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { workers: 10, serve_addresses: true }
    }
}

/// What every controller needs.
#[derive(Clone)]
pub(crate) struct Context {
    pub(crate) caches: Arc<Caches>,
    pub(crate) executor: Executor,
    pub(crate) clock: Clock,
    pub(crate) workloads: Arc<Workloads>,
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
            caches: Arc::clone(&caches),
            clock,
            workloads: Arc::clone(&workloads),
        };
        let mut controllers = vec![
            metal3cluster::controller(&context),
            metal3machine::controller(&context),
            metal3datatemplate::controller(&context),
            metal3data::controller(&context),
        ];
        if options.serve_addresses {
            controllers.push(ippool::controller(&context));
        }
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

    /// Whether every first list has arrived and no key waits, is worked on or is due later.
    pub fn is_idle(&self) -> bool {
        self.caches.are_synced()
            && self.workloads.is_settled()
            && self.controllers.iter().all(|controller| controller.queue.depth().is_empty())
    }
}

/// Boxes the work on a key.
pub(crate) fn boxed(work: impl Future<Output = Outcome> + Send + 'static) -> BoxFuture<'static, Outcome> {
    work.boxed()
}
