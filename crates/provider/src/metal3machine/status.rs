//! The conditions of a Metal3Machine in both generations, under one name each.

use std::fmt;

use capm3_api::{
    conditions::{Severity, find, is_true},
    v1beta2::Metal3Machine,
    vocabulary::{condition, reason},
};

use capm3_domain::wait::{Pause, Shown, Text, Wait};

use crate::conditions::{self, Stamp};

/// Where a refused write is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RefusedAt {
    Pause,
    Unpause,
    Host,
    MetaData,
    Deletion,
}

/// Writes conditions of one machine at one time.
#[derive(Debug)]
pub(super) struct Status<'a> {
    pub(super) machine: &'a mut Metal3Machine,
    pub(super) now: &'a str,
}

impl Status<'_> {
    fn stamp(&self) -> Stamp<'_> {
        Stamp { now: self.now, generation: self.machine.metadata.generation }
    }

    fn set(&mut self, type_: &str, status: bool, reason: &str, message: &str) {
        let stamp = Stamp { now: self.now, generation: self.machine.metadata.generation };
        conditions::set(&mut self.machine.status.conditions, stamp, type_, status, reason, message);
    }

    fn legacy_false(&mut self, type_: &str, severity: Severity, reason: &str, message: &str) {
        let list = conditions::legacy(&mut self.machine.status.deprecated);
        conditions::set_legacy_false(list, self.now, type_, severity, reason, message);
    }

    fn legacy_true(&mut self, type_: &str) {
        conditions::set_legacy_true(conditions::legacy(&mut self.machine.status.deprecated), self.now, type_);
    }

    /// Shows a wait in the conditions that the table of waits names for it.
    pub(super) fn show(&mut self, wait: &Wait) {
        let Some(shown) = wait.facts().shown else { return };
        let message = wait.message().to_string();
        let before =
            find(&self.machine.status.conditions, shown.condition).filter(|before| before.status == "False");
        let message = match (wait, before) {
            (Wait::NoHost(_), Some(before)) => conditions::keep_counts(&before.message, message),
            _ => message,
        };
        self.show_as(shown, &message);
    }

    fn show_as(&mut self, shown: Shown, message: &str) {
        self.set(shown.condition, false, shown.reason, message);
        if let Some((type_, reason, severity)) = shown.legacy {
            self.legacy_false(type_, severity, reason, message);
        }
    }

    /// No host yet: something must come first.
    fn host_waits(&mut self, reason: &str, legacy_reason: &str, message: &str) {
        self.set(condition::ASSOCIATE_HOST, false, reason, message);
        self.legacy_false(condition::LEGACY_ASSOCIATE_BMH, Severity::Info, legacy_reason, message);
    }

    /// No host could be taken yet: that is no error.
    pub(super) fn host_failed(&mut self, wait: &Wait) {
        let message = wait.message().to_string();
        self.set(condition::ASSOCIATE_HOST, false, reason::ASSOCIATE_HOST_FAILED, &message);
        let (type_, reason) = (condition::LEGACY_ASSOCIATE_BMH, reason::LEGACY_ASSOCIATE_BMH_FAILED);
        self.legacy_false(type_, Severity::Warning, reason, &message);
    }

    /// The API server refuses what the machine writes at this stage.
    pub(super) fn refused(&mut self, at: RefusedAt, message: &Text) {
        let (message, reason) = (message.to_string(), reason::WRITE_REFUSED);
        match at {
            RefusedAt::Pause => self.pause_failed(true, &message),
            RefusedAt::Unpause => self.pause_failed(false, &message),
            RefusedAt::Host => {
                self.set(condition::ASSOCIATE_HOST, false, reason, &message);
                self.legacy_false(condition::LEGACY_ASSOCIATE_BMH, Severity::Error, reason, &message);
            }
            RefusedAt::MetaData => {
                self.set(condition::ASSOCIATE_META_DATA, false, reason, &message);
                self.legacy_false(condition::LEGACY_NODE_READY, Severity::Warning, reason, &message);
            }
            RefusedAt::Deletion => self.deletion(reason, Severity::Warning, &message),
        }
    }

    /// A host that was reserved for this machine's owner was taken.
    pub(super) fn host_taken_via_reuse(&mut self) {
        self.set(condition::ASSOCIATE_HOST, true, reason::ASSOCIATE_HOST_VIA_REUSE, "");
        self.legacy_true(condition::LEGACY_ASSOCIATE_BMH);
    }

    /// Whether the condition about the host does not show this wait yet.
    pub(super) fn is_new_of_host(&self, wait: &Wait) -> bool {
        let shown = find(&self.machine.status.conditions, condition::ASSOCIATE_HOST);
        shown.is_none_or(|shown| shown.message != wait.message().to_string())
    }

    /// A host was taken; how it was found stays as first reported.
    pub(super) fn host_taken(&mut self) {
        let already = self.machine.status.conditions.iter().find(|c| c.type_ == condition::ASSOCIATE_HOST);
        let reason = already.filter(|c| c.status == "True").map(|c| c.reason.clone());
        let reason = reason.unwrap_or_else(|| reason::ASSOCIATE_HOST_SUCCESS.to_owned());
        self.set(condition::ASSOCIATE_HOST, true, &reason, "");
        self.legacy_true(condition::LEGACY_ASSOCIATE_BMH);
    }

    /// Whether the cluster or the machine is paused.
    pub(super) fn paused(&mut self, pause: Option<&Pause>) {
        match pause {
            Some(pause) => {
                let cause = pause.to_string();
                self.set(condition::PAUSED, true, reason::PAUSED, &cause);
                self.host_waits(reason::PAUSED, reason::LEGACY_MACHINE_PAUSED, &cause);
            }
            None => self.set(condition::PAUSED, false, reason::NOT_PAUSED, ""),
        }
    }

    /// The host could not be paused, or not be woken.
    pub(super) fn pause_failed(&mut self, pausing: bool, cause: &dyn fmt::Display) {
        let (reason, legacy) = match pausing {
            true => (reason::HOST_PAUSE_FAILED, reason::LEGACY_HOST_PAUSE_FAILED),
            false => (reason::HOST_UNPAUSE_FAILED, reason::LEGACY_HOST_UNPAUSE_FAILED),
        };
        let message = cause.to_string();
        self.set(condition::PAUSED, false, reason, &message);
        self.host_waits(reason, legacy, &message);
    }

    /// The claim is there or not needed, and nothing stands in the way.
    pub(super) fn meta_data_good(&mut self) {
        self.set(condition::ASSOCIATE_META_DATA, true, reason::META_DATA_SUCCESS, "");
        // What it reported of a failure is over; what it reports of the Node comes later.
        let legacy = conditions::legacy(&mut self.machine.status.deprecated);
        legacy.retain(|c| c.type_ != condition::LEGACY_NODE_READY || c.status == "True");
    }

    /// The claim cannot be made or the host cannot be kept in line, for this reason. The older conditions have none
    /// about host and claim: they report it of the Node.
    pub(super) fn meta_data_fails(&mut self, reason: &'static str, wait: &Wait) {
        let legacy = match reason {
            reason::META_DATA_FAILED => reason::LEGACY_META_DATA_FAILED,
            other => other,
        };
        let legacy = Some((condition::LEGACY_NODE_READY, legacy, Severity::Warning));
        let shown = Shown { condition: condition::ASSOCIATE_META_DATA, reason, legacy };
        self.show_as(shown, &wait.message().to_string());
    }

    /// The data is there, or none is needed.
    pub(super) fn data_ready(&mut self, reason: &str) {
        self.set(condition::DATA_READY, true, reason, "");
        self.legacy_true(condition::DATA_READY);
    }

    /// The image is on the disk.
    pub(super) fn host_provisioned(&mut self) {
        self.set(condition::HOST_PROVISIONED, true, reason::HOST_PROVISIONED, "");
    }

    /// Deletion waits, for this reason.
    pub(super) fn deleting(&mut self, reason: &str, wait: &Wait) {
        let severity = if reason == reason::DEPROVISIONING { Severity::Info } else { Severity::Warning };
        self.deletion(reason, severity, &wait.message().to_string());
    }

    fn deletion(&mut self, reason: &str, severity: Severity, message: &str) {
        self.set(condition::ASSOCIATE_META_DATA, false, reason, message);
        self.set(condition::HOST_PROVISIONED, false, reason, message);
        self.legacy_false(condition::LEGACY_NODE_READY, severity, reason, message);
    }

    /// An earlier provider reported of a Cluster that was missing or of a host that could not be paused that the machine had
    /// failed, and never took it back. v1beta1 readers give up a machine that says so.
    pub(super) fn no_failure(&mut self) {
        let deprecated = self.machine.status.deprecated.as_mut();
        if let Some(v1beta1) = deprecated.and_then(|deprecated| deprecated.v1beta1.as_mut()) {
            v1beta1.failure_reason = None;
            v1beta1.failure_message = None;
        }
    }

    /// The Node was found.
    pub(super) fn node_found(&mut self) {
        self.legacy_true(condition::LEGACY_NODE_READY);
    }

    /// `Ready` in both generations.
    pub(super) fn summarise(&mut self) {
        let stamp = Stamp { now: self.now, generation: self.stamp().generation };
        let parts = [
            condition::ASSOCIATE_HOST,
            condition::ASSOCIATE_META_DATA,
            condition::DATA_READY,
            condition::HOST_PROVISIONED,
        ];
        conditions::summarise(&mut self.machine.status.conditions, stamp, &parts);
        let parts = [condition::LEGACY_ASSOCIATE_BMH, condition::DATA_READY, condition::LEGACY_NODE_READY];
        let legacy = conditions::legacy(&mut self.machine.status.deprecated);
        conditions::summarise_legacy(legacy, self.now, &parts);
        self.agree();
    }

    /// The older summary has fewer parts and leaves out those that are missing: it must not be ready for that.
    fn agree(&mut self) {
        let is_ready = is_true(&self.machine.status.conditions, condition::READY);
        let legacy = conditions::legacy(&mut self.machine.status.deprecated);
        let says_ready = legacy.iter().any(|c| c.type_ == condition::READY && c.status == "True");
        if is_ready && !says_ready {
            self.legacy_true(condition::READY);
        } else if says_ready && !is_ready {
            let ready = find(&self.machine.status.conditions, condition::READY);
            let message = ready.map(|ready| ready.message.clone()).unwrap_or_default();
            self.legacy_false(condition::READY, Severity::Info, reason::NOT_READY, &message);
        }
    }
}
