//! Label sync: the Node on a BareMetalHost gets those labels of the host whose prefixes the Metal3Cluster lists.
//!
//! Takes hosts, the annotations of their Metal3Clusters and the Nodes of workload clusters; writes labels of Nodes, and the
//! record of them. Nothing is ever written to a host. Woken by what a decision looks at: labels of the host, its machine and
//! Machine, Cluster and Metal3Cluster, the connection to the workload cluster, and labels of the Node.

mod decide;
#[cfg(test)]
mod decide_tests;
mod observe;
mod reconcile;
mod watches;

use std::sync::Arc;

use capm3_engine::{Controller, ObjectKey, Queue};

pub use decide::{Answer, Decision, InSync, ReadNode, decide};
pub use observe::{Inputs, LabelSnapshot, Nodes, observe};
use reconcile::{CONTROLLER, InSyncNodes, reconcile};

use crate::context::{Context, boxed};

pub(crate) fn controller(context: &Context) -> Controller {
    let queue = Arc::new(Queue::default());
    watches::watch(context, &queue);
    let (context, known) = (context.clone(), Arc::new(InSyncNodes::default()));
    let reconcile = move |key: ObjectKey| {
        let (context, known) = (context.clone(), Arc::clone(&known));
        boxed(async move { reconcile(&context, &known, &key).await })
    };
    Controller::new(CONTROLLER, queue, Arc::new(reconcile))
}
