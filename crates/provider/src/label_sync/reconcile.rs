//! Reconciles the labels of one host: observe, decide, then read the Node, or act.

use std::{collections::BTreeMap, time::Duration};

use capm3_api::neighbours::{Node, WholeNode};
use capm3_domain::wait::Wait;
use capm3_engine::{ActError, Next, ObjectKey, Outcome, Reconciler, ResourceKind};
use parking_lot::Mutex;

use super::{Answer, Decision, InSync, Inputs, decide, decide::ReadNode, observe};
use crate::{context::Context, plan::Plan};

/// Name in logs and counts.
pub(super) const CONTROLLER: &str = "metal3labelsync";

/// When a Node that changed while it was read is read again.
const CONFLICT_RETRY: Duration = Duration::from_secs(1);

/// Nodes as the latest decisions left them, by host.
pub(super) type InSyncNodes = Mutex<BTreeMap<ObjectKey, InSync>>;

struct LabelReconciler<'a> {
    context: &'a Context,
    known: &'a InSyncNodes,
    key: &'a ObjectKey,
    answer: Option<Answer>,
}

pub(super) async fn reconcile(context: &Context, known: &InSyncNodes, key: &ObjectKey) -> Outcome {
    let mut host = LabelReconciler { context, known, key, answer: None };
    match capm3_engine::reconcile(&context.executor, &mut host).await {
        Outcome::Failed(error) if error.is_of_workload && error.source.is_outdated_view() => {
            Outcome::After(CONFLICT_RETRY)
        }
        outcome => outcome,
    }
}

impl Reconciler for LabelReconciler<'_> {
    type Question = ReadNode;
    type Wait = Wait;

    fn next(&mut self) -> Next<ReadNode, Wait> {
        let Self { context, known, key, .. } = *self;
        let inputs = Inputs {
            workload: &|cluster| context.workloads.get(cluster),
            answer: self.answer.as_ref(),
            in_sync: known.lock().get(key).cloned(),
        };
        let snapshot = observe(&*context.caches, inputs, key).filter(|snapshot| {
            let cluster = snapshot.metal3_cluster.as_ref();
            cluster.is_none_or(|cluster| !context.watch_filter.ignores(&cluster.metadata))
        });
        let Some(snapshot) = snapshot else {
            known.lock().remove(key);
            context.waits.forget(CONTROLLER, key);
            return Next::Act(Plan::done());
        };
        let Decision { next, connect, in_sync } = decide(&snapshot);
        if let Some(cluster) = connect {
            context.workloads.ensure(&cluster);
        }
        // A plan that fails leaves the Node with other labels than are noted here, so that it is read again.
        match in_sync {
            Some(in_sync) => known.lock().insert(key.clone(), in_sync),
            None => known.lock().remove(key),
        };
        context.waits.note(CONTROLLER, key, &next);
        next
    }

    async fn ask(&mut self, question: ReadNode) -> Result<(), Outcome> {
        let ReadNode { cluster, node } = &question;
        let read = self.context.workloads.read::<WholeNode>(cluster, node).await;
        let read = read.map_err(|source| {
            let what = format!("read {} {node} of workload cluster {cluster}", ResourceKind::of::<Node>());
            Outcome::Failed(ActError::reading(what, source))
        })?;
        self.answer = Some(Answer { question, node: read });
        Ok(())
    }
}
