//! What these tests share beyond the example.

use std::sync::Arc;

use capm3_apiserver::WriteRecord;
use capm3_lab::{Lab, Options, manifests::Manifest};
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::common::*;

/// Pointer to the label with the failure domain.
pub const DOMAIN: &str = "/metadata/labels/infrastructure.cluster.x-k8s.io~1failure-domain";
/// Pointer to the record of a machine's host.
pub const HOST: &str = "/metadata/annotations/metal3.io~1BareMetalHost";
/// Pointer to the booking of a host.
pub const BOOKING: &str = "/metadata/labels/infrastructure.cluster.x-k8s.io~1node-reuse";

/// The example with the control plane alone, of this many machines.
pub fn control_plane(replicas: u32) -> Vec<Manifest> {
    let mut manifests = three_racks();
    manifests.retain(|m| m.kind() != "MachineDeployment");
    let patch = json!({"spec": {"replicas": replicas}});
    change(&mut manifests, "KubeadmControlPlane", "my-cluster-cp", &patch);
    manifests
}

/// Changes the spec of machines that a template makes.
pub fn machine_spec(manifests: &mut [Manifest], template: &str, spec: Value) {
    change(manifests, "Metal3MachineTemplate", template, &json!({"spec": {"template": {"spec": spec}}}));
}

/// Name of the host that a machine has recorded.
pub fn host_of(machine: &Value) -> String {
    text(machine, HOST).rsplit('/').next().unwrap_or_default().to_owned()
}

/// The host that a machine has recorded.
pub fn host(lab: &Lab, machine: &Value) -> Arc<Value> {
    get(lab, "BareMetalHost", &host_of(machine))
}

/// The writes of a lab, in order.
#[derive(Clone, Default)]
pub struct Writes(Arc<Mutex<Vec<WriteRecord>>>);

impl Writes {
    /// Starts a lab whose writes are kept.
    pub async fn lab() -> (Lab, Self) {
        let writes = Self::default();
        let sink = writes.clone();
        let observer: Arc<dyn Fn(&WriteRecord) + Send + Sync> =
            Arc::new(move |record| sink.0.lock().push(record.clone()));
        let options = Options { observer: Some(observer), ..Options::default() };
        (Lab::start(&options).await.unwrap(), writes)
    }

    /// Forgets what was written so far.
    pub fn clear(&self) {
        self.0.lock().clear();
    }

    /// The provider's successful writes to a resource.
    pub fn of_provider(&self, resource: &str) -> Vec<WriteRecord> {
        let all = self.0.lock();
        let ours =
            all.iter().filter(|w| w.user_agent == "capm3" && w.code < 300 && w.resource.ends_with(resource));
        ours.cloned().collect()
    }
}

/// Merges a patch into an object of the example's namespace, whatever its kind.
pub async fn patch(lab: &Lab, api_version: &str, kind: &str, name: &str, patch: Value) {
    let manifest = Manifest {
        file: String::new(),
        object: json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": name, "namespace": "metal3"}}),
    };
    lab.patch(&manifest.resource(), &manifest.key(), &patch).await.unwrap();
}

/// Merges a patch into a host.
pub async fn patch_host(lab: &Lab, name: &str, change: Value) {
    patch(lab, "metal3.io/v1alpha1", "BareMetalHost", name, change).await;
}

/// Merges a patch into a Metal3Machine.
pub async fn patch_machine(lab: &Lab, name: &str, change: Value) {
    patch(lab, "infrastructure.cluster.x-k8s.io/v1beta2", "Metal3Machine", name, change).await;
}

/// Deletes an object of the example's namespace.
pub async fn delete(lab: &Lab, api_version: &str, kind: &str, name: &str) {
    let manifest = Manifest {
        file: String::new(),
        object: json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": name, "namespace": "metal3"}}),
    };
    lab.client().delete(&manifest.resource(), &manifest.key(), None).await.unwrap();
}

/// Pauses the Cluster of the example, or ends the pause.
pub async fn pause_cluster(lab: &Lab, paused: bool) {
    patch(lab, "cluster.x-k8s.io/v1beta2", "Cluster", "my-cluster", json!({"spec": {"paused": paused}}))
        .await;
}

/// The events on Metal3Machines, reason and message, in order of names.
pub fn events(lab: &Lab, reason: &str) -> Vec<String> {
    let events = lab.objects("Event");
    let of_reason = events.iter().filter(|e| text(e, "/reason") == reason);
    of_reason.map(|e| format!("{}: {}", text(e, "/involvedObject/name"), text(e, "/message"))).collect()
}
