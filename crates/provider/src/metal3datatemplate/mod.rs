//! Metal3DataTemplate: gives each claim the lowest free index, as a Metal3Data, and takes it back when the claim
//! goes.
//!
//! One pass serves the whole template; templates that share an index space share a worker. Woken by the template, by its claims, by its data, and by a Cluster whose
//! pause begins or ends. Only objects say which index is in use; the status is their mirror.

mod allocate;
mod claim;
mod decide;
mod observe;
mod orphaned_dependents;
#[cfg(test)]
mod space_tests;
mod status;
mod template;
mod watches;

use std::{collections::BTreeMap, sync::Arc};

use capm3_api::{
    metadata::MetadataExt,
    v1beta2::{Metal3Data, Metal3DataTemplate},
    vocabulary::finalizer,
};
use capm3_engine::{Controller, Object, ObjectKey, Outcome, Queue, Reader};
pub(crate) use claim::sees_the_end_of;
pub use decide::{allocated, decide, decide_in_parts};
pub use observe::{DataTemplateSnapshot, observe};
pub(crate) use status::entries as index_entries;

use crate::{
    batch::serve,
    context::{Context, boxed},
    indexes::{CLAIMS_BY_TEMPLATE, DATA_BY_TEMPLATE, TEMPLATES_BY_SPACE},
};

/// Name in logs and counts.
const CONTROLLER: &str = "metal3datatemplate";

/// Keys of the queue are index spaces: templates that share one are served one after the other, so that no two of them
/// give the same index at the same time.
pub(crate) fn controller(context: &Context) -> Controller {
    let queue = Arc::new(Queue::default());
    watches::watch(&context.caches, &queue);
    let context = context.clone();
    Controller::new(
        CONTROLLER,
        queue,
        Arc::new(move |space: ObjectKey| {
            let context = context.clone();
            boxed(async move { serve_space(&context, &space).await })
        }),
    )
}

async fn serve_space(context: &Context, space: &ObjectKey) -> Outcome {
    // A template that is not there is looked at under its name.
    if context.caches.get::<Metal3DataTemplate>(space).is_none() {
        context.waits.forget(CONTROLLER, space);
    }
    let mut outcome = orphaned_dependents::clean_up(context, space).await;
    for template in context.caches.by_index(&TEMPLATES_BY_SPACE, &space.to_string()) {
        let key = template.key();
        if context.watch_filter.ignores(&template.metadata) {
            context.waits.forget(CONTROLLER, &key);
            continue;
        }
        outcome = worse(outcome, serve_template(context, &key).await);
    }
    outcome
}

async fn serve_template(context: &Context, key: &ObjectKey) -> Outcome {
    let (mut is_last, mut unseen) = (false, BTreeMap::new());
    let outcome = serve(context, (CONTROLLER, key), || {
        let snapshot = observe(&*context.caches, key)?;
        unseen.clone_from(&snapshot.unseen_datas);
        let is_held = snapshot.template.metadata.has_finalizer(finalizer::DATA_TEMPLATE);
        is_last = is_held && snapshot.seems_empty() && !snapshot.is_proven_empty;
        Some(snapshot)
    })
    .await;
    if unseen.is_empty() && !is_last || !matches!(outcome, Outcome::Settled) {
        return outcome;
    }
    match prove(context, key, &unseen, is_last).await {
        Ok(()) => {
            let proven =
                || Some(DataTemplateSnapshot { is_proven_empty: is_last, ..observe(&*context.caches, key)? });
            serve(context, (CONTROLLER, key), proven).await
        }
        Err(unproven) => unproven,
    }
}

/// Proves what the template cannot go on without.
async fn prove(
    context: &Context,
    template: &ObjectKey,
    unseen: &BTreeMap<String, ObjectKey>,
    is_last: bool,
) -> Result<(), Outcome> {
    for data in unseen.values() {
        context.prove_gone::<Metal3Data>(data).await?;
    }
    if is_last { prove_empty(context, template).await } else { Ok(()) }
}

/// The last finalizer of a template goes once it is proven that it has neither claims nor data.
async fn prove_empty(context: &Context, template: &ObjectKey) -> Result<(), Outcome> {
    let value = template.to_string();
    context.prove_none_left(&template.namespace, &CLAIMS_BY_TEMPLATE, &value).await?;
    context.prove_none_left(&template.namespace, &DATA_BY_TEMPLATE, &value).await
}

/// The one that asks for more.
fn worse(one: Outcome, other: Outcome) -> Outcome {
    match (one, other) {
        (failed @ (Outcome::Failed(_) | Outcome::Restless), _) => failed,
        (_, failed @ (Outcome::Failed(_) | Outcome::Restless)) => failed,
        (Outcome::After(one), Outcome::After(other)) => Outcome::After(one.min(other)),
        (Outcome::After(one), Outcome::Settled) => Outcome::After(one),
        (Outcome::Settled, other) => other,
    }
}
