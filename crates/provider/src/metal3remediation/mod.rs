//! Metal3Remediation: an unhealthy machine gets its host powered off and on, and is given up if that does not help.
//!
//! A MachineHealthCheck makes the object and deletes it when the Machine is healthy again. `attempt` powers the host off and
//! takes its Node out of service, `recovery` powers it on and gives the Node back what it had, `give_up` marks the host and has
//! the Machine replaced, `clean_up` takes back whatever was done. What was done is recorded on objects before it is done, so
//! that a restart or a move goes on where it was. Woken by the object itself, its Machine, Metal3Machine, host and Cluster, by
//! the connection to the workload cluster and its Nodes, and, while a Node is drained, by what is left of it.

mod attempt;
mod clean_up;
mod decide;
#[cfg(test)]
mod decide_tests;
mod give_up;
mod node;
mod observe;
mod pass;
mod reconcile;
mod recovery;
mod watches;

use std::sync::Arc;

use capm3_engine::{Controller, ObjectKey, Queue};

pub use decide::decide;
pub use observe::{Answers, Nodes, ReadNode, RemediationSnapshot, observe};
pub use pass::{Decision, Question};
use reconcile::{CONTROLLER, State, reconcile};

use crate::context::{Context, boxed};

pub(crate) fn controller(context: &Context) -> Controller {
    let queue = Arc::new(Queue::default());
    watches::watch(context, &queue);
    let (context, state) = (context.clone(), Arc::new(State::default()));
    let reconcile = move |key: ObjectKey| {
        let (context, state) = (context.clone(), Arc::clone(&state));
        boxed(async move { reconcile(&context, &state, &key).await })
    };
    Controller::new(CONTROLLER, queue, Arc::new(reconcile))
}
