//! Metal3Data: addresses and rendered Secrets of one claim.
//!
//! Woken by itself, its claim, its template, its machine and that machine's host, its address claims and addresses,
//! its Secrets, and its Cluster.

mod claim_state;
mod claims;
mod decide;
mod glance;
mod halves;
mod left_behind;
mod observe;
mod pools;
mod secrets;
mod status;
#[cfg(test)]
mod tests;
mod watch;

use std::sync::Arc;

use crate::plan::Plan;
use capm3_api::v1beta2::Metal3Data;
use capm3_engine::{Controller, ObjectKey, Outcome, Queue, Reader, drive};

pub(crate) use claim_state::{ClaimState, claim_state};
pub use claims::{AddressClaim, PoolClaim, claim_name, of_capi, of_metal3};
pub use decide::decide;
pub use glance::waits_for;
pub use halves::{halves, render, wanted_spec};
pub(crate) use observe::claim_is_gone;
pub use observe::{Snapshot, observe};

use crate::context::{Context, boxed};

pub(crate) fn controller(context: &Context) -> Controller {
    let queue = Arc::new(Queue::default());
    watch::watch(context, &queue);
    let context = context.clone();
    Controller::new(
        "metal3data",
        queue,
        Arc::new(move |key: ObjectKey| {
            let context = context.clone();
            boxed(async move { reconcile(&context, &key).await })
        }),
    )
}

async fn reconcile(context: &Context, key: &ObjectKey) -> Outcome {
    if context.caches.get::<Metal3Data>(key).is_none() {
        return left_behind::clean_up(context, key).await;
    }
    let absences =
        observe(&*context.caches, key).map(|snapshot| claim_state::to_prove(&snapshot)).unwrap_or_default();
    for (kind, missing) in absences {
        if let Err(unproven) = context.prove_gone_of(&kind, &missing).await {
            return unproven;
        }
    }
    drive(&context.executor, || match observe(&*context.caches, key) {
        Some(snapshot) => {
            let snapshot = Snapshot {
                serves_addresses: context.serves_addresses,
                names_claims_by_host: context.names_claims_by_host,
                ..snapshot
            };
            decide(&snapshot, &context.clock.now_text())
        }
        None => Plan::done(),
    })
    .await
}
