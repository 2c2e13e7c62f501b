//! What a decision about a host that nobody looks after needs to know.

use std::{fmt, sync::Arc};

use capm3_api::{
    metadata::{MetadataExt, group_of},
    neighbours::{BareMetalHost, CAPI_GROUP, CONTROL_PLANE_GROUP, Cluster, ConsumerRef, KubeadmControlPlane},
    v1beta2::{self, Metal3Machine},
    vocabulary::{annotation, label},
};
use capm3_domain::host::{control_plane_label, deployment_of_label, is_in_use_unrecorded};
use capm3_engine::{ObjectKey, Reader};

use super::left_off;
use crate::{
    indexes::DEPLOYMENTS_BY_RESERVATION,
    rightful_owner::{of_another, of_another_than},
};

/// A host and who should look after it.
#[derive(Debug, Clone)]
pub struct HostSnapshot {
    /// The host.
    pub host: Arc<BareMetalHost>,
    /// Why the host is orphaned, if it is.
    pub orphan: Option<Orphan>,
    /// The owner of the host's reservation that is not there.
    pub absent: Option<Absent>,
    /// Whether the owner of the host's reservation is there but will not use it any more.
    pub reservation_is_over: bool,
    /// Whether the host is paused and must be left alone.
    pub rests: bool,
    /// Annotations that keep the host off for a Metal3Remediation that is not there.
    pub left_off: Vec<String>,
    /// Whether nobody can have the host: it names nobody, or it names a machine of another namespace, which reaches no
    /// host here, and no living machine knows it.
    pub is_nobodys: bool,
}

/// Why nobody looks after a host that a Metal3Machine consumes. It is left exactly as it is until a person decides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Orphan {
    /// The machine that the host names cannot be found, and no other machine knows the host.
    NotFound(ObjectKey),
    /// The machine that the host names is there, but the host is in use and the machine has no record of it.
    NotRecorded(ObjectKey),
    /// Metal3Machines cannot be read at all.
    Unreadable {
        /// The machine that the host names.
        machine: ObjectKey,
        /// How the server answers for Metal3Machines.
        state: String,
    },
}

impl fmt::Display for Orphan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFound(machine) => {
                write!(f, "Metal3Machine {machine}, which consumes this host, is not found")
            }
            Self::NotRecorded(machine) => {
                write!(
                    f,
                    "the host is in use, but Metal3Machine {machine}, which consumes it, has no record of it"
                )
            }
            Self::Unreadable { machine, state } => {
                write!(
                    f,
                    "Metal3Machine {machine}, which consumes this host, cannot be read: the kind {state}"
                )
            }
        }
    }
}

/// The owner of a reservation that is not there as far as the reader can tell: it shows no control plane of a kind that is not
/// watched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Absent {
    /// The Cluster that books the host.
    Cluster(ObjectKey),
    /// The control plane that it is reserved for.
    ControlPlane(ControlPlane),
    /// The MachineDeployment that it is reserved for: its namespace, and the label of the reservation, in which a long name is
    /// shortened.
    Deployment(ObjectKey),
}

/// A control plane as a Cluster names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ControlPlane {
    /// API group.
    pub group: String,
    /// Kind.
    pub kind: String,
    /// Namespace and name.
    pub key: ObjectKey,
}

impl ControlPlane {
    /// The control plane that a Cluster names.
    fn of(cluster: &Cluster) -> Option<Self> {
        let named = cluster.spec.control_plane_ref.as_ref()?;
        let name = named.name.as_deref().filter(|name| !name.is_empty())?;
        let group = named.api_group.as_deref().filter(|group| !group.is_empty());
        Some(Self {
            group: group.unwrap_or(CONTROL_PLANE_GROUP).to_owned(),
            kind: named.kind.clone().filter(|kind| !kind.is_empty())?,
            key: ObjectKey::new(cluster.metadata.namespace_str(), name),
        })
    }

    /// Whether it is of the kind that is watched.
    pub fn is_watched(&self) -> bool {
        self.group == CONTROL_PLANE_GROUP && self.kind == KubeadmControlPlane::API.kind
    }
}

impl fmt::Display for Absent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cluster(key) => write!(f, "Cluster {key}"),
            Self::ControlPlane(ControlPlane { kind, key, .. }) => write!(f, "{kind} {key}"),
            Self::Deployment(ObjectKey { namespace, name: label }) => match deployment_of_label(label) {
                Some(name) => write!(f, "MachineDeployment {namespace}/{name}"),
                None => write!(f, "the MachineDeployment of reservations {namespace}/{label}"),
            },
        }
    }
}

/// The machine of its own namespace that consumes a host.
pub fn consumer_machine(host: &BareMetalHost) -> Option<ObjectKey> {
    let consumer = host.spec.consumer_ref.as_ref().filter(|consumer| is_machine(consumer))?;
    let namespace = consumer.namespace.as_deref().filter(|ns| *ns == host.metadata.namespace_str())?;
    Some(ObjectKey::new(namespace, consumer.name.as_deref()?))
}

fn is_machine(consumer: &ConsumerRef) -> bool {
    group_of(consumer.api_version.as_deref().unwrap_or_default()) == v1beta2::GROUP
        && consumer.kind.as_deref() == Some("Metal3Machine")
}

/// Reads the snapshot; `None` when the host is gone.
pub fn observe(reader: &impl Reader, key: &ObjectKey) -> Option<HostSnapshot> {
    let host = reader.get::<BareMetalHost>(key)?;
    let rests = rests(reader, &host);
    let nobody = HostSnapshot {
        host: Arc::clone(&host),
        orphan: None,
        absent: None,
        reservation_is_over: false,
        rests,
        left_off: left_off::annotations(reader, &host),
        is_nobodys: false,
    };
    let Some(consumer) = &host.spec.consumer_ref else {
        return Some(HostSnapshot { is_nobodys: true, ..nobody });
    };
    if let Some(machine) = consumer_machine(&host) {
        return Some(HostSnapshot { orphan: orphan(reader, &host, machine), ..nobody });
    }
    let home = consumer.namespace.as_deref() == Some(key.namespace.as_str());
    let Some(name) = consumer.name.as_deref().filter(|_| home) else {
        let elsewhere = ObjectKey::new(consumer.namespace.clone().unwrap_or_default(), "");
        let is_nobodys = is_machine(consumer) && of_another_than(reader, &elsewhere, &host).is_none();
        return Some(HostSnapshot { is_nobodys, ..nobody });
    };
    let (group, owner) =
        (group_of(consumer.api_version.as_deref().unwrap_or_default()), ObjectKey::new(&key.namespace, name));
    Some(match (group, consumer.kind.as_deref().unwrap_or_default()) {
        (CAPI_GROUP, "Cluster") => match reader.get::<Cluster>(&owner) {
            None => HostSnapshot { absent: Some(Absent::Cluster(owner)), ..nobody },
            Some(cluster) => match reservation(reader, &host, &cluster) {
                Reservation::Stands => nobody,
                Reservation::IsOver => HostSnapshot { reservation_is_over: true, ..nobody },
                Reservation::WithoutOwner(owner) => HostSnapshot { absent: Some(owner), ..nobody },
            },
        },
        _ => nobody,
    })
}

/// Who is named does not matter on a host that a living machine knows as its own.
fn orphan(reader: &impl Reader, host: &BareMetalHost, machine: ObjectKey) -> Option<Orphan> {
    match reader.get::<Metal3Machine>(&machine) {
        None if of_another_than(reader, &machine, host).is_some() => None,
        None => Some(Orphan::NotFound(machine)),
        Some(found) => {
            let is_unrecorded = !found.metadata.is_deleting()
                && is_in_use_unrecorded(&found, host)
                && of_another(reader, &found, host).is_none();
            is_unrecorded.then_some(Orphan::NotRecorded(machine))
        }
    }
}

/// Name of another living machine than the consumer that knows a host as its own.
pub fn known_to_another(reader: &impl Reader, host: &BareMetalHost) -> Option<String> {
    let machine = consumer_machine(host)?;
    match reader.get::<Metal3Machine>(&machine) {
        Some(found) => of_another(reader, &found, host),
        None => of_another_than(reader, &machine, host),
    }
}

/// A paused host may be on its way to another management cluster. Our own pause came with that of the Cluster and says
/// nothing any more once that is over; a Cluster that is not there may have gone ahead of the host.
fn rests(reader: &impl Reader, host: &BareMetalHost) -> bool {
    if host.metadata.annotation(annotation::HOST_PAUSED).is_none() {
        return false;
    }
    let cluster = cluster_that_paused(host).and_then(|cluster| reader.get::<Cluster>(&cluster));
    cluster.is_none_or(|cluster| cluster.is_paused())
}

/// The Cluster whose pause put our own on the host.
pub(super) fn cluster_that_paused(host: &BareMetalHost) -> Option<ObjectKey> {
    let ours = host.metadata.annotation(annotation::HOST_PAUSED) == Some(annotation::HOST_PAUSED_BY_US);
    let cluster = host.metadata.label(label::CLUSTER_NAME).filter(|_| ours)?;
    Some(ObjectKey::new(host.metadata.namespace_str(), cluster))
}

/// How it stands with the reservation of a host.
enum Reservation {
    /// It serves somebody, or may.
    Stands,
    /// It serves nobody.
    IsOver,
    /// It serves nobody unless this owner is there after all.
    WithoutOwner(Absent),
}

/// Whether a reservation serves nobody: the Cluster goes, or the control plane or MachineDeployment goes or is not there.
/// During a move objects come in any order, so a paused Cluster keeps its reservations.
fn reservation(reader: &impl Reader, host: &BareMetalHost, cluster: &Cluster) -> Reservation {
    let Some(label) = host.metadata.label(label::NODE_REUSE).filter(|_| !cluster.is_paused()) else {
        return Reservation::Stands;
    };
    if cluster.metadata.is_deleting() {
        return Reservation::IsOver;
    }
    match label.split_once('-') {
        Some(("cp", _)) => reservation_of_control_plane(reader, label, cluster),
        Some(("md", _)) => {
            let reservation = ObjectKey::new(host.metadata.namespace_str(), label);
            let known = reader.by_index(&DEPLOYMENTS_BY_RESERVATION, &reservation.to_string());
            match known.as_slice() {
                [] => Reservation::WithoutOwner(Absent::Deployment(reservation)),
                known if known.iter().all(|it| it.metadata.is_deleting()) => Reservation::IsOver,
                _ => Reservation::Stands,
            }
        }
        _ => Reservation::Stands,
    }
}

/// Like a MachineDeployment, a control plane that is being deleted makes no machine any more. A Cluster that names no control plane may have one
/// anyway.
fn reservation_of_control_plane(reader: &impl Reader, label: &str, cluster: &Cluster) -> Reservation {
    let Some(owner) = ControlPlane::of(cluster) else { return Reservation::Stands };
    if control_plane_label(&owner.key.name) != label {
        return Reservation::IsOver;
    }
    let known = owner.is_watched().then(|| reader.get::<KubeadmControlPlane>(&owner.key)).flatten();
    match known {
        Some(known) if known.metadata.is_deleting() => Reservation::IsOver,
        Some(_) => Reservation::Stands,
        None => Reservation::WithoutOwner(Absent::ControlPlane(owner)),
    }
}
