//! What a Cluster reports, from its infrastructure, its control plane and its deployments.

use std::sync::Arc;

use capm3_api::{conditions::find, v1beta2::Initialization};

use super::Snapshot;
use crate::{
    kinds::{Cluster, ClusterStatus, KubeadmControlPlane, MachineDeployment, Replicas, is_complete},
    metadata::{Saying, say, say_legacy},
};

/// Copies what the infrastructure reports.
pub(super) fn infrastructure(s: &Snapshot, new: &mut Cluster, status: &mut ClusterStatus) {
    let needed = s.cluster.spec.infrastructure_ref.is_some();
    let flag = &mut status.initialization.infrastructure_provisioned;
    let Some(infrastructure) = &s.infrastructure else {
        *flag = Some(flag.unwrap_or(false) || !needed);
        let saying =
            Saying::of("InfrastructureReady", !needed, "InfrastructureReady", "WaitingForInfrastructure");
        say(&mut status.conditions, saying, &s.now, s.cluster.metadata.generation);
        say_legacy(&mut status.deprecated, saying, &s.now);
        return;
    };
    let provisioned = Initialization::is_provisioned(&infrastructure.status.initialization);
    *flag = Some(flag.unwrap_or(false) || provisioned);
    if provisioned {
        let endpoint = infrastructure.spec.control_plane_endpoint.as_ref().filter(|e| is_complete(e));
        if !new.has_endpoint() && endpoint.is_some() {
            new.spec.control_plane_endpoint = endpoint.cloned();
        }
        status.failure_domains.clone_from(&infrastructure.status.failure_domains);
    }
    let saying = match find(&infrastructure.status.conditions, "Ready") {
        Some(ready) => Saying {
            type_: "InfrastructureReady",
            status: &ready.status,
            reason: if ready.reason.is_empty() { "Unknown" } else { &ready.reason },
            message: &ready.message,
        },
        None => Saying::of("InfrastructureReady", provisioned, "Ready", "WaitingForInfrastructure"),
    };
    say(&mut status.conditions, saying, &s.now, s.cluster.metadata.generation);
    say_legacy(&mut status.deprecated, saying, &s.now);
}

/// Flags, counts and conditions.
pub(super) fn report(s: &Snapshot, new: &Cluster, status: &mut ClusterStatus) {
    let generation = s.cluster.metadata.generation;
    let initialized = s.control_plane.as_ref().is_some_and(|c| c.is_initialized());
    let flag = &mut status.initialization.control_plane_initialized;
    *flag = Some(flag.unwrap_or(false) || initialized);
    let up = *flag == Some(true);
    let provisioned = status.initialization.infrastructure_provisioned == Some(true);
    let phase = match (s.cluster.spec.infrastructure_ref.is_some(), provisioned && new.has_endpoint()) {
        (_, true) => "Provisioned",
        (true, false) => "Provisioning",
        (false, false) => "Pending",
    };
    status.phase = Some(phase.to_owned());
    status.observed_generation = generation;
    status.control_plane = s.control_plane.as_deref().map(control_plane_counts);
    status.workers = Some(worker_counts(&s.deployments));
    let initialized = Saying::of("ControlPlaneInitialized", up, "Initialized", "NotInitialized");
    for saying in [
        Saying::of("Available", provisioned && up, "Available", "NotAvailable"),
        initialized,
        Saying::of("Deleting", false, "Deleting", "NotDeleting"),
        Saying::of("Paused", false, "Paused", "NotPaused"),
    ] {
        say(&mut status.conditions, saying, &s.now, generation);
    }
    say_legacy(&mut status.deprecated, initialized, &s.now);
}

fn control_plane_counts(control_plane: &KubeadmControlPlane) -> Replicas {
    let counts = control_plane.status.as_ref().map(|s| s.counts.clone()).unwrap_or_default();
    Replicas {
        desired_replicas: Some(control_plane.wanted()),
        replicas: counts.replicas,
        ready_replicas: counts.ready_replicas,
        available_replicas: counts.available_replicas,
        up_to_date_replicas: counts.up_to_date_replicas,
    }
}

fn worker_counts(deployments: &[Arc<MachineDeployment>]) -> Replicas {
    let mut sum = Replicas::default();
    let add = |to: &mut Option<i32>, more: Option<i32>| *to = Some(to.unwrap_or(0) + more.unwrap_or(0));
    for deployment in deployments {
        let counts = deployment.status.clone().unwrap_or_default();
        add(&mut sum.desired_replicas, Some(deployment.wanted()));
        add(&mut sum.replicas, counts.replicas);
        add(&mut sum.ready_replicas, counts.ready_replicas);
        add(&mut sum.available_replicas, counts.available_replicas);
        add(&mut sum.up_to_date_replicas, counts.up_to_date_replicas);
    }
    sum
}
