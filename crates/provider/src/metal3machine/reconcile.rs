//! Reconciles one Metal3Machine: observe, decide, then ask the server or act; a write that the server refuses is reported.

use capm3_api::v1beta2::Metal3Machine;
use capm3_domain::wait::{Refusal, Wait};
use capm3_engine::{Next, ObjectKey, Outcome, Reader, Reconciler};
use tracing::debug;

use super::{
    Awaits, DefinitionCheck, Inputs, Live, Question, decide, live_reads, observe, orphaned_dependents,
    refusal,
};
use crate::{context::Context, host_crd, plan::Plan};

/// Name in logs and counts.
pub(crate) const CONTROLLER: &str = "metal3machine";

/// A machine, and what was learned of it from the server.
pub(super) struct MachineReconciler<'a> {
    context: &'a Context,
    definition: &'a DefinitionCheck,
    key: &'a ObjectKey,
    live: Live,
    host_lacks: Vec<&'static str>,
    refused: Option<Refusal>,
    /// What the last decision waits for.
    awaits: Awaits,
}

/// Gives the outcome, and the hosts that the machine waits for.
pub(super) async fn reconcile(
    context: &Context,
    definition: &DefinitionCheck,
    key: &ObjectKey,
) -> (Outcome, Awaits) {
    let Some(machine) = context.caches.get::<Metal3Machine>(key) else {
        context.waits.forget(CONTROLLER, key);
        return (orphaned_dependents::clean_up(context, key).await, Awaits::Nothing);
    };
    if context.watch_filter.ignores(&machine.metadata) {
        context.waits.forget(CONTROLLER, key);
        return (Outcome::Settled, Awaits::Nothing);
    }
    let host_lacks = match context.host_crd.lacks(&context.client).await {
        Ok(lacks) => lacks.to_vec(),
        Err(error) => return (Outcome::Failed(error), Awaits::Nothing),
    };
    let mut machine = MachineReconciler {
        context,
        definition,
        key,
        live: Live::default(),
        host_lacks,
        refused: None,
        awaits: Awaits::Nothing,
    };
    let outcome = capm3_engine::reconcile(&context.executor, &mut machine).await;
    let awaits = std::mem::take(&mut machine.awaits);
    if let Outcome::Failed(failure) = &outcome
        && let Some(refusal) = refusal::of(failure)
    {
        machine.report(refusal).await;
    }
    match outcome {
        // No watch reports a newer CRD.
        Outcome::Settled if !machine.host_lacks.is_empty() => (Outcome::After(host_crd::AGAIN), awaits),
        outcome => (outcome, awaits),
    }
}

impl MachineReconciler<'_> {
    /// Reports what the server refused, which is all that is written then.
    async fn report(&mut self, refusal: Refusal) {
        self.refused = Some(refusal);
        let Next::Act(report) = self.next() else { return };
        if let Err(error) = self.context.executor.act(&report).await {
            debug!(key = %self.key, %error, cause = %error.source, "the refusal cannot be reported");
        }
    }
}

impl Reconciler for MachineReconciler<'_> {
    type Question = Question;
    type Wait = Wait;

    fn next(&mut self) -> Next<Question, Wait> {
        let context = self.context;
        let inputs = Inputs {
            workload: &|cluster| context.workloads.get(cluster),
            live: &self.live,
            host_lacks: &self.host_lacks,
            refused: self.refused.as_ref(),
            fast_track: context.fast_track,
            is_preview: false,
            knows_secrets: true,
        };
        let Some(snapshot) = observe(&*context.caches, &inputs, self.key) else {
            return Next::Act(Plan::done());
        };
        let decision = decide(&snapshot, &context.clock.now_text());
        if let Some(cluster) = &decision.connect {
            context.workloads.ensure(cluster);
        }
        self.awaits = decision.awaits;
        context.waits.note(CONTROLLER, self.key, &decision.next);
        decision.next
    }

    async fn ask(&mut self, question: Question) -> Result<(), Outcome> {
        live_reads::ask(self.context, self.definition, self.key, question, &mut self.live).await
    }
}
