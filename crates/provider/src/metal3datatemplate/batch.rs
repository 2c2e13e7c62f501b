//! One pass that serves many claims: the order of claims, the parts of the plan, and what to do when the server
//! refuses one of them. Shared by the controllers that hand out indexes and addresses.

use std::{cmp::Ordering, collections::BTreeMap, time::Duration};

use capm3_api::metadata::MetadataExt;
use capm3_engine::{
    ActError, ApiError, End, Executor, Object, ObjectKey, Outcome, Plan, drive, informer::Change,
};
use kube::core::ObjectMeta;

/// How soon to look again at a status that was already written in this second.
pub(crate) const STATUS_PACE: Duration = Duration::from_millis(250);

/// Claims whose writes the server refused, by name, with the server's words.
pub(crate) type Refusals = BTreeMap<String, String>;

/// A plan in parts: what comes before the claims, each claim by itself, and what comes after them.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    pub(crate) head: Plan,
    pub(crate) claims: Vec<(ObjectKey, Plan)>,
    pub(crate) tail: Plan,
}

impl Batch {
    /// The whole as one plan; it ends as the tail says.
    pub(crate) fn into_plan(self) -> Plan {
        let mut plan = self.head;
        for (_, part) in self.claims {
            plan.append(part);
        }
        let end = self.tail.end.clone();
        plan.append(self.tail);
        plan.ending(end)
    }
}

/// Carries out the whole batch as one plan. When the server refuses a write, the claims are served one by one, so
/// that nobody waits behind a bad one, and the refused claims are told.
pub(crate) async fn serve(executor: &Executor, mut batch: impl FnMut(&Refusals) -> Batch) -> Outcome {
    let mut refusals = Refusals::new();
    let outcome = drive(executor, || batch(&refusals).into_plan()).await;
    let Outcome::Failed(failure) = outcome else {
        return outcome;
    };
    if refusal(&failure).is_none() {
        return Outcome::Failed(failure);
    }
    let parts = batch(&refusals);
    if let Err(failure) = executor.act(&parts.head).await {
        return Outcome::Failed(failure);
    }
    for (claim, part) in &parts.claims {
        if let Err(failure) = executor.act(part).await
            && let Some(words) = refusal(&failure)
        {
            refusals.insert(claim.name.clone(), words);
        }
    }
    // Whatever this leaves undone is done by the next try, which the failure brings about anyway.
    drive(executor, || batch(&refusals).into_plan()).await;
    Outcome::Failed(failure)
}

/// The server's words, if it looked at the write and did not want it. Overload and absence are no refusals.
fn refusal(failure: &ActError) -> Option<String> {
    match &failure.source {
        ApiError::Refused { code, message, .. } if (400..500).contains(code) && *code != 429 => {
            Some(message.clone())
        }
        _ => None,
    }
}

/// Older claims first, then by name: equal input gives equal answers.
pub(crate) fn by_age(a: &ObjectMeta, b: &ObjectMeta) -> Ordering {
    let age = |meta: &ObjectMeta| meta.creation_timestamp.as_ref().map(|time| time.0);
    age(a).cmp(&age(b)).then_with(|| a.name_str().cmp(b.name_str()))
}

/// Puts a finalizer behind those that are there.
pub(crate) fn add_finalizer(metadata: &mut ObjectMeta, finalizer: &str) {
    if !metadata.has_finalizer(finalizer) {
        metadata
            .finalizers
            .get_or_insert_default()
            .push(finalizer.to_owned());
    }
}

/// Takes a finalizer off.
pub(crate) fn remove_finalizer(metadata: &mut ObjectMeta, finalizer: &str) {
    if let Some(finalizers) = &mut metadata.finalizers {
        finalizers.retain(|f| f != finalizer);
    }
}

/// A status that changes with every claim is written at most once a second: claims that trickle in share a write.
pub(crate) fn may_write_status(last_updated: Option<&str>, now: &str) -> bool {
    last_updated != Some(now)
}

/// How a pass ends that may have a status to write later and may wait for something.
pub(crate) fn end(status_is_due: bool, waits_for: Option<String>) -> End {
    match (status_is_due, waits_for) {
        (true, _) => End::After(STATUS_PACE),
        (false, Some(what)) => End::WaitFor(what),
        (false, None) => End::Done,
    }
}

/// The object, unless only its status changed: those changes are our own writes, or the data controller's.
pub(crate) fn changed_beside_status<K: Object>(change: &Change<K>) -> Option<&K> {
    let (old, new) = match (&change.old, &change.new) {
        (Some(old), Some(new)) => (old, new),
        (old, new) => return new.as_deref().or(old.as_deref()),
    };
    let same = |a: &ObjectMeta, b: &ObjectMeta| {
        a.deletion_timestamp == b.deletion_timestamp
            && a.finalizers == b.finalizers
            && a.labels == b.labels
            && a.annotations == b.annotations
            && a.owner_references == b.owner_references
            && a.generation == b.generation
    };
    (!same(old.meta(), new.meta())).then_some(new.as_ref())
}

/// The object, if it appeared, vanished, or its deletion began: what others do with it does not matter here.
pub(crate) fn came_or_went<K: Object>(change: &Change<K>) -> Option<&K> {
    match (&change.old, &change.new) {
        (Some(old), Some(new)) => {
            (old.meta().deletion_timestamp != new.meta().deletion_timestamp).then_some(new.as_ref())
        }
        (old, new) => new.as_deref().or(old.as_deref()),
    }
}
