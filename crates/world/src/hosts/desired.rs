//! What is wanted of a host and which of it takes time: questions to the host alone, without a clock.

use capm3_api::{
    metadata::MetadataExt,
    neighbours::HostCustomDeploy,
    vocabulary::{
        annotation::HOST_PAUSED,
        host_state::{AVAILABLE, DEPROVISIONING, EXTERNALLY_PROVISIONED, PROVISIONED, PROVISIONING, READY},
    },
};

use crate::{
    kinds::{BareMetalHost, Image},
    pace::Phase,
};

pub(super) const UNMANAGED: &str = "unmanaged";
pub(super) const REGISTERING: &str = "registering";
pub(super) const INSPECTING: &str = "inspecting";
pub(super) const PREPARING: &str = "preparing";
pub(super) const POWERING_OFF: &str = "powering off before delete";
pub(super) const DELETING: &str = "deleting";

/// Annotation that asks for a reboot; with a suffix, to stay off.
pub(super) const REBOOT: &str = "reboot.metal3.io";

/// Which phase takes time now.
pub(crate) fn phase(host: &BareMetalHost) -> Option<Phase> {
    if host.metadata.annotation(HOST_PAUSED).is_some() {
        return None;
    }
    match host.state() {
        REGISTERING => Some(Phase::Register),
        INSPECTING => Some(Phase::Inspect),
        PREPARING => Some(Phase::Prepare),
        PROVISIONING => Some(Phase::Provision),
        DEPROVISIONING if host.spec.automated_cleaning_mode.as_deref() == Some("disabled") => {
            Some(Phase::Deprovision)
        }
        DEPROVISIONING => Some(Phase::DeprovisionWithCleaning),
        POWERING_OFF => Some(Phase::PowerOff),
        DELETING => Some(Phase::Delete),
        _ => {
            let status = host.status.as_ref()?;
            let wanted = wants_power(host);
            (is_stable(host.state()) && wanted != status.powered_on).then_some(match wanted {
                true => Phase::PowerOn,
                false => Phase::PowerOff,
            })
        }
    }
}

/// Whether the config drive has to be made.
pub(super) fn needs_drive(host: &BareMetalHost) -> bool {
    let live_iso = host.spec.image.as_ref().is_some_and(|i| i.format.as_deref() == Some("live-iso"));
    host.state() == PROVISIONING
        && host.metadata.annotation(HOST_PAUSED).is_none()
        && !host.metadata.is_deleting()
        && !is_cancelled(host)
        && !live_iso
}

pub(super) fn is_stable(state: &str) -> bool {
    matches!(state, AVAILABLE | READY | PROVISIONED | EXTERNALLY_PROVISIONED)
}

pub(super) fn is_external(host: &BareMetalHost) -> bool {
    host.spec.externally_provisioned.unwrap_or(false)
}

/// A reboot annotation turns the wanted power off where an image runs.
pub(super) fn wants_power(host: &BareMetalHost) -> bool {
    let reboot =
        |key: &String| key == REBOOT || key.strip_prefix(REBOOT).is_some_and(|rest| rest.starts_with('/'));
    let rebooting = host.metadata.annotations.iter().flatten().any(|(key, _)| reboot(key));
    let runs = matches!(host.state(), PROVISIONED | EXTERNALLY_PROVISIONED);
    host.spec.online && !(runs && rebooting)
}

fn url(image: Option<&Image>) -> Option<&str> {
    image.map(|i| i.url.as_str()).filter(|url| !url.is_empty())
}

fn method(deploy: Option<&HostCustomDeploy>) -> Option<&str> {
    deploy.and_then(|d| d.method.as_deref()).filter(|m| !m.is_empty())
}

pub(super) fn wants_deploy(host: &BareMetalHost) -> bool {
    url(host.spec.image.as_ref()).is_some() || method(host.spec.custom_deploy.as_ref()).is_some()
}

/// Whether what is (being) put on the disk is no longer wanted. Only the URL of an image counts.
pub(super) fn is_cancelled(host: &BareMetalHost) -> bool {
    let on_disk = host.status.as_ref().map(|s| &s.provisioning);
    let image_on_disk = url(on_disk.and_then(|p| p.image.as_ref()));
    let deploy_on_disk = method(on_disk.and_then(|p| p.custom_deploy.as_ref()));
    let (image, deploy) = (url(host.spec.image.as_ref()), method(host.spec.custom_deploy.as_ref()));
    let replaced = |there: Option<&str>, wanted: Option<&str>| there.is_some() && there != wanted;
    (image.is_none() && deploy.is_none())
        || replaced(image_on_disk, image)
        || replaced(deploy_on_disk, deploy)
}
