//! What a control plane reports.

use capm3_api::metadata::MetadataExt;

use super::decide::Snapshot;
use crate::{
    capi::{CONTROL_PLANE_NAME, count},
    kinds::{ControlPlaneInitialization, ControlPlaneStatus, Machine},
    metadata::{Saying, say},
};

pub(super) fn of(s: &Snapshot) -> ControlPlaneStatus {
    let old = &s.control_plane;
    let generation = old.metadata.generation;
    let mut status = old.status.clone().unwrap_or_default();
    let up_to_date = s.up_to_date();
    let ready = s.machines.iter().filter(|m| m.says("Ready")).count();
    let initialized = old.is_initialized() || s.machines.iter().any(|m| Machine::node_name(m).is_some());
    status.initialization = Some(ControlPlaneInitialization { control_plane_initialized: Some(initialized) });
    if up_to_date.iter().all(|current| *current) && !s.machines.is_empty() {
        status.version.clone_from(&old.spec.version);
    }
    let counts = &mut status.counts;
    counts.selector = Some(format!("{CONTROL_PLANE_NAME}={}", old.metadata.name_str()));
    counts.replicas = Some(count(s.machines.len()));
    counts.ready_replicas = Some(count(ready));
    counts.available_replicas = Some(count(ready));
    counts.up_to_date_replicas = Some(count(up_to_date.iter().filter(|current| **current).count()));
    counts.observed_generation = generation;
    for saying in [
        Saying::of("Available", initialized && ready > 0, "Available", "NotAvailable"),
        Saying::of("Initialized", initialized, "Initialized", "NotInitialized"),
        Saying::of("Deleting", old.metadata.is_deleting(), "Deleting", "NotDeleting"),
    ] {
        say(&mut counts.conditions, saying, &s.now, generation);
    }
    status
}
