//! What a decision about a host that nobody looks after needs to know.

use std::{fmt, sync::Arc};

use capm3_api::{
    metadata::{MetadataExt, group_of},
    neighbours::{BareMetalHost, CAPI_GROUP, Cluster},
    v1beta2::{self, Metal3Machine},
    vocabulary::label,
};
use capm3_engine::{ObjectKey, Reader};

use super::is_of_control_plane;
use crate::indexes::DEPLOYMENTS_BY_BOOKING;

/// A host and who should look after it.
#[derive(Debug, Clone)]
pub struct Snapshot {
    /// The host.
    pub host: Arc<BareMetalHost>,
    /// The owner that the host names and that is not there.
    pub absent: Option<Absent>,
    /// Whether the owner of the host's booking is there but will not use it any more.
    pub booking_is_over: bool,
}

/// An owner that a host names and that is not there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Absent {
    /// The Metal3Machine that consumes it.
    Machine(ObjectKey),
    /// The Cluster that books it.
    Cluster(ObjectKey),
}

impl fmt::Display for Absent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Machine(key) => write!(f, "Metal3Machine {key}"),
            Self::Cluster(key) => write!(f, "Cluster {key}"),
        }
    }
}

/// Reads the snapshot; `None` when the host is gone.
pub fn observe(reader: &impl Reader, key: &ObjectKey) -> Option<Snapshot> {
    let host = reader.get::<BareMetalHost>(key)?;
    let nobody = Snapshot { host: Arc::clone(&host), absent: None, booking_is_over: false };
    let Some(consumer) = &host.spec.consumer_ref else { return Some(nobody) };
    let home = consumer.namespace.as_deref() == Some(key.namespace.as_str());
    let Some(name) = consumer.name.as_deref().filter(|_| home) else { return Some(nobody) };
    let (group, owner) =
        (group_of(consumer.api_version.as_deref().unwrap_or_default()), ObjectKey::new(&key.namespace, name));
    Some(match (group, consumer.kind.as_deref().unwrap_or_default()) {
        (v1beta2::GROUP, "Metal3Machine") => {
            let absent = reader.get::<Metal3Machine>(&owner).is_none().then_some(Absent::Machine(owner));
            Snapshot { absent, ..nobody }
        }
        (CAPI_GROUP, "Cluster") => match reader.get::<Cluster>(&owner) {
            None => Snapshot { absent: Some(Absent::Cluster(owner)), ..nobody },
            Some(cluster) => {
                let booking_is_over = booking_is_over(reader, &host, &cluster);
                Snapshot { booking_is_over, ..nobody }
            }
        },
        _ => nobody,
    })
}

/// Whether a booking serves nobody: the Cluster goes, or the control plane or MachineDeployment is not there. During a
/// move objects come in any order, so a paused Cluster keeps its bookings.
fn booking_is_over(reader: &impl Reader, host: &BareMetalHost, cluster: &Cluster) -> bool {
    let Some(label) = host.metadata.label(label::NODE_REUSE).filter(|_| !cluster.is_paused()) else {
        return false;
    };
    if cluster.metadata.is_deleting() {
        return true;
    }
    let deployments =
        || reader.by_index(&DEPLOYMENTS_BY_BOOKING, &format!("{}/{label}", host.metadata.namespace_str()));
    match label.split_once('-') {
        Some(("cp", _)) => !is_of_control_plane(label, cluster),
        Some(("md", _)) => deployments().is_empty(),
        _ => false,
    }
}
