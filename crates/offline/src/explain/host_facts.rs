//! What the objects say about a host, before anything is judged.

use capm3_api::{
    neighbours::BareMetalHost,
    v1beta2::{Metal3DataClaim, Metal3Machine},
    vocabulary::event,
};
use capm3_domain::host::{Consumer, domain_of};
use capm3_engine::{Object, ObjectKey, Reader, clock};
use capm3_provider::baremetalhost::{HostSnapshot, Orphan, consumer_machine, observe};
use serde::Serialize;

use super::{Site, events::events_about};

/// What the objects say about a host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HostFacts {
    /// Provisioning state, empty while it has none.
    pub state: String,
    /// Where it stands.
    pub failure_domain: Option<String>,
    /// Whether it is powered on, as far as its operator says.
    pub powered_on: Option<bool>,
    /// Whether it is to be powered on.
    pub online: bool,
    /// The image or deploy step of its spec.
    pub image: Option<String>,
    /// Who uses it, going by its spec.
    pub consumer: Option<String>,
}

impl HostFacts {
    pub(super) fn of(host: &BareMetalHost) -> Self {
        let image = host.spec.image.as_ref().map(|image| image.url.as_deref().unwrap_or("without URL"));
        let deploy = host.spec.custom_deploy.as_ref().map(|deploy| deploy.method.as_deref());
        let deploy = deploy.map(|method| format!("deploy step {}", method.unwrap_or("without method")));
        Self {
            state: host.state().to_owned(),
            failure_domain: domain_of(host).map(str::to_owned),
            powered_on: host.status.powered_on,
            online: host.spec.online,
            image: image.map(str::to_owned).or(deploy),
            consumer: host.spec.consumer_ref.as_ref().map(|consumer| Consumer::from(consumer).to_string()),
        }
    }
}

/// The host and who looks after it, as the controller sees it. Where Metal3Machines cannot be read nothing is reported about
/// whether one is there.
pub(super) fn snapshot(site: &Site, key: &ObjectKey) -> Option<HostSnapshot> {
    let mut snapshot = observe(&site.objects, key)?;
    let unread = site.unread.get(Metal3Machine::API.kind);
    if let (Some(machine), Some(state)) = (consumer_machine(&snapshot.host), unread) {
        snapshot.orphan = Some(Orphan::Unreadable { machine, state: state.clone() });
    }
    Some(snapshot)
}

/// Since when a host is orphaned, as far as objects show it: the claim of its machine is deleted together with the machine, and
/// the controller reports the host.
pub(super) fn orphaned_since(site: &Site, host: &BareMetalHost, orphan: &Orphan) -> Option<String> {
    let Orphan::NotFound(machine) = orphan else { return reported(site, host, orphan) };
    let claim = site.objects.get::<Metal3DataClaim>(machine);
    let deleted = claim.and_then(|claim| Some(clock::text(claim.metadata.deletion_timestamp.as_ref()?.0)));
    deleted.into_iter().chain(reported(site, host, orphan)).min()
}

/// When the host was first reported for this reason.
fn reported(site: &Site, host: &BareMetalHost, orphan: &Orphan) -> Option<String> {
    let why = orphan.to_string();
    let reports = events_about(&site.events, &host.key(), event::HOST_ORPHANED);
    let of_it = reports.into_iter().filter(|report| report.message.starts_with(&why));
    of_it.map(|report| report.first).filter(|first| !first.is_empty()).min()
}
