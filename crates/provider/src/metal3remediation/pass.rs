//! One pass over a Metal3Remediation while it is decided: what changes, in which order it is written, and what is reported.

use std::time::Duration;

use capm3_api::{
    metadata::MetadataExt,
    neighbours::BareMetalHost,
    v1beta2::Metal3Remediation,
    vocabulary::{annotation, condition, finalizer, reason},
};
use capm3_domain::{
    remediation::{NodeBackup, Phase, Progress, RemediationWait, Strategy},
    wait::{Pause, Wait},
};
use capm3_engine::{EventNote, Next, ObjectKey, clock};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value, json};

use super::{ReadNode, RemediationSnapshot};
use crate::{
    conditions::{self, Stamp},
    finalizers::{add_finalizer, remove_finalizer},
    host_patch,
    plan::{End, Plan},
};

/// What must be asked before anything is decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Question {
    /// Whether the Machine that owns the object is gone.
    IsMachineGone(ObjectKey),
    /// The Node with its labels, annotations and taints.
    Node(ReadNode),
    /// The version of the workload cluster.
    Version(ObjectKey),
    /// The Machine with its conditions.
    Machine(ObjectKey),
}

/// What a pass comes to.
#[derive(Debug, Clone, PartialEq)]
pub struct Decision {
    /// A question or a plan.
    pub next: Next<Question, Wait>,
    /// The workload cluster to connect to.
    pub connect: Option<ObjectKey>,
    /// The Node whose remains are watched; none ends the watch.
    pub drain: Option<ReadNode>,
}

impl Decision {
    pub(super) fn ask(question: Question) -> Self {
        Self { next: Next::Ask(question), connect: None, drain: None }
    }

    pub(super) fn connecting(self, cluster: Option<ObjectKey>) -> Self {
        Self { connect: cluster, ..self }
    }

    pub(super) fn draining(self, node: Option<ReadNode>) -> Self {
        Self { drain: node, ..self }
    }
}

/// A pass that is being decided.
pub(super) struct Pass<'s> {
    pub(super) snapshot: &'s RemediationSnapshot,
    pub(super) now: Timestamp,
    pub(super) progress: Progress,
    pub(super) new: Metal3Remediation,
    /// Written before the object itself: what it must not forget before it is done.
    pub(super) first: Plan,
    /// Written after the object itself: what it has recorded.
    pub(super) then: Plan,
}

impl<'s> Pass<'s> {
    pub(super) fn new(snapshot: &'s RemediationSnapshot, now: Timestamp) -> Self {
        let new = Metal3Remediation::clone(&snapshot.remediation);
        let progress = Progress::of(&new);
        Self { snapshot, now, progress, new, first: Plan::done(), then: Plan::done() }
    }

    /// The time as it is written.
    pub(super) fn now_text(&self) -> String {
        clock::text(self.now)
    }

    /// How long the present attempt may still take; none if its time is over.
    pub(super) fn rest(&self, strategy: &Strategy) -> Option<SignedDuration> {
        self.progress.rest(strategy.timeout, self.now)
    }

    /// Begins the next attempt, or the first one. The finalizer is written before the host is powered off.
    pub(super) fn begin(&mut self) {
        self.progress = self.progress.begun(self.now);
        add_finalizer(&mut self.new.metadata, finalizer::REMEDIATION);
    }

    /// Starts the present attempt again.
    pub(super) fn restart(&mut self) {
        self.progress = self.progress.restarted(self.now);
        add_finalizer(&mut self.new.metadata, finalizer::REMEDIATION);
    }

    /// Sets the annotation of the host that asks for its power to be off, or takes it off.
    pub(super) fn set_power_off(&mut self, host: &BareMetalHost, value: Option<&str>) {
        let key = self.progress.power_off_annotation.clone();
        if host.metadata.annotation(&key) != value {
            let annotations = Map::from_iter([(key, value.map_or(Value::Null, |value| json!(value)))]);
            host_patch::push_annotations(&mut self.then, host, annotations);
        }
    }

    /// Whether the host has the annotation.
    pub(super) fn power_off_of<'h>(&self, host: &'h BareMetalHost) -> Option<&'h str> {
        host.metadata.annotation(&self.progress.power_off_annotation)
    }

    /// Whether something may be left to take back. A person may have removed the finalizer: the record tells it too.
    pub(super) fn may_owe(&self) -> bool {
        let remediation = &self.snapshot.remediation;
        remediation.metadata.has_finalizer(finalizer::REMEDIATION)
            || self.progress.tainted_node.is_some()
            || NodeBackup::of_remediation(remediation).is_some()
    }

    /// Nothing is left to take back.
    pub(super) fn release(&mut self) {
        NodeBackup::remove_from(&mut self.new);
        self.progress.tainted_node = None;
        self.progress.node = None;
        remove_finalizer(&mut self.new.metadata, finalizer::REMEDIATION);
    }

    /// An event about the object, recorded after what is planned so far for before or after the object.
    pub(super) fn event(&mut self, is_warning: bool, reason: &'static str, message: String) {
        let object = self.snapshot.remediation.as_ref();
        let note = match is_warning {
            true => EventNote::warning(object, reason, message),
            false => EventNote::normal(object, reason, message),
        };
        let cluster = self.snapshot.cluster_key().map(|cluster| cluster.to_string()).unwrap_or_default();
        let host = self.snapshot.host.as_ref().map(|host| host.metadata.name_str().to_owned());
        self.then.event(note.about(cluster, host.unwrap_or_default()));
    }

    /// Reports that attempts have ended, permanently or until something changes.
    pub(super) fn report(&mut self, is_remediated: bool, reason: &str, message: impl Into<String>) {
        let now = self.now_text();
        let stamp = Stamp { now: &now, generation: self.new.metadata.generation };
        let conditions = &mut self.new.status.conditions;
        conditions::set(conditions, stamp, condition::REMEDIATED, is_remediated, reason, message);
    }

    fn report_wait(&mut self, wait: &Wait) {
        let now = self.now_text();
        let stamp = Stamp { now: &now, generation: self.new.metadata.generation };
        let message = wait.message().to_string();
        if let Wait::Paused(_) = wait {
            let conditions = &mut self.new.status.conditions;
            return conditions::set(conditions, stamp, condition::PAUSED, true, reason::PAUSED, message);
        }
        let is_cycled = matches!(wait, Wait::Remediation(RemediationWait::Health { .. }));
        if let Some(shown) = wait.facts().shown {
            self.report(is_cycled, shown.reason, message);
        }
    }

    /// Ends the pass because the object is paused.
    pub(super) fn paused(mut self, pause: Pause) -> Decision {
        let wait = Wait::Paused(pause);
        self.report_wait(&wait);
        self.finish(End::WaitFor(wait))
    }

    /// Ends the pass with a wait that something else ends.
    pub(super) fn wait(mut self, wait: impl Into<Wait>) -> Decision {
        let wait = wait.into();
        self.report_wait(&wait);
        self.finish(End::WaitFor(wait))
    }

    /// Ends the pass with a wait that ends by itself after a while.
    pub(super) fn wait_at_most(mut self, wait: impl Into<Wait>, limit: SignedDuration) -> Decision {
        let wait = wait.into();
        self.report_wait(&wait);
        // A time without fractions was written, so that a rest of less than a second is not over yet.
        let limit = Duration::try_from(limit).unwrap_or_default();
        self.finish(End::Retry(wait, limit))
    }

    /// Ends the pass. The record and the status are one with the phase.
    pub(super) fn finish(mut self, end: End) -> Decision {
        if !matches!(&end, End::WaitFor(Wait::Paused(_))) {
            self.new.status.conditions.retain(|shown| shown.type_ != condition::PAUSED);
        }
        // A record without a phase is none of ours, and goes.
        let is_recorded = self.new.metadata.annotation(annotation::REMEDIATION_PROGRESS).is_some();
        if self.progress.phase != Phase::New || is_recorded {
            self.progress.write_to(&mut self.new);
        }
        let mut plan = self.first;
        plan.update(self.snapshot.remediation.as_ref(), &self.new);
        plan.append(self.then);
        Decision { next: Next::Act(plan.ending(end)), connect: None, drain: None }
    }
}
