//! Where a host stands: whose it is, whether it is orphaned, reserved or free, how far its release is, who must act.
//!
//! Takes the objects of a namespace; gives data. Whether a host is orphaned and what becomes of a request for its release
//! are the decisions of the controller, made again from the same objects.

use capm3_api::{metadata::MetadataExt, v1beta2::Metal3Machine, vocabulary::annotation};
use capm3_domain::host::could_be_taken;
use capm3_engine::{ObjectKey, Reader, clock};
use capm3_provider::baremetalhost::{HostSnapshot, Orphan, Request, judge_release};
use serde::Serialize;

use super::{
    Actor, Site,
    advice::Advice,
    host_facts::{HostFacts, orphaned_since, snapshot},
    host_use::{of_consumer, of_unused},
    paused,
    release::{keep_or_delete, stand_in},
    releasing::{ReleaseLine, releasing},
    reserved::{of_reserved, reservation},
};

/// A host explained.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HostExplanation {
    /// Namespace of the host.
    pub namespace: String,
    /// Name of the BareMetalHost.
    pub host: String,
    /// Its state, in one word.
    #[serde(rename = "standing")]
    pub state: HostState,
    /// Its state, for people.
    pub stands: String,
    /// Since when, as far as the objects show.
    pub since: Option<String>,
    /// Why it is in that state.
    pub why: Option<String>,
    /// Who must act.
    pub who: Actor,
    /// What would help.
    pub what_to_do: Vec<Advice>,
    /// What else is worth checking.
    pub remarks: Vec<String>,
    /// Facts of the host object.
    #[serde(flatten)]
    pub facts: HostFacts,
    /// Whether a machine can take it now.
    pub is_free: bool,
    /// Why it is orphaned.
    pub orphaned: Option<String>,
    /// How far its release on request is.
    pub release: Option<ReleaseLine>,
    /// For whom it is reserved.
    #[serde(rename = "booking")]
    pub reservation: Option<String>,
}

/// The state of a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum HostState {
    /// A machine can take it.
    Free,
    /// Nobody has it, but no machine can take it.
    Unusable,
    /// A machine has it.
    InUse,
    /// A machine that is being deleted gives it back.
    Returning,
    /// It is kept for the next machine of an owner.
    Booked,
    /// Somebody else has it.
    Foreign,
    /// Its machine is not found, or has no record of it.
    Orphaned,
    /// Whether its machine is there cannot be known.
    Unknown,
    /// It is released on request.
    Releasing,
    /// It is being deleted.
    Deleting,
}

/// The state of a host, and what helps.
#[derive(Debug)]
pub(super) struct HostSummary {
    pub(super) state: HostState,
    pub(super) stands: String,
    pub(super) why: Option<String>,
    pub(super) who: Actor,
    pub(super) advice: Vec<Advice>,
}

impl HostSummary {
    pub(super) fn new(state: HostState, stands: impl Into<String>) -> Self {
        Self { state, stands: stands.into(), why: None, who: Actor::Nobody, advice: Vec::new() }
    }

    pub(super) fn because(self, why: impl Into<String>) -> Self {
        Self { why: Some(why.into()), ..self }
    }

    pub(super) fn by(self, who: Actor, advice: impl Into<Vec<Advice>>) -> Self {
        Self { who, advice: advice.into(), ..self }
    }
}

/// Explains a host; `None` if it is not there.
pub fn explain_host(site: &Site, key: &ObjectKey) -> Option<HostExplanation> {
    let snapshot = snapshot(site, key)?;
    let (host, orphan) = (snapshot.host.as_ref(), snapshot.orphan.as_ref());
    let release = releasing(&snapshot);
    let summary = summarize(site, &snapshot, release.as_ref());
    let remarks = remarks(site, &snapshot, summary.why.as_deref().unwrap_or_default());
    // No object holds the time at which a release was requested.
    let is_orphaned = summary.state == HostState::Orphaned;
    let deleted = host.metadata.deletion_timestamp.as_ref().map(|time| clock::text(time.0));
    Some(HostExplanation {
        namespace: key.namespace.clone(),
        host: key.name.clone(),
        state: summary.state,
        stands: summary.stands,
        since: deleted.or_else(|| orphaned_since(site, host, orphan.filter(|_| is_orphaned)?)),
        why: summary.why,
        who: summary.who,
        what_to_do: summary.advice,
        remarks,
        facts: HostFacts::of(host),
        is_free: host.spec.consumer_ref.is_none() && could_be_taken(host),
        orphaned: orphan.filter(|orphan| !is_unread(orphan)).map(ToString::to_string),
        release,
        reservation: reservation(host),
    })
}

/// Whether an explanation gains by events: only they show since when a host is orphaned.
pub fn is_orphaned(site: &Site, key: &ObjectKey) -> bool {
    snapshot(site, key).is_some_and(|snapshot| snapshot.orphan.is_some())
}

fn is_unread(orphan: &Orphan) -> bool {
    matches!(orphan, Orphan::Unreadable { .. })
}

fn summarize(site: &Site, snapshot: &HostSnapshot, release: Option<&ReleaseLine>) -> HostSummary {
    let host = snapshot.host.as_ref();
    if host.metadata.is_deleting() {
        let advice = Advice::text("nothing: the Baremetal Operator deprovisions the host and releases it");
        return HostSummary::new(HostState::Deleting, "is being deleted").by(Actor::HostOperator, [advice]);
    }
    match (&snapshot.orphan, judge_release(snapshot), release) {
        (Some(orphan @ Orphan::Unreadable { .. }), ..) => of_unread(orphan),
        (Some(orphan), Request::Stands(_), Some(release)) => release.summary(host, orphan),
        (Some(orphan), ..) => of_orphan(site, snapshot, orphan),
        (None, ..) if host.spec.consumer_ref.is_none() => of_unused(host),
        (None, ..) => of_reserved(site, snapshot).unwrap_or_else(|| of_consumer(site, snapshot)),
    }
}

/// Nothing is reported about a machine whose kind cannot be read.
fn of_unread(orphan: &Orphan) -> HostSummary {
    let advice = Advice::run(
        "check that the CRD of Metal3Machine serves v1beta2 and that you may read Metal3Machines",
        "kubectl get crd metal3machines.infrastructure.cluster.x-k8s.io -o yaml".to_owned(),
    );
    HostSummary::new(HostState::Unknown, "names a machine that cannot be read")
        .because(format!("{orphan}; cannot check whether the machine is gone"))
        .by(Actor::PlatformEngineer, [advice])
}

/// Nobody looks after the host.
fn of_orphan(site: &Site, snapshot: &HostSnapshot, orphan: &Orphan) -> HostSummary {
    let host = snapshot.host.as_ref();
    let (name, namespace) = (host.metadata.name_str(), host.metadata.namespace_str());
    let advice = match orphan {
        Orphan::NotRecorded(machine) => {
            let found = site.objects.get::<Metal3Machine>(machine);
            keep_or_delete(host, found.as_deref().unwrap_or(&stand_in(machine)))
        }
        Orphan::NotFound(machine) | Orphan::Unreadable { machine, .. } => vec![
            Advice::run(
                "to release the host, request it: the data on its disk is then lost",
                format!("capm3 release host/{name} -n {namespace}"),
            ),
            Advice::text(format!(
                "to keep what runs on the host, restore Metal3Machine {machine} with annotation {}={namespace}/{name}",
                annotation::HOST
            )),
        ],
    };
    HostSummary::new(HostState::Orphaned, "is orphaned and left as it is")
        .because(orphan.to_string())
        .by(Actor::PlatformEngineer, advice)
}

/// What should be checked beyond `why`.
fn remarks(site: &Site, snapshot: &HostSnapshot, why: &str) -> Vec<String> {
    let host = snapshot.host.as_ref();
    let mut remarks = Vec::new();
    let is_paused = host.metadata.annotation(annotation::HOST_PAUSED).is_some();
    if is_paused && !why.contains(annotation::HOST_PAUSED) {
        remarks.push(paused::sentence(host));
    }
    let error = host.status.error_message.as_deref().filter(|error| !error.is_empty());
    if let Some(error) = error.filter(|error| !why.contains(error)) {
        remarks.push(format!("the host reports: {error}"));
    }
    let unread = |(kind, state): (&String, &String)| format!("{kind} {state}; its objects are unknown");
    // Why Metal3Machines cannot be read is reported where it matters.
    remarks.extend(site.unread.iter().filter(|(kind, _)| *kind != Metal3Machine::API.kind).map(unread));
    remarks
}
