//! The one place that writes: span, precondition, gate, answer into the cache, count, event.

use std::{collections::BTreeMap, sync::Arc};

use serde::Deserialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use thiserror::Error;
use tracing::{Instrument, debug, debug_span, info, warn};

use crate::{
    Caches, Clock, EventNote, ObjectKey, Plan, ResourceKind, WorkloadDelete, WorkloadPatch, WorkloadWriter,
    Write, WriteCounts, WriteGate,
    client::{ApiClient, ApiError, Deletion, PageMeta, decode},
};

/// A write that the server did not take.
#[derive(Debug, Error)]
#[error("{what}")]
pub struct ActError {
    /// The request, without its content.
    pub what: String,
    /// Kind of the object that was to be written; none if nothing was to be written.
    pub kind: Option<ResourceKind>,
    /// Whether the object is one of a workload cluster.
    pub is_of_workload: bool,
    /// Why.
    #[source]
    pub source: ApiError,
}

impl ActError {
    /// A request that writes nothing.
    pub fn reading(what: impl Into<String>, source: ApiError) -> Self {
        Self { what: what.into(), kind: None, is_of_workload: false, source }
    }

    fn of(write: &Write, source: ApiError) -> Self {
        let is_of_workload = write.workload().is_some();
        Self { what: write.aim(), kind: Some(write.kind().clone()), is_of_workload, source }
    }

    /// Whether another pass at once is the answer. A view of a workload cluster is not read again for a write, so it needs
    /// time.
    pub fn is_outdated_view(&self) -> bool {
        self.source.is_outdated_view() && !self.is_of_workload
    }
}

/// Carries out plans.
#[derive(Debug, Clone)]
pub struct Executor {
    client: ApiClient,
    caches: Arc<Caches>,
    clock: Clock,
    component: &'static str,
    workloads: Option<Arc<dyn WorkloadWriter>>,
    counts: WriteCounts,
    observer: Option<WriteObserver>,
    gate: WriteGate,
}

type TellOfWrite = dyn Fn(&Write, Option<&ApiError>) + Send + Sync;

/// Gets each write that was sent, with its result.
#[derive(Clone)]
struct WriteObserver(Arc<TellOfWrite>);

impl std::fmt::Debug for WriteObserver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("WriteObserver")
    }
}

/// Versions that this plan's own writes produced, so that a later write of the plan is not refused for an earlier.
type OwnVersions = BTreeMap<(ResourceKind, ObjectKey), String>;

/// What a plan needs to know of a stored object.
#[derive(Deserialize)]
struct Answer {
    metadata: PageMeta,
}

/// Carries out a plan part by part; the parts may write the same objects.
#[derive(Debug)]
pub struct Acting<'a> {
    executor: &'a Executor,
    own: OwnVersions,
}

impl Acting<'_> {
    /// Carries out one part like [`Executor::act`].
    pub async fn act<W>(&mut self, part: &Plan<W>) -> Result<(), ActError> {
        let Self { executor, own } = self;
        let (mut done, mut result) = (0, Ok(()));
        for write in &part.writes {
            result = executor.carry_out(write, own).await;
            if result.is_err() {
                break;
            }
            done += 1;
        }
        // What was written has happened, whatever became of the rest.
        executor.record_all(part.events.iter().filter(|note| note.after_writes <= done)).await;
        result
    }

    /// Records events whose writes are done.
    pub async fn record(&self, events: &[EventNote]) {
        self.executor.record_all(events.iter()).await;
    }
}

impl Executor {
    /// An executor whose events name `component` as their source.
    pub fn new(client: ApiClient, caches: Arc<Caches>, clock: Clock, component: &'static str) -> Self {
        let (counts, gate) = (WriteCounts::default(), WriteGate::always_open());
        Self { client, caches, clock, component, workloads: None, counts, observer: None, gate }
    }

    /// The same, which sends a write only while the gate is open.
    #[must_use]
    pub fn with_gate(self, gate: WriteGate) -> Self {
        Self { gate, ..self }
    }

    /// The same, whose writes are counted together with others.
    #[must_use]
    pub fn counted_in(self, counts: WriteCounts) -> Self {
        Self { counts, ..self }
    }

    /// The same, which reports each write that was sent, and what became of it.
    #[must_use]
    pub fn telling(self, observer: impl Fn(&Write, Option<&ApiError>) + Send + Sync + 'static) -> Self {
        Self { observer: Some(WriteObserver(Arc::new(observer))), ..self }
    }

    /// The same, which also writes to workload clusters.
    #[must_use]
    pub fn with_workloads(self, workloads: Arc<dyn WorkloadWriter>) -> Self {
        Self { workloads: Some(workloads), ..self }
    }

    /// How many writes there were.
    pub fn counts(&self) -> &WriteCounts {
        &self.counts
    }

    /// Carries out the writes in order, then the events. On a refusal that means "the view was outdated" the
    /// object is read and enters the cache, so that the next pass sees it.
    pub async fn act<W>(&self, plan: &Plan<W>) -> Result<(), ActError> {
        self.in_parts().act(plan).await
    }

    /// For a plan that comes in parts.
    pub fn in_parts(&self) -> Acting<'_> {
        Acting { executor: self, own: OwnVersions::new() }
    }

    /// Carries out one write in a span of its own and counts it.
    async fn carry_out(&self, write: &Write, own: &mut OwnVersions) -> Result<(), ActError> {
        let (request, is_best_effort) = match write {
            Write::BestEffort(request) => (request.as_ref(), true),
            request => (request, false),
        };
        let span =
            debug_span!("write", verb = request.verb(), kind = %request.kind(), object = %request.key());
        async {
            debug!(write = %request, "writing");
            let result = self.write(request, own).await;
            if !matches!(result, Err(ApiError::GateClosed)) {
                self.counts.add(request, result.as_ref().err());
                if let Some(WriteObserver(observe)) = &self.observer {
                    observe(request, result.as_ref().err());
                }
            }
            let Err(source) = result else { return Ok(()) };
            if is_best_effort && !self.may_succeed_later(request, &source) {
                debug!(error = source.with_causes(), "write failed and is not needed; continues");
                return Ok(());
            }
            if source.is_outdated_view() || source.may_have_taken_effect() {
                self.refresh(request).await;
            }
            Err(ActError::of(request, source))
        }
        .instrument(span)
        .await
    }

    /// Whether a write that was refused may be taken later: nobody has judged it, or its kind cannot be read at present.
    fn may_succeed_later(&self, write: &Write, error: &ApiError) -> bool {
        let health = self.caches.health_of(write.kind());
        error.is_transient() || health.is_some_and(|health| !health.state().is_healthy())
    }

    async fn write(&self, write: &Write, own: &mut OwnVersions) -> Result<(), ApiError> {
        if matches!(write, Write::Create { .. } | Write::Patch { .. } | Write::Delete { .. }) {
            self.client.turn().await;
        }
        match write {
            Write::BestEffort(request) => Box::pin(self.write(request, own)).await?,
            Write::Workload { cluster, kind, key, patch } => {
                let patch = WorkloadPatch { cluster, kind, key, patch };
                self.gate.pass(self.workload_writer()?.send(patch)).await?;
            }
            Write::WorkloadDelete { cluster, kind, key, uid } => {
                let deletion = WorkloadDelete { cluster, kind, key, uid };
                self.gate.pass(self.workload_writer()?.delete(deletion)).await?;
            }
            Write::Create { kind, key, object } => {
                let request = self.client.create_for_text(kind, &key.namespace, object.clone());
                let answer = self.gate.pass(request).await?;
                self.take_in(kind, key, &answer, own)?;
            }
            Write::Patch { kind, key, subresource, version, patch } => {
                let mut patch = patch.clone();
                if let Some(version) = version {
                    let version = own.get(&(kind.clone(), key.clone())).unwrap_or(version);
                    guard(&mut patch, version);
                }
                let request = self.client.merge_patch_for_text(kind, key, *subresource, &patch);
                let answer = self.gate.pass(request).await?;
                self.take_in(kind, key, &answer, own)?;
            }
            Write::Delete { kind, key, uid } => {
                let known = self.caches.version(kind, key);
                match self.gate.pass(self.client.delete(kind, key, uid.as_deref())).await? {
                    // Not guarded by version, so it gives none to later writes of the plan.
                    Deletion::Held(answer) => self.caches.feed(kind, &answer),
                    Deletion::Done => {
                        self.caches.forget(kind, key, known);
                        self.caches.saw_end(kind, uid.as_deref().unwrap_or_default());
                        self.caches.proved_absent(kind, key);
                    }
                    Deletion::Absent => self.caches.forget(kind, key, known),
                }
            }
        }
        Ok(())
    }

    fn workload_writer(&self) -> Result<Arc<dyn WorkloadWriter>, ApiError> {
        let missing = || ApiError::transport("this executor does not write to workload clusters");
        self.workloads.clone().ok_or_else(missing)
    }

    fn take_in(
        &self,
        kind: &ResourceKind,
        key: &ObjectKey,
        answer: &[u8],
        own: &mut OwnVersions,
    ) -> Result<(), ApiError> {
        let Answer { metadata: PageMeta { resource_version, .. } } = decode(answer)?;
        own.extend(resource_version.map(|version| ((kind.clone(), key.clone()), version)));
        self.caches.feed_text(kind, answer);
        Ok(())
    }

    async fn refresh(&self, write: &Write) {
        if write.workload().is_some() {
            return;
        }
        let (kind, key) = (write.kind(), write.key());
        let known = self.caches.version(kind, key);
        match self.client.get::<Value>(kind, key).await {
            Ok(Some(object)) => self.caches.feed(kind, &object),
            Ok(None) => self.caches.forget(kind, key, known),
            Err(error) => warn!(%kind, %key, error = error.with_causes(), "could not read the object again"),
        }
    }

    async fn record_all(&self, events: impl Iterator<Item = &EventNote>) {
        for note in events {
            log(note);
            if note.is_stored {
                self.record(note).await;
            }
        }
    }

    /// Events are best effort. The name is made from the content, so that the same event is one object that counts.
    async fn record(&self, note: &EventNote) {
        let digest = Sha256::digest(format!("{}{}{}{}", note.uid, note.kind, note.reason, note.message));
        let suffix: String = digest.iter().take(8).map(|b| format!("{b:02x}")).collect();
        let name = format!("{}.{suffix}", note.key.name);
        let now = self.clock.now_text();
        let kind = ResourceKind {
            group: String::new(),
            version: "v1".into(),
            kind: "Event".into(),
            plural: "events".into(),
        };
        let event = json!({
            "metadata": {"name": name, "namespace": note.key.namespace},
            "involvedObject": {"apiVersion": note.kind.api_version(), "kind": note.kind.kind, "uid": note.uid,
                "namespace": note.key.namespace, "name": note.key.name},
            "type": if note.warning { "Warning" } else { "Normal" },
            "reason": note.reason, "message": note.message, "count": 1,
            "firstTimestamp": now, "lastTimestamp": now, "source": {"component": self.component},
        });
        self.client.turn().await;
        match self.gate.pass(self.client.create(&kind, &note.key.namespace, event)).await {
            Ok(_) => {}
            Err(ApiError::AlreadyExists { .. }) => {
                self.count_up(&kind, &ObjectKey::new(&note.key.namespace, name), &now).await;
            }
            Err(error) => {
                warn!(error = error.with_causes(), reason = note.reason, "could not record an event")
            }
        }
    }

    /// Says that an event happened again.
    async fn count_up(&self, kind: &ResourceKind, key: &ObjectKey, now: &str) {
        let recorded = self.client.get::<Value>(kind, key).await.unwrap_or_default();
        let count = recorded.as_ref().and_then(|event| event.pointer("/count")?.as_u64()).unwrap_or(1);
        let patch = json!({"count": count + 1, "lastTimestamp": now});
        self.client.turn().await;
        if let Err(error) = self.gate.pass(self.client.merge_patch(kind, key, None, &patch)).await {
            warn!(error = error.with_causes(), event = %key, "could not count up an event");
        }
    }
}

/// One line for each event, with what people search for.
fn log(note: &EventNote) {
    let EventNote { kind, key, reason, message, .. } = note;
    let given = |text: &String| (!text.is_empty()).then(|| text.clone());
    let (cluster, host) = (given(&note.cluster), given(&note.host));
    match note.warning {
        true => warn!(kind = kind.kind, object = %key, cluster, host, reason, "{message}"),
        false => info!(kind = kind.kind, object = %key, cluster, host, reason, "{message}"),
    }
}

fn guard(patch: &mut Value, version: &str) {
    if let Some(map) = patch.as_object_mut() {
        let metadata = map.entry("metadata").or_insert_with(|| json!({}));
        if let Some(metadata) = metadata.as_object_mut() {
            metadata.insert("resourceVersion".to_owned(), version.into());
        }
    }
}
