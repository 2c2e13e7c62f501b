//! IPPool: the built-in address manager. Gives each claim an address, as an IPAddress, and takes it back when the
//! claim goes. Claims of Cluster API (IPAddressClaim) that name a pool are served from the same books.
//!
//! One pass serves the whole pool: releases first, then claims by age. Woken by the pool, by its claims and
//! addresses, by its Cluster, and by the end of any address whose name was in the way. Only IPAddress objects say
//! which address is in use; the status is their mirror.

mod allot;
mod claim;
mod decide;
mod kinds;
mod left_behind;
mod observe;
mod wake;

use std::sync::Arc;

pub use allot::draw;
use capm3_api::ipam::IpPool;
use capm3_engine::{Controller, ObjectKey, Queue, Reader};
pub(crate) use decide::is_at_work;
pub use decide::{decide, decide_in_parts};
pub use kinds::{Claim, Given};
pub use observe::{Snapshot, observe};

use crate::{
    batch::serve,
    context::{Context, boxed},
};

pub(crate) fn controller(context: &Context) -> Controller {
    let queue = Arc::new(Queue::default());
    wake::watch(&context.caches, &queue);
    let context = context.clone();
    Controller::new(
        "ippool",
        queue,
        Arc::new(move |key: ObjectKey| {
            let context = context.clone();
            boxed(async move {
                if context.caches.get::<IpPool>(&key).is_none() {
                    return left_behind::clean_up(&context, &key).await;
                }
                serve(&context, || observe(&*context.caches, &key)).await
            })
        }),
    )
}
