//! How far the release of a host on request is.

use capm3_api::{metadata::MetadataExt, neighbours::BareMetalHost, vocabulary::annotation};
use capm3_domain::release::{ReleaseRequest, ReleaseStep, release_step};
use capm3_engine::ObjectKey;
use capm3_provider::baremetalhost::{HostSnapshot, Orphan, Request, judge_release};
use serde::Serialize;

use super::{
    Actor,
    advice::Advice,
    host::{HostState, HostSummary},
    paused,
    release::{stand_in, unpause},
};

/// A request for the release of a host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ReleaseLine {
    /// The machine that the request names.
    pub requested_for: String,
    /// How far it is.
    pub step: Progress,
    /// How far it is, for people.
    pub message: String,
    /// What keeps the operator from going on.
    #[serde(rename = "hindrance")]
    pub blocker: Option<String>,
}

/// How far the release of a host is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Progress {
    /// The manager takes the request off.
    Refused,
    /// The host is paused.
    Paused,
    /// The manager proves that the machine is gone, then removes the image.
    Clear,
    /// The operator deprovisions the host.
    Wait,
    /// The manager takes the consumer off.
    #[serde(rename = "LetGo")]
    Release,
}

/// How far the release is, if it is requested.
pub(super) fn releasing(snapshot: &HostSnapshot) -> Option<ReleaseLine> {
    let host = snapshot.host.as_ref();
    let line = |step, message: String| ReleaseLine {
        requested_for: host.metadata.annotation(annotation::RELEASE_HOST).unwrap_or_default().to_owned(),
        step,
        message,
        blocker: None,
    };
    match (&snapshot.orphan, judge_release(snapshot)) {
        (_, Request::None) | (Some(Orphan::Unreadable { .. }), _) => None,
        (_, Request::Refused(why)) => Some(line(Progress::Refused, format!("is refused: {why}"))),
        (_, Request::Stands(_)) if snapshot.rests => Some(line(
            Progress::Paused,
            format!("waits for the end of the pause: {}", paused::sentence(host)),
        )),
        (_, Request::Stands(machine)) => {
            let (step, message, blocker) = progress(host, &machine);
            Some(ReleaseLine { blocker, ..line(step, message) })
        }
    }
}

/// The next step of a release that stands: in one word, for people, and what hinders it.
pub fn progress(host: &BareMetalHost, machine: &ObjectKey) -> (Progress, String, Option<String>) {
    // Whether hosts stay on is a setting of the manager; what it has done with the power is not to be done again.
    let machine = stand_in(machine);
    let request = ReleaseRequest {
        machine: &machine,
        cluster_name: None,
        fast_track: host.spec.online,
        reservation: None,
    };
    match release_step(&request, host) {
        ReleaseStep::Clear(_) => {
            let text = "the manager proves that the machine is gone, then removes the image from the spec";
            (Progress::Clear, text.to_owned(), None)
        }
        ReleaseStep::Wait(wait) => (Progress::Wait, wait.to_string(), wait.blocker),
        ReleaseStep::Release(_) | ReleaseStep::NotOurs => {
            (Progress::Release, "the host is deprovisioned; the manager releases it".to_owned(), None)
        }
    }
}

/// Who must act for a host that its operator deprovisions, and what helps.
pub(super) fn while_deprovisioned(host: &BareMetalHost, is_hindered: bool) -> (Actor, Advice) {
    let (name, namespace) = (host.metadata.name_str(), host.metadata.namespace_str());
    let (who, text) = match is_hindered {
        true => (
            Actor::PlatformEngineer,
            "remove what blocks the Baremetal Operator on the host; it then continues by itself",
        ),
        false => (Actor::HostOperator, "nothing: the Baremetal Operator deprovisions the host"),
    };
    (who, Advice::run(text, format!("kubectl describe baremetalhost {name} -n {namespace}")))
}

impl ReleaseLine {
    /// The summary of a release that stands.
    pub(super) fn summary(&self, host: &BareMetalHost, orphan: &Orphan) -> HostSummary {
        let summary = HostSummary::new(HostState::Releasing, "is being released");
        let summary = summary.because(format!("{orphan}; the release is requested: {}", self.message));
        let (who, advice) = match self.step {
            Progress::Wait => while_deprovisioned(host, self.blocker.is_some()),
            Progress::Paused => (Actor::PlatformEngineer, unpause(host)),
            _ => {
                let text = "nothing; if it lasts for two minutes, check whether `capm3 manager` runs";
                (Actor::Nobody, Advice::text(text))
            }
        };
        summary.by(who, [advice])
    }
}
