//! A host that is kept for the next machine of an owner.

use capm3_api::{
    metadata::{MetadataExt, group_of},
    neighbours::{BareMetalHost, CAPI_GROUP},
    vocabulary::label,
};
use capm3_domain::host::deployment_of_label;
use capm3_provider::baremetalhost::{Absent, HostSnapshot};

use super::{
    Actor, Site,
    advice::Advice,
    host::{HostState, HostSummary},
};

/// For whom a host is reserved: an owner of machines, and the Cluster that holds the host meanwhile.
pub(super) fn reservation(host: &BareMetalHost) -> Option<String> {
    let label = host.metadata.label(label::NODE_REUSE)?;
    let consumer = host.spec.consumer_ref.as_ref().filter(|consumer| {
        group_of(consumer.api_version.as_deref().unwrap_or_default()) == CAPI_GROUP
            && consumer.kind.as_deref() == Some("Cluster")
    });
    let cluster = consumer.and_then(|consumer| consumer.name.as_deref());
    let cluster = cluster.map(|name| format!(" of Cluster {name}")).unwrap_or_default();
    let owner = match (deployment_of_label(label), label.strip_prefix("cp-")) {
        (Some(name), _) => format!("MachineDeployment {name}"),
        (None, Some(name)) => format!("control plane {name}"),
        (None, None) => format!("the owner with label {label}"),
    };
    Some(format!("{owner}{cluster}"))
}

/// The summary of a host that a Cluster of its namespace holds for an owner.
pub(super) fn of_reserved(site: &Site, snapshot: &HostSnapshot) -> Option<HostSummary> {
    let host = snapshot.host.as_ref();
    let consumer = host.spec.consumer_ref.as_ref()?;
    let is_cluster = consumer.kind.as_deref() == Some("Cluster")
        && consumer.namespace.as_deref() == Some(host.metadata.namespace_str())
        && group_of(consumer.api_version.as_deref().unwrap_or_default()) == CAPI_GROUP;
    let owner = reservation(host).filter(|_| is_cluster)?;
    let summary = HostSummary::new(HostState::Booked, format!("is reserved for the next machine of {owner}"));
    let nothing = |text: &str| [Advice::text(text)];
    Some(match &snapshot.absent {
        Some(absent) => match not_known(site, absent) {
            Some(why) => summary
                .because(format!("{why}; cannot check whether {absent} is gone, so the reservation remains"))
                .by(Actor::Nobody, nothing("nothing; the manager checks it on the API server")),
            None => summary
                .because(format!(
                    "{absent} is not found; the reservation ends once the manager has proven it"
                ))
                .by(Actor::Nobody, nothing("nothing; after ten minutes, check whether `capm3 manager` runs")),
        },
        None if snapshot.reservation_is_over => summary
            .because(
                "its owner is being deleted, or no longer belongs to the Cluster: the reservation ends now",
            )
            .by(Actor::Nobody, nothing("nothing; if it lasts, check whether `capm3 manager` runs")),
        None => summary.by(
            Actor::Nobody,
            nothing("nothing: it goes to the next machine, or is free once the owner is gone"),
        ),
    })
}

/// Why it is not known whether an owner is there.
fn not_known(site: &Site, absent: &Absent) -> Option<String> {
    let kind = match absent {
        Absent::Cluster(_) => "Cluster",
        Absent::Deployment(_) => "MachineDeployment",
        Absent::ControlPlane(owner) if !owner.is_watched() => {
            return Some(format!("{} is not checked here", owner.kind));
        }
        Absent::ControlPlane(_) => "KubeadmControlPlane",
    };
    site.unread.get(kind).map(|state| format!("{kind} {state}"))
}
