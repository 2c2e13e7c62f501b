//! Metal3DataTemplate: gives each claim the lowest free index, as a Metal3Data, and takes it back when the claim
//! goes.
//!
//! One pass serves the whole template. Woken by the template, by its claims, by its data, and by a Cluster whose
//! pause begins or ends. Only objects say which index is in use; the status is their mirror.

mod claim;
mod decide;
#[cfg(test)]
#[path = "../../tests/memory/mod.rs"]
pub(crate) mod memory;
mod observe;
mod status;
mod wake;

use std::sync::Arc;

use capm3_engine::{Controller, ObjectKey, Queue};
pub use decide::decide;
pub use observe::{Snapshot, observe};

use crate::{
    batch,
    context::{Context, boxed},
};

pub(crate) fn controller(context: &Context) -> Controller {
    let queue = Arc::new(Queue::default());
    wake::watch(&context.caches, &queue);
    let context = context.clone();
    Controller::new(
        "metal3datatemplate",
        queue,
        Arc::new(move |key: ObjectKey| {
            let context = context.clone();
            boxed(async move {
                batch::serve(&context.executor, |refused| match observe(&*context.caches, &key) {
                    Some(snapshot) => {
                        let snapshot = Snapshot { refused: refused.clone(), ..snapshot };
                        decide::batch(&snapshot, &context.clock.now_text())
                    }
                    None => batch::Batch::default(),
                })
                .await
            })
        }),
    )
}
