//! Metal3Machine: from Machine to host and back.
//!
//! Woken by itself, by its Machine, Cluster and Metal3Cluster, by its host, its claim and its data, by the Nodes of
//! its workload cluster and, while it has no host, in its turn by a host that became usable, or by one that was
//! kept for it and cannot be had any more.

mod associate;
mod candidates;
mod choice;
mod claim_release;
mod data;
mod decide;
mod definition_check;
mod delete;
pub(crate) mod host_data;
mod host_waiters;
mod live_reads;
mod node;
mod observe;
mod observe_nodes;
mod orphaned_dependents;
mod pause;
mod preview;
mod reconcile;
mod refusal;
mod reserved_waiters;
mod stage;
mod status;
mod status_throttle;
#[cfg(test)]
mod tests;
mod watches;

use std::sync::Arc;

pub use candidates::{AllHosts, Candidates};
use capm3_engine::{Controller, ObjectKey, Queue};
pub use choice::{choose_host, host_to_take};
pub use data::new_claim;
pub use decide::{Awaits, Decision, decide, is_provisioned};
use definition_check::DefinitionCheck;
pub use host_data::HostData;
use host_waiters::HostWaiters;
pub use live_reads::{Live, Question};
pub use observe::{Inputs, MachineSnapshot, find_hosts, observe};
pub use observe_nodes::{NodeCandidates, Nodes};
pub use preview::{Preview, Reported, preview};
pub(crate) use reconcile::CONTROLLER;
pub use stage::Stage;

use crate::context::{Context, boxed};

pub(crate) fn controller(context: &Context) -> Controller {
    let queue = Arc::new(Queue::default());
    let waiters = Arc::new(HostWaiters::default());
    watches::watch(context, &queue, &waiters);
    let (context, wakes, definition) =
        (context.clone(), Arc::clone(&queue), Arc::new(DefinitionCheck::default()));
    Controller::new(
        reconcile::CONTROLLER,
        queue,
        Arc::new(move |key: ObjectKey| {
            let (context, waiters, wakes) = (context.clone(), Arc::clone(&waiters), Arc::clone(&wakes));
            let definition = Arc::clone(&definition);
            boxed(async move {
                waiters.begin_reconcile(&key);
                let (outcome, awaits) = reconcile::reconcile(&context, &definition, &key).await;
                waiters.end_reconcile(&*context.caches, &key, &awaits).enqueue(&wakes);
                outcome
            })
        }),
    )
}
