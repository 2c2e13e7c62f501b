//! What a controller has decided to do: data, printable and comparable, before anything is done.

use std::{borrow::Cow, fmt, time::Duration};

use kube::core::ObjectMeta;
use serde_json::{Value, json};

use crate::{
    Object, ObjectKey, ResourceKind, merge_diff,
    object_diff::{Part, members, text},
};

/// A wait that only prints.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note(Cow<'static, str>);

impl<T: Into<Cow<'static, str>>> From<T> for Note {
    fn from(text: T) -> Self {
        Self(text.into())
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Ordered writes, events, and how the pass over the object ends.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan<W = Note> {
    /// Writes in order; a failing one ends the plan.
    pub writes: Vec<Write>,
    /// Events to record once the writes are done.
    pub events: Vec<EventNote>,
    /// What happens then.
    pub end: End<W>,
}

impl<W> Default for Plan<W> {
    fn default() -> Self {
        Self { writes: Vec::new(), events: Vec::new(), end: End::Done }
    }
}

/// How a pass over an object ends.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum End<W = Note> {
    /// Nothing left to do until something changes.
    #[default]
    Done,
    /// Waits for something; the watch on it brings the key back.
    WaitFor(W),
    /// Waits for something that no watch reports, and tries again after a while.
    Retry(W, Duration),
    /// Another pass at once: the answers of the writes are needed to go on.
    Again,
    /// Another pass after a while.
    After(Duration),
}

/// One write. It may carry the contents of a Secret, so its `Debug` is its `Display`, which never shows them.
#[derive(Clone, PartialEq)]
pub enum Write {
    /// Creates an object.
    Create {
        /// Its kind.
        kind: ResourceKind,
        /// Its namespace and name.
        key: ObjectKey,
        /// The object without apiVersion and kind.
        object: Value,
    },
    /// Merges a patch into an object, only if it is still the version that was observed.
    Patch {
        /// Its kind.
        kind: ResourceKind,
        /// Its namespace and name.
        key: ObjectKey,
        /// `status`, or the object itself.
        subresource: Option<&'static str>,
        /// Version that was observed; `None` writes whatever the version is.
        version: Option<String>,
        /// The merge patch.
        patch: Value,
    },
    /// Deletes an object, only the one with that uid.
    Delete {
        /// Its kind.
        kind: ResourceKind,
        /// Its namespace and name.
        key: ObjectKey,
        /// Uid of the object that was observed.
        uid: Option<String>,
    },
    /// Merges a patch into an object of a workload cluster, whatever its version is.
    Workload {
        /// The Cluster.
        cluster: ObjectKey,
        /// Kind of the object.
        kind: ResourceKind,
        /// Namespace and name of the object.
        key: ObjectKey,
        /// The merge patch.
        patch: Value,
    },
    /// Deletes an object of a workload cluster, only the one with that uid.
    WorkloadDelete {
        /// The Cluster.
        cluster: ObjectKey,
        /// Kind of the object.
        kind: ResourceKind,
        /// Namespace and name of the object.
        key: ObjectKey,
        /// Uid of the object that was observed.
        uid: String,
    },
    /// A write that is not worth failing for: the plan goes on if the server refuses it. What may succeed later, such as
    /// after an outage, fails as any other write.
    BestEffort(Box<Write>),
}

/// An event to record on an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventNote {
    /// Kind of the object.
    pub kind: ResourceKind,
    /// Namespace and name of the object.
    pub key: ObjectKey,
    /// Uid of the object.
    pub uid: String,
    /// Whether somebody should worry.
    pub warning: bool,
    /// One CamelCase word.
    pub reason: &'static str,
    /// A sentence.
    pub message: String,
    /// How many writes of the plan must be done before it is true.
    pub after_writes: usize,
    /// The cluster that the object belongs to, for the log; empty if it is not known.
    pub cluster: String,
    /// The host that it is about, for the log; empty if it is not known.
    pub host: String,
    /// Whether it is stored as an event; else it is only logged.
    pub is_stored: bool,
}

impl EventNote {
    /// The same, with what the log says besides.
    #[must_use]
    pub fn about(self, cluster: impl Into<String>, host: impl Into<String>) -> Self {
        Self { cluster: cluster.into(), host: host.into(), ..self }
    }

    /// The same, which is only logged.
    #[must_use]
    pub fn only_logged(self) -> Self {
        Self { is_stored: false, ..self }
    }

    /// A normal event on an object.
    pub fn normal<K: Object>(object: &K, reason: &'static str, message: impl Into<String>) -> Self {
        Self {
            kind: ResourceKind::of::<K>(),
            key: object.key(),
            uid: object.meta().uid.clone().unwrap_or_default(),
            warning: false,
            reason,
            message: message.into(),
            after_writes: 0,
            cluster: String::new(),
            host: String::new(),
            is_stored: true,
        }
    }
}

impl EventNote {
    /// An event that somebody should worry about.
    pub fn warning<K: Object>(object: &K, reason: &'static str, message: impl Into<String>) -> Self {
        Self { warning: true, ..Self::normal(object, reason, message) }
    }
}

impl<W> Plan<W> {
    /// A plan that does nothing.
    pub fn done() -> Self {
        Self::default()
    }

    /// A plan that does nothing and waits.
    pub fn wait_for(what: impl Into<W>) -> Self {
        Self { end: End::WaitFor(what.into()), ..Self::default() }
    }

    /// Whether the plan writes nothing.
    pub fn is_quiet(&self) -> bool {
        self.writes.is_empty() && self.events.is_empty()
    }

    /// Adds the creation of an object.
    pub fn create<K: Object>(&mut self, object: &K) {
        let value = serde_json::to_value(object).unwrap_or_default();
        self.create_value(ResourceKind::of::<K>(), object.key(), value);
    }

    /// Adds the creation of an object given as JSON.
    pub fn create_value(&mut self, kind: ResourceKind, key: ObjectKey, mut object: Value) {
        // An absent status and one without members are the same; a server drops it on creation anyway.
        if let Some(map) = object.as_object_mut() {
            map.remove("status");
        }
        self.writes.push(Write::Create { kind, key, object });
    }

    /// Adds what turns `old` into `new`: at most one patch of the object and one of its status, each guarded by the
    /// version that was observed. `true` if anything differs.
    pub fn update<K: Object>(&mut self, old: &K, new: &K) -> bool {
        self.update_parts(old, new, &[Part::Object, Part::Status])
    }

    /// Adds what turns `old` into `new`, leaving the status alone.
    pub fn update_object<K: Object>(&mut self, old: &K, new: &K) -> bool {
        self.update_parts(old, new, &[Part::Object])
    }

    /// Adds what turns the metadata of `old` into `new`, guarded like [`update`](Self::update). It does not look at the rest
    /// of the object, which may be large.
    pub fn update_metadata<K: Object>(&mut self, old: &K, new: &ObjectMeta) {
        let tree = |metadata: &ObjectMeta| serde_json::to_value(metadata).unwrap_or_default();
        if old.meta() == new {
            return;
        }
        if let Some(patch) = merge_diff(&tree(old.meta()), &tree(new)) {
            self.writes.push(Write::Patch {
                kind: ResourceKind::of::<K>(),
                key: old.key(),
                subresource: None,
                version: old.meta().resource_version.clone(),
                patch: json!({"metadata": patch}),
            });
        }
    }

    /// Adds what turns the status of `old` into that of `new`.
    pub fn update_status<K: Object>(&mut self, old: &K, new: &K) -> bool {
        self.update_parts(old, new, &[Part::Status])
    }

    /// Adds what turns `old` into `new` as a write that is not worth failing for, leaving the status alone.
    pub fn try_update_object<K: Object>(&mut self, old: &K, new: &K) {
        let planned = self.writes.len();
        self.update_object(old, new);
        let tried = self.writes.split_off(planned.min(self.writes.len()));
        self.writes.extend(tried.into_iter().map(|write| Write::BestEffort(Box::new(write))));
    }

    fn update_parts<K: Object>(&mut self, old: &K, new: &K, parts: &[Part]) -> bool {
        // Most passes change nothing, and text is compared faster than trees are built.
        let (before, after) = (text(old), text(new));
        if before == after {
            return false;
        }
        let (before, after) = (members(&before), members(&after));
        let planned = self.writes.len();
        for part in parts {
            if let Some(patch) = part.patch(&before, &after) {
                self.writes.push(Write::Patch {
                    kind: ResourceKind::of::<K>(),
                    key: old.key(),
                    subresource: part.subresource(),
                    version: old.meta().resource_version.clone(),
                    patch,
                });
            }
        }
        self.writes.len() > planned
    }

    /// Adds the writes and events of another plan.
    pub fn append(&mut self, other: Self) {
        let before = self.writes.len();
        self.writes.extend(other.writes);
        let shifted = |note: EventNote| EventNote { after_writes: note.after_writes + before, ..note };
        self.events.extend(other.events.into_iter().map(shifted));
    }

    /// Adds the deletion of an object.
    pub fn delete<K: Object>(&mut self, object: &K) {
        let uid = object.meta().uid.clone();
        self.writes.push(Write::Delete { kind: ResourceKind::of::<K>(), key: object.key(), uid });
    }

    /// Adds an event that is true once the writes that are planned so far are done.
    pub fn event(&mut self, note: EventNote) {
        self.events.push(EventNote { after_writes: self.writes.len(), ..note });
    }

    /// Sets the end.
    #[must_use]
    pub fn ending(mut self, end: End<W>) -> Self {
        self.end = end;
        self
    }
}

impl Write {
    /// Kind of the object.
    pub fn kind(&self) -> &ResourceKind {
        match self {
            Self::Create { kind, .. }
            | Self::Patch { kind, .. }
            | Self::Delete { kind, .. }
            | Self::Workload { kind, .. }
            | Self::WorkloadDelete { kind, .. } => kind,
            Self::BestEffort(write) => write.kind(),
        }
    }

    /// Namespace and name of the object.
    pub fn key(&self) -> &ObjectKey {
        match self {
            Self::Create { key, .. }
            | Self::Patch { key, .. }
            | Self::Delete { key, .. }
            | Self::Workload { key, .. }
            | Self::WorkloadDelete { key, .. } => key,
            Self::BestEffort(write) => write.key(),
        }
    }

    /// The verb of the request.
    pub fn verb(&self) -> &'static str {
        match self {
            Self::Create { .. } => "create",
            Self::Patch { .. } | Self::Workload { .. } => "patch",
            Self::Delete { .. } | Self::WorkloadDelete { .. } => "delete",
            Self::BestEffort(write) => write.verb(),
        }
    }

    /// The workload cluster that is written to, if it is not the management cluster.
    pub fn workload(&self) -> Option<&ObjectKey> {
        match self {
            Self::Workload { cluster, .. } | Self::WorkloadDelete { cluster, .. } => Some(cluster),
            Self::BestEffort(write) => write.workload(),
            Self::Create { .. } | Self::Patch { .. } | Self::Delete { .. } => None,
        }
    }

    /// What is done to which object, without its content.
    pub fn aim(&self) -> String {
        match self {
            Self::Create { kind, key, .. } => format!("create {kind} {key}"),
            Self::Patch { kind, key, subresource, .. } => {
                let part = subresource.map(|s| format!("/{s}")).unwrap_or_default();
                format!("patch {kind}{part} {key}")
            }
            Self::Delete { kind, key, .. } => format!("delete {kind} {key}"),
            Self::Workload { cluster, kind, key, .. } => {
                format!("patch {kind} {key} of workload cluster {cluster}")
            }
            Self::WorkloadDelete { cluster, kind, key, .. } => {
                format!("delete {kind} {key} of workload cluster {cluster}")
            }
            Self::BestEffort(write) => write.aim(),
        }
    }
}

impl fmt::Display for Write {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.aim())?;
        match self {
            Self::Patch { kind, .. } | Self::Workload { kind, .. } if kind.kind == "Secret" => {
                f.write_str(" (hidden)")
            }
            Self::Patch { patch, .. } | Self::Workload { patch, .. } => write!(f, " {patch}"),
            Self::BestEffort(_) => f.write_str(" (best effort)"),
            Self::Create { .. } | Self::Delete { .. } | Self::WorkloadDelete { .. } => Ok(()),
        }
    }
}

impl fmt::Debug for Write {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl<W: fmt::Display> fmt::Display for Plan<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for write in &self.writes {
            writeln!(f, "{write}")?;
        }
        for event in &self.events {
            writeln!(f, "event {} {}: {}", event.key, event.reason, event.message)?;
        }
        match &self.end {
            End::Done => write!(f, "done"),
            End::WaitFor(wait) => write!(f, "waits: {wait:#}"),
            End::Retry(wait, delay) => write!(f, "waits, and retries after {delay:?}: {wait:#}"),
            End::Again => write!(f, "continues at once"),
            End::After(delay) => write!(f, "continues after {delay:?}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::Node;
    use serde_json::json;

    use super::*;

    #[test]
    fn an_update_is_one_patch_of_the_object_and_one_of_its_status() {
        let old: Node = serde_json::from_value(
            json!({"metadata": {"name": "n", "resourceVersion": "7"}, "spec": {"podCIDR": "a"}, "status": {"phase": "x"}}),
        )
        .unwrap();
        let mut new = old.clone();
        new.spec.as_mut().unwrap().pod_cidr = Some("b".into());
        new.status.as_mut().unwrap().phase = Some("y".into());
        let mut plan: Plan = Plan::done();
        assert!(plan.update(&old, &new));
        assert!(!plan.update(&old, &old));
        assert_eq!(
            plan.to_string(),
            "patch Node n {\"spec\":{\"podCIDR\":\"b\"}}\npatch Node/status n {\"status\":{\"phase\":\"y\"}}\ndone"
        );
        assert!(plan.writes.iter().all(|w| matches!(w, Write::Patch { version: Some(v), .. } if v == "7")));
    }
}
