//! How far a remediation has come, as its status and its annotation record it.
//!
//! `clusterctl move` drops the status and gives the object another uid, so an annotation records the same, and the annotation
//! of the host that asks for the power to be off.

use capm3_api::{
    metadata::MetadataExt,
    v1beta2::Metal3Remediation,
    vocabulary::annotation::{POWER_OFF_PREFIX, REMEDIATION_PROGRESS},
};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

/// How far a remediation has come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Phase {
    /// Nothing was done yet.
    #[default]
    New,
    /// The host is powered off.
    Running,
    /// The host is powered on, and the Machine should become healthy.
    Waiting,
    /// Every attempt has failed.
    #[serde(rename = "Deleting machine")]
    Exhausted,
    /// The host is switched off on purpose.
    #[serde(rename = "Failed")]
    HostOffline,
}

impl Phase {
    /// The word in the status; none for a new remediation.
    pub const fn as_status(self) -> Option<&'static str> {
        match self {
            Self::New => None,
            Self::Running => Some("Running"),
            Self::Waiting => Some("Waiting"),
            Self::Exhausted => Some("Deleting machine"),
            Self::HostOffline => Some("Failed"),
        }
    }

    fn of_status(text: &str) -> Self {
        match text {
            "Running" => Self::Running,
            "Waiting" => Self::Waiting,
            "Deleting machine" => Self::Exhausted,
            "Failed" => Self::HostOffline,
            _ => Self::New,
        }
    }
}

/// How far a remediation has come, and what it has to take back.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Progress {
    /// The phase.
    pub phase: Phase,
    /// How many attempts were begun after the first one.
    #[serde(skip_serializing_if = "is_zero")]
    pub retry_count: u32,
    /// When the present attempt began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_remediated: Option<Timestamp>,
    /// Key of the annotation of the host that asks for the power to be off.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub power_off_annotation: String,
    /// Uid of the Node that got the taint.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tainted_node: Option<String>,
    /// Name of the Node that was changed: a move drops the status of the Machine, which names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}

impl Progress {
    /// Reads an object. Its status counts while it has one; the annotation where it has none, as after a move.
    pub fn of(remediation: &Metal3Remediation) -> Self {
        let (metadata, status) = (&remediation.metadata, &remediation.status);
        let recorded = metadata.annotation(REMEDIATION_PROGRESS);
        let recorded: Self = recorded.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
        let power_off_annotation = match recorded.power_off_annotation.is_empty() {
            true => format!("{POWER_OFF_PREFIX}{}", metadata.uid_str()),
            false => recorded.power_off_annotation,
        };
        let Some(phase) = status.phase.as_deref().filter(|phase| !phase.is_empty()) else {
            return Self { power_off_annotation, ..recorded };
        };
        Self {
            phase: Phase::of_status(phase),
            retry_count: status.retry_count.and_then(|count| u32::try_from(count).ok()).unwrap_or_default(),
            last_remediated: status.last_remediated.as_deref().and_then(|time| time.parse().ok()),
            power_off_annotation,
            tainted_node: recorded.tainted_node,
            node: recorded.node,
        }
    }

    /// Writes it to status and annotation.
    pub fn write_to(&self, remediation: &mut Metal3Remediation) {
        let annotations = remediation.metadata.annotations.get_or_insert_default();
        let recorded = annotations.get(REMEDIATION_PROGRESS).and_then(|text| serde_json::from_str(text).ok());
        match serde_json::to_string(self) {
            // The same in other words is not worth a write.
            Ok(_) if recorded.as_ref() == Some(self) => {}
            Ok(text) if self.phase != Phase::New => {
                annotations.insert(REMEDIATION_PROGRESS.to_owned(), text);
            }
            _ => {
                annotations.remove(REMEDIATION_PROGRESS);
            }
        }
        let status = &mut remediation.status;
        status.phase = self.phase.as_status().map(str::to_owned);
        status.retry_count = i32::try_from(self.retry_count).ok().filter(|count| *count > 0);
        // A time that cannot be read stays as it is, for people.
        if let Some(time) = self.last_remediated {
            status.last_remediated = Some(time.to_string());
        }
    }

    /// The next attempt, or the first one.
    #[must_use]
    pub fn begun(&self, now: Timestamp) -> Self {
        let retry_count = match self.phase {
            Phase::Waiting | Phase::Running => self.retry_count.saturating_add(1),
            // A host that was put online again gets the attempt that was interrupted.
            Phase::New | Phase::HostOffline | Phase::Exhausted => self.retry_count,
        };
        Self { phase: Phase::Running, retry_count, last_remediated: whole_seconds(now), ..self.clone() }
    }

    /// The present attempt, whose time begins now.
    #[must_use]
    pub fn restarted(&self, now: Timestamp) -> Self {
        Self { last_remediated: whole_seconds(now), ..self.clone() }
    }

    /// How long it is until the present attempt has lasted for `timeout`; none if it is over. Without a beginning nothing is
    /// over: it is written with the phase, so somebody has edited the status.
    pub fn rest(&self, timeout: SignedDuration, now: Timestamp) -> Option<SignedDuration> {
        let Some(began) = self.last_remediated else { return Some(timeout) };
        let rest = timeout.saturating_sub(now.duration_since(began));
        (rest > SignedDuration::ZERO).then_some(rest.min(timeout))
    }
}

/// The API has no fractions of a second.
fn whole_seconds(time: Timestamp) -> Option<Timestamp> {
    Timestamp::from_second(time.as_second()).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_700_000_000 + second).unwrap()
    }

    fn read(object: serde_json::Value) -> Metal3Remediation {
        serde_json::from_value(object).unwrap()
    }

    #[test]
    fn what_is_written_is_read_again_with_and_without_the_status() {
        for phase in [Phase::Running, Phase::Waiting, Phase::Exhausted, Phase::HostOffline] {
            let progress = Progress {
                phase,
                retry_count: 2,
                last_remediated: Some(at(0)),
                power_off_annotation: "reboot.metal3.io/metal3-remediation-before-the-move".into(),
                tainted_node: Some("uid-of-node".into()),
                node: Some("node-0".into()),
            };
            let mut object = read(json!({"metadata": {"uid": "another"}}));
            progress.write_to(&mut object);
            assert_eq!(Progress::of(&object), progress);
            object.status = Default::default();
            assert_eq!(Progress::of(&object), progress, "after a move");
        }
    }

    #[test]
    fn a_remediation_of_another_provider_is_read_by_its_status() {
        let object = read(json!({"metadata": {"uid": "u"},
            "status": {"phase": "Waiting", "retryCount": 1, "lastRemediated": "2026-01-01T00:00:00Z"}}));
        let progress = Progress::of(&object);
        assert_eq!((progress.phase, progress.retry_count), (Phase::Waiting, 1));
        assert_eq!(progress.power_off_annotation, "reboot.metal3.io/metal3-remediation-u");
        assert!(progress.last_remediated.is_some());
    }

    #[test]
    fn an_unknown_phase_and_an_annotation_that_cannot_be_read_are_a_new_remediation() {
        for (phase, record) in [("Dreaming", "{}"), ("", "no JSON"), ("", "{\"phase\": 7}")] {
            let object = read(json!({"metadata": {"annotations": {REMEDIATION_PROGRESS: record}},
                "status": {"phase": phase}}));
            assert_eq!(Progress::of(&object).phase, Phase::New, "{phase} {record}");
        }
    }

    #[test]
    fn only_an_attempt_after_another_one_counts_as_a_retry() {
        for (phase, count) in
            [(Phase::New, 3), (Phase::Waiting, 4), (Phase::Running, 4), (Phase::HostOffline, 3)]
        {
            let before = Progress { phase, retry_count: 3, ..Progress::default() };
            let after = before.begun(at(7));
            assert_eq!((after.phase, after.retry_count), (Phase::Running, count), "{phase:?}");
            assert_eq!(after.last_remediated, Some(at(7)));
        }
        for (count, after) in [(json!(null), 1), (json!(0), 1), (json!(2), 3)] {
            let object = read(json!({"status": {"phase": "Waiting", "retryCount": count}}));
            assert_eq!(Progress::of(&object).begun(at(7)).retry_count, after, "{count}");
        }
    }

    #[test]
    fn an_attempt_is_over_when_its_timeout_has_passed_since_it_began() {
        let timeout = SignedDuration::from_secs(600);
        for (began, now, rest) in [
            (Some(0), 700, None),
            (Some(0), 600, None),
            (Some(0), 599, Some(1)),
            (Some(0), 0, Some(600)),
            (None, 700, Some(600)),
            // A clock that is ahead must not make an attempt longer.
            (Some(500), 0, Some(600)),
        ] {
            let progress = Progress { last_remediated: began.map(at), ..Progress::default() };
            let expected = rest.map(SignedDuration::from_secs);
            assert_eq!(progress.rest(timeout, at(now)), expected, "{began:?} {now}");
        }
    }
}
