//! The least that a host operator does to a host that is in files only.

use capm3_api::{
    metadata::MetadataExt,
    neighbours::{BareMetalHost, HostHardware},
    vocabulary::{annotation, host_state},
};

/// A host that no operator has seen yet, as it will be: available, with the hardware of its annotation.
pub(crate) fn inspected(mut host: BareMetalHost) -> BareMetalHost {
    if host.status.provisioning.state.as_deref().unwrap_or_default().is_empty() {
        host.status.provisioning.state = Some(host_state::AVAILABLE.into());
    }
    if host.status.hardware.is_none() {
        let details = host.metadata.annotation(annotation::HARDWARE_DETAILS);
        let details = details.and_then(|text| serde_json::from_str::<HostHardware>(text).ok());
        host.status.hardware = details;
    }
    host
}
