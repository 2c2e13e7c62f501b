//! Metal3Machine: from Machine to host and back.
//!
//! Woken by itself, by its Machine, Cluster and Metal3Cluster, by its host, its claim and its data, by the Nodes of
//! its workload cluster and, while it has no host, in its turn by a host that became usable, or by one that was
//! kept for it and cannot be had any more.

mod associate;
mod candidates;
mod choice;
mod data;
mod decide;
mod delete;
pub(crate) mod host_data;
mod line;
mod live;
mod node;
mod observe;
mod observe_nodes;
mod offers;
mod orphans;
mod pause;
mod preview;
mod reconcile;
mod refusal;
mod silence;
mod stage;
mod status;
#[cfg(test)]
mod tests;
mod watch;

use std::sync::Arc;

pub use candidates::{AllHosts, Candidates};
use capm3_engine::{Controller, ObjectKey, Queue};
pub use choice::choose_host;
pub use decide::{Awaits, Decision, decide, is_provisioned};
pub use host_data::HostData;
pub use live::{Live, Question};
pub use observe::{Inputs, Snapshot, find_hosts, observe};
pub use observe_nodes::{NodeCandidates, Nodes};
use offers::Offers;
pub use preview::{Preview, Reported, preview};
pub use stage::Stage;

use crate::context::{Context, boxed};

pub(crate) fn controller(context: &Context) -> Controller {
    let queue = Arc::new(Queue::default());
    let offers = Arc::new(Offers::default());
    watch::watch(context, &queue, &offers);
    let (context, told) = (context.clone(), Arc::clone(&queue));
    Controller::new(
        reconcile::CONTROLLER,
        queue,
        Arc::new(move |key: ObjectKey| {
            let (context, offers, told) = (context.clone(), Arc::clone(&offers), Arc::clone(&told));
            boxed(async move {
                offers.looks(&key);
                let (outcome, awaits) = reconcile::reconcile(&context, &key).await;
                offers.has_looked(&*context.caches, &key, &awaits).pass_on(&told);
                outcome
            })
        }),
    )
}
