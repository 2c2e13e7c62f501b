//! Reconciles one Metal3Cluster: observe, decide, then prove that no Machine is left, or act.

use capm3_domain::wait::Wait;
use capm3_engine::{Next, ObjectKey, Outcome, Reconciler};

use super::{decide, observe};
use crate::{context::Context, indexes::CAPI_MACHINES_BY_CLUSTER, plan::Plan};

/// Name in logs and counts.
pub(super) const CONTROLLER: &str = "metal3cluster";

struct ClusterReconciler<'a> {
    context: &'a Context,
    key: &'a ObjectKey,
    /// Whether it is proven that the Cluster has no Machine.
    is_proven_empty: bool,
}

pub(super) async fn reconcile(context: &Context, key: &ObjectKey) -> Outcome {
    let mut cluster = ClusterReconciler { context, key, is_proven_empty: false };
    capm3_engine::reconcile(&context.executor, &mut cluster).await
}

impl Reconciler for ClusterReconciler<'_> {
    /// The Cluster of which it must be proven that it has no Machine, as the index has it.
    type Question = String;
    type Wait = Wait;

    fn next(&mut self) -> Next<String, Wait> {
        let Some(snapshot) = observe(&*self.context.caches, self.key, self.is_proven_empty) else {
            self.context.waits.forget(CONTROLLER, self.key);
            return Next::Act(Plan::done());
        };
        if self.context.watch_filter.ignores(&snapshot.metal3_cluster.metadata) {
            self.context.waits.forget(CONTROLLER, self.key);
            return Next::Act(Plan::done());
        }
        let next = match snapshot.cluster_to_prove_empty() {
            Some(cluster) => Next::Ask(cluster),
            None => Next::Act(decide(&snapshot, &self.context.clock.now_text())),
        };
        self.context.waits.note(CONTROLLER, self.key, &next);
        next
    }

    async fn ask(&mut self, cluster: String) -> Result<(), Outcome> {
        let namespace = &self.key.namespace;
        self.context.prove_none_left(namespace, &CAPI_MACHINES_BY_CLUSTER, &cluster).await?;
        self.is_proven_empty = true;
        Ok(())
    }
}
