//! Metal3Data: addresses and rendered Secrets of one claim.
//!
//! Woken by itself, its claim, its template, its machine and that machine's host, its address claims and addresses,
//! its Secrets, and its Cluster.

mod claim_state;
mod claims;
mod compare;
mod decide;
mod observe;
mod orphaned_dependents;
mod pools;
mod reconcile;
mod secrets;
mod status;
#[cfg(test)]
mod tests;
mod wanted_documents;
mod watches;

use std::sync::Arc;

use capm3_engine::{Controller, ObjectKey, Queue};

pub(crate) use claim_state::{ClaimState, claim_state};
pub use claims::{AddressClaim, PoolClaim, claim_kind, claim_name, new_ip_claim, of_capi, of_metal3};
pub(crate) use compare::{Differing, differing_secrets};
pub use decide::decide;
pub(crate) use observe::claim_is_gone;
pub use observe::{DataSnapshot, Settings, observe};
pub(crate) use reconcile::CONTROLLER;
pub(crate) use wanted_documents::{asks_for, hold};
pub use wanted_documents::{render, wanted_documents, wanted_spec};

use crate::context::{Context, boxed};

pub(crate) fn controller(context: &Context) -> Controller {
    let queue = Arc::new(Queue::default());
    watches::watch(context, &queue);
    let context = context.clone();
    Controller::new(
        reconcile::CONTROLLER,
        queue,
        Arc::new(move |key: ObjectKey| {
            let context = context.clone();
            boxed(async move { reconcile::reconcile(&context, &key).await })
        }),
    )
}
