//! Every write to a BareMetalHost: claim, provision, pause, release and annotate.
//!
//! Takes a host as it was observed and what is to change; gives a merge patch that the server takes only if the host is still
//! that version. What a release or a pause changes is decided in `domain`; whether it is done, by the controllers.

mod provision;

use capm3_api::{neighbours::BareMetalHost, v1beta2::Metal3Machine};
use capm3_engine::{Object, ResourceKind, Write};
use serde_json::{Map, Value, json};

use crate::{metal3machine::HostData, plan::Plan};
pub(crate) use provision::is_blank;
pub use provision::{HostSpecError, claim, host_annotation, provision_patch};

/// Claims the host for a machine: of two machines that claim the same version, one wins.
pub(crate) fn push_claim(plan: &mut Plan, host: &BareMetalHost, machine: &Metal3Machine, cluster: &str) {
    let mut claimed = host.clone();
    claim(&mut claimed, machine, cluster);
    plan.update_object(host, &claimed);
}

/// Gives the host image, data and power, as far as it lacks them. `data` shows which data on the host is a user's.
pub(crate) fn push_provision(
    plan: &mut Plan,
    host: &BareMetalHost,
    machine: &Metal3Machine,
    data: &HostData,
) -> Result<(), HostSpecError> {
    if let Some(patch) = provision_patch(host, machine, data)? {
        push(plan, host, patch);
    }
    Ok(())
}

/// Sets annotations of the host, or takes them off where the value is null.
pub(crate) fn push_annotations(plan: &mut Plan, host: &BareMetalHost, annotations: Map<String, Value>) {
    push(plan, host, json!({"metadata": {"annotations": annotations}}));
}

/// The same for a host that was read at another version than the cache has.
pub(crate) fn push_annotations_at(
    plan: &mut Plan,
    host: &BareMetalHost,
    version: Option<String>,
    annotations: Map<String, Value>,
) {
    plan.writes.push(guarded(host, version, json!({"metadata": {"annotations": annotations}})));
}

/// Writes one step of a release, or the end of a reservation.
pub(crate) fn push_release(plan: &mut Plan, host: &BareMetalHost, patch: Value) {
    push(plan, host, patch);
}

fn push(plan: &mut Plan, host: &BareMetalHost, patch: Value) {
    plan.writes.push(guarded(host, host.metadata.resource_version.clone(), patch));
}

fn guarded(host: &BareMetalHost, version: Option<String>, patch: Value) -> Write {
    Write::Patch {
        kind: ResourceKind::of::<BareMetalHost>(),
        key: host.key(),
        subresource: None,
        version,
        patch,
    }
}
