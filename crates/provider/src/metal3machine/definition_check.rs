//! Whether the definition of Metal3Machines stays, asked once for machines that are deleted together.
//!
//! Takes a machine that is being deleted, gives a doubt or none. A definition is deleted before its objects, and its deletion
//! is never taken back. So if the server is asked after the deletion of a machine was seen, and the definition stays, then that
//! machine was deleted for another reason, whatever happens later. Must not go by names: a machine that is made again under
//! the same name has another uid, and one that a backup brings back has another time of deletion when it is deleted again. Must
//! not keep any other answer, and none for a deletion that was seen after the question.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use capm3_api::{metadata::MetadataExt, v1beta2::Metal3Machine};
use capm3_engine::{
    ActError, ApiError, ObjectKey, Outcome, Reader, ResourceKind,
    absence::{Doubt, is_definition_deleting},
};
use jiff::Timestamp;
use parking_lot::Mutex;
use tokio::time::Instant;

use super::live_reads::Question;
use crate::{context::Context, indexes::MACHINES_IN_PROGRESS};

/// How long after a question the next one is sent for other machines of the namespace. Deletions that are seen meanwhile share it.
const PACE: Duration = Duration::from_millis(200);

/// The deletion of a machine: uid and time.
type Deletion = (String, Timestamp);

/// What the server has answered, by namespace. The lock of a namespace is held while the server is asked, so that the machines that
/// come meanwhile find its answer.
#[derive(Debug, Default)]
pub(super) struct DefinitionCheck {
    namespaces: Mutex<BTreeMap<String, Arc<tokio::sync::Mutex<Asked>>>>,
}

#[derive(Debug, Default)]
struct Asked {
    last: Option<Instant>,
    /// Deletions that were seen before the server answered that the definition stays.
    stays_for: BTreeSet<Deletion>,
}

impl DefinitionCheck {
    /// Asks the server unless its answer is known for this deletion; ends the reconciliation where others were asked for just now.
    pub(super) async fn ask(&self, context: &Context, key: &ObjectKey) -> Result<Option<Doubt>, Outcome> {
        let kind = ResourceKind::of::<Metal3Machine>();
        let deleting = || deleting(&*context.caches, &key.namespace);
        let is_deleting = || is_definition_deleting(&context.client, &kind);
        let deletion = context.caches.get::<Metal3Machine>(key).and_then(|machine| deletion(&machine));
        let is_deleting = self.answer(&key.namespace, deletion.as_ref(), deleting, is_deleting).await?;
        Ok(is_deleting.then_some(Doubt::DefinitionDeleting))
    }

    /// Whether the definition is being deleted. `deleting` gives every deletion that was seen.
    async fn answer<F: Future<Output = Result<bool, ApiError>>>(
        &self,
        namespace: &str,
        deletion: Option<&Deletion>,
        deleting: impl FnOnce() -> BTreeSet<Deletion>,
        is_deleting: impl FnOnce() -> F,
    ) -> Result<bool, Outcome> {
        let asked = Arc::clone(self.namespaces.lock().entry(namespace.to_owned()).or_default());
        let mut asked = asked.lock().await;
        if deletion.is_some_and(|deletion| asked.stays_for.contains(deletion)) {
            return Ok(false);
        }
        let rest = asked.last.map(|last| PACE.saturating_sub(last.elapsed())).unwrap_or_default();
        if !rest.is_zero() {
            return Err(Outcome::After(rest));
        }
        asked.last = Some(Instant::now());
        // Before the question: its answer says nothing of a deletion that is seen after it.
        let deleting = deleting();
        let is_deleting = is_deleting().await.map_err(failed)?;
        if !is_deleting {
            asked.stays_for = deleting;
        }
        Ok(is_deleting)
    }
}

fn failed(source: ApiError) -> Outcome {
    Outcome::Failed(ActError::reading(Question::Definition.aim(""), source))
}

fn deletion(machine: &Metal3Machine) -> Option<Deletion> {
    let time = machine.metadata.deletion_timestamp.as_ref()?;
    Some((machine.metadata.uid_str().to_owned(), time.0))
}

/// The deletions of machines of a namespace that are seen.
fn deleting(reader: &impl Reader, namespace: &str) -> BTreeSet<Deletion> {
    let machines = reader.by_index(&MACHINES_IN_PROGRESS, namespace);
    machines.iter().filter_map(|machine| deletion(machine)).collect()
}

#[cfg(test)]
#[path = "definition_check_tests.rs"]
mod tests;
