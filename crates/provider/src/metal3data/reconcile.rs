//! Reconciles one Metal3Data: observe, decide, then prove an absence or act.

use std::collections::BTreeSet;

use capm3_api::v1beta2::Metal3Data;
use capm3_domain::wait::Wait;
use capm3_engine::{Next, ObjectKey, Outcome, Reader, Reconciler, ResourceKind};

use super::{Settings, claim_state::to_prove, decide, observe, orphaned_dependents};
use crate::{context::Context, plan::Plan};

/// Name in logs and counts.
pub(crate) const CONTROLLER: &str = "metal3data";

/// An object that must be proven to be gone.
type Absence = (ResourceKind, ObjectKey);

struct DataReconciler<'a> {
    context: &'a Context,
    key: &'a ObjectKey,
    /// Absences that the server was asked about.
    proven: BTreeSet<Absence>,
}

pub(super) async fn reconcile(context: &Context, key: &ObjectKey) -> Outcome {
    let Some(data) = context.caches.get::<Metal3Data>(key) else {
        context.waits.forget(CONTROLLER, key);
        return orphaned_dependents::clean_up(context, key).await;
    };
    if context.watch_filter.ignores(&data.metadata) {
        context.waits.forget(CONTROLLER, key);
        return Outcome::Settled;
    }
    let mut data = DataReconciler { context, key, proven: BTreeSet::new() };
    capm3_engine::reconcile(&context.executor, &mut data).await
}

impl Reconciler for DataReconciler<'_> {
    type Question = Absence;
    type Wait = Wait;

    fn next(&mut self) -> Next<Absence, Wait> {
        let settings = Settings {
            serves_addresses: self.context.serves_addresses,
            names_claims_by_host: self.context.names_claims_by_host,
        };
        let Some(snapshot) = observe(&*self.context.caches, self.key, settings) else {
            return Next::Act(Plan::done());
        };
        let next = match to_prove(&snapshot).into_iter().find(|absence| !self.proven.contains(absence)) {
            Some(absence) => Next::Ask(absence),
            None => Next::Act(decide(&snapshot, &self.context.clock.now_text())),
        };
        self.context.waits.note(CONTROLLER, self.key, &next);
        next
    }

    async fn ask(&mut self, (kind, key): Absence) -> Result<(), Outcome> {
        self.context.prove_gone_of(&kind, &key).await?;
        self.proven.insert((kind, key));
        Ok(())
    }
}
