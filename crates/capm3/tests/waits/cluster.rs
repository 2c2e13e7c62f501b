//! Machines that wait for their Cluster or their Metal3Cluster.

use capm3_offline::planner::Controller;
use serde_json::{Value, json};

use crate::{
    scene::{Scene, lab},
    site::{Site, owner},
};

/// In a lab the Machine controller waits for the Cluster too, and the machine gets no owner.
pub async fn missing() -> Scene {
    Scene::planned(&Site::grown().without("Cluster", "c"), Controller::Machine, "m")
}

/// Who manages the Metal3Cluster has not reported that it is ready.
pub async fn managed_by_another() -> Scene {
    let annotation = json!({"metadata": {"annotations": {"cluster.x-k8s.io/managed-by": "x"}}});
    Scene::machine(lab(&Site::whole().with("Metal3Cluster", "c", &annotation)).await)
}

pub async fn without_metal3_cluster() -> Scene {
    Scene::planned(&Site::grown().without("Metal3Cluster", "c"), Controller::Machine, "m")
}

/// In a lab the Cluster controller sets the reference.
pub async fn without_owner_reference() -> Scene {
    unready(&json!({"metadata": {"ownerReferences": null}}))
}

pub async fn whose_owner_is_gone() -> Scene {
    unready(&json!({"metadata": {"ownerReferences": [owner("Cluster", "gone")]}}))
}

/// Admission does not take it.
pub async fn without_endpoint() -> Scene {
    unready(&json!({"spec": {"controlPlaneEndpoint": null}}))
}

pub async fn deleted_under_its_machines() -> Scene {
    let finalizer = "metal3cluster.infrastructure.cluster.x-k8s.io";
    unready(&json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": [finalizer]}}))
}

/// The wait of a Metal3Cluster that was never ready.
fn unready(patch: &Value) -> Scene {
    let site = Site::grown().with("Cluster", "c", &json!({"status": null})).with("Metal3Cluster", "c", patch);
    Scene::planned(&site, Controller::Cluster, "c")
}
