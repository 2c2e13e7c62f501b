//! Whether the definition of Metal3Machines stays, asked once for machines that are deleted together.
//!
//! Takes a machine that is being deleted, gives a doubt or none. A definition is deleted before its objects, and its deletion
//! is never taken back. So if the server is asked after the deletion of a machine was seen, and the definition stays, then that
//! machine was deleted for another reason, whatever happens later. Must not go by names: a machine that is made again under
//! the same name has another uid. Must not keep any other answer, and none for a deletion that was seen after the question.

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
use parking_lot::Mutex;
use tokio::time::Instant;

use super::live_reads::Question;
use crate::{context::Context, indexes::MACHINES_IN_PROGRESS};

/// How long after a question the next one is sent for other machines of the namespace. Deletions that are seen meanwhile share it.
const PACE: Duration = Duration::from_millis(200);

/// What the server has said, by namespace. The lock of a namespace is held while the server is asked, so that the machines that
/// come meanwhile find its answer.
#[derive(Debug, Default)]
pub(super) struct DefinitionCheck {
    namespaces: Mutex<BTreeMap<String, Arc<tokio::sync::Mutex<Asked>>>>,
}

#[derive(Debug, Default)]
struct Asked {
    last: Option<Instant>,
    /// Uids of the machines whose deletion was seen before the server said that the definition stays.
    stays_for: BTreeSet<String>,
}

impl DefinitionCheck {
    /// Asks the server unless its answer is known for this deletion; ends the reconciliation where others were asked for just now.
    pub(super) async fn ask(&self, context: &Context, key: &ObjectKey) -> Result<Option<Doubt>, Outcome> {
        let kind = ResourceKind::of::<Metal3Machine>();
        let deleting = || deleting(&*context.caches, &key.namespace);
        let is_deleting = || is_definition_deleting(&context.client, &kind);
        let uid =
            context.caches.get::<Metal3Machine>(key).map(|machine| machine.metadata.uid_str().to_owned());
        let is_deleting = self.answer(&key.namespace, uid.as_deref(), deleting, is_deleting).await?;
        Ok(is_deleting.then_some(Doubt::DefinitionDeleting))
    }

    /// Whether the definition is being deleted. `deleting` gives the uids of machines whose deletion was seen.
    async fn answer<F: Future<Output = Result<bool, ApiError>>>(
        &self,
        namespace: &str,
        uid: Option<&str>,
        deleting: impl FnOnce() -> BTreeSet<String>,
        is_deleting: impl FnOnce() -> F,
    ) -> Result<bool, Outcome> {
        let asked = Arc::clone(self.namespaces.lock().entry(namespace.to_owned()).or_default());
        let mut asked = asked.lock().await;
        if uid.is_some_and(|uid| asked.stays_for.contains(uid)) {
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

/// Uids of the machines of a namespace that are seen to be deleted.
fn deleting(reader: &impl Reader, namespace: &str) -> BTreeSet<String> {
    let machines = reader.by_index(&MACHINES_IN_PROGRESS, namespace);
    let deleting = machines.iter().filter(|machine| machine.metadata.is_deleting());
    deleting.map(|machine| machine.metadata.uid_str().to_owned()).collect()
}

#[cfg(test)]
#[path = "definition_check_tests.rs"]
mod tests;
