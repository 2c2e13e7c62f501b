//! Reconciles one Metal3Remediation: observe, decide, then ask, or act.

use std::collections::{BTreeMap, BTreeSet};

use capm3_api::neighbours::{Machine, Node, WholeNode};
use capm3_domain::wait::Wait;
use capm3_engine::{ActError, ApiError, Next, ObjectKey, Outcome, Reconciler, ResourceKind};
use parking_lot::Mutex;

use super::{
    Answers, Decision, Question, ReadNode, decide,
    observe::{Inputs, observe_with},
};
use crate::{context::Context, plan::Plan};

/// Name in logs and counts.
pub(super) const CONTROLLER: &str = "metal3remediation";

/// When a Node that changed while it was read is read again.
const CONFLICT_RETRY: std::time::Duration = std::time::Duration::from_secs(1);

/// The next pass sees why.
const NOT_READ: Outcome = Outcome::After(CONFLICT_RETRY);

/// What the controller keeps beside objects.
#[derive(Default)]
pub(super) struct State {
    /// Nodes whose remains are watched, by remediation.
    drains: Mutex<BTreeMap<ObjectKey, ReadNode>>,
    /// Remediations whose writes to Nodes were forbidden.
    forbidden: Mutex<BTreeSet<ObjectKey>>,
}

impl State {
    fn watch(&self, context: &Context, key: &ObjectKey, node: Option<&ReadNode>) {
        let mut drains = self.drains.lock();
        let before = drains.get(key).cloned();
        if before.as_ref() != node {
            if let Some(ReadNode { cluster, node }) = &before {
                context.workloads.end_drain(cluster, &node.name);
            }
            match node {
                Some(node) => drains.insert(key.clone(), node.clone()),
                None => drains.remove(key),
            };
        }
        drop(drains);
        if let Some(ReadNode { cluster, node }) = node {
            context.workloads.ensure_drain(cluster, &node.name);
        }
    }

    fn forget(&self, context: &Context, key: &ObjectKey) {
        self.watch(context, key, None);
        self.forbidden.lock().remove(key);
        context.waits.forget(CONTROLLER, key);
    }
}

struct RemediationReconciler<'a> {
    context: &'a Context,
    state: &'a State,
    key: &'a ObjectKey,
    answers: Answers,
}

pub(super) async fn reconcile(context: &Context, state: &State, key: &ObjectKey) -> Outcome {
    let reconciler = || RemediationReconciler { context, state, key, answers: Answers::default() };
    let outcome = capm3_engine::reconcile(&context.executor, &mut reconciler()).await;
    match outcome {
        Outcome::Failed(error) if error.is_of_workload && is_forbidden(&error.source) => {
            tracing::warn!(error = %error, cause = %error.source, "no permission to change Nodes; the host is power-cycled, and the Node is left unchanged");
            state.forbidden.lock().insert(key.clone());
            capm3_engine::reconcile(&context.executor, &mut reconciler()).await
        }
        Outcome::Failed(error) if error.is_of_workload && error.source.is_outdated_view() => {
            Outcome::After(CONFLICT_RETRY)
        }
        // A cluster that does not answer counts as unreachable from now on, which the next pass takes into account.
        Outcome::Failed(error) if error.is_of_workload && error.source.is_transient() => {
            Outcome::After(CONFLICT_RETRY)
        }
        outcome => outcome,
    }
}

fn is_forbidden(error: &ApiError) -> bool {
    matches!(error, ApiError::Refused { code: 401 | 403, .. })
}

impl Reconciler for RemediationReconciler<'_> {
    type Question = Question;
    type Wait = Wait;

    fn next(&mut self) -> Next<Question, Wait> {
        let Self { context, state, key, answers } = self;
        let inputs = Inputs {
            workload: &|cluster| context.workloads.get(cluster),
            remains: &|cluster, node| context.workloads.remains(cluster, node),
            is_forbidden: state.forbidden.lock().contains(*key),
            answers,
        };
        let snapshot = observe_with(&*context.caches, &inputs, key).filter(|snapshot| {
            // A MachineHealthCheck copies no label, so its cluster is read from the machine.
            let machine = snapshot.metal3_machine.as_ref().map(|machine| &machine.metadata);
            let metadata = machine.unwrap_or(&snapshot.remediation.metadata);
            !context.watch_filter.ignores(metadata)
        });
        let Some(snapshot) = snapshot else {
            state.forget(context, key);
            return Next::Act(Plan::done());
        };
        let Decision { next, connect, drain } = decide(&snapshot, context.clock.now());
        if let Some(cluster) = connect {
            context.workloads.ensure(&cluster);
        }
        if let Next::Act(_) = &next {
            state.watch(context, key, drain.as_ref());
            // A question is answered for one decision: what follows a write is asked again.
            self.answers = Answers::default();
        }
        context.waits.note(CONTROLLER, key, &next);
        next
    }

    async fn ask(&mut self, question: Question) -> Result<(), Outcome> {
        let workloads = &self.context.workloads;
        match question {
            Question::IsMachineGone(key) => {
                self.context.prove_gone::<Machine>(&key).await?;
                self.answers.is_machine_gone = true;
            }
            Question::Node(place) => {
                let read = workloads.read::<WholeNode>(&place.cluster, &place.node).await;
                let what = || format!("read {} {}", ResourceKind::of::<Node>(), place.node);
                let node = self.answer(read, &place.cluster, what).ok_or(NOT_READ)?;
                self.answers.node = Some((place, node));
            }
            Question::Version(cluster) => {
                let read = workloads.version(&cluster).await;
                let version = self.answer(read, &cluster, || "read the version".to_owned());
                let version = version.ok_or(NOT_READ)?;
                self.answers.version = Some((cluster, version));
            }
            Question::Machine(key) => {
                let machine = self.context.read_live::<Machine>(&key).await.map_err(|source| {
                    let what = format!("read {} {key}", ResourceKind::of::<Machine>());
                    Outcome::Failed(ActError::reading(what, source))
                })?;
                self.answers.machine = machine;
                if self.answers.machine.is_none() {
                    return Err(Outcome::After(CONFLICT_RETRY));
                }
            }
        }
        Ok(())
    }
}

impl RemediationReconciler<'_> {
    /// An answer of a workload cluster; none if it may not be had, or not now, which the next pass takes into account.
    fn answer<T>(
        &self,
        read: Result<T, ApiError>,
        cluster: &ObjectKey,
        what: impl Fn() -> String,
    ) -> Option<T> {
        let failed = |source: &ApiError| {
            if is_forbidden(source) {
                self.state.forbidden.lock().insert(self.key.clone());
            }
            tracing::debug!(
                error = source.with_causes(),
                "could not {} of workload cluster {cluster}",
                what()
            );
        };
        read.inspect_err(failed).ok()
    }
}
