//! What tests of machines and hosts share: copies of the example, short ways to change and to look at objects, and all
//! that was written.

use std::{collections::BTreeMap, sync::Arc};

use capm3_apiserver::{Revision, WriteRecord};
use capm3_lab::{Lab, Options, manifests::Manifest};
use capm3_world::Profile;
use jiff::Timestamp;
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::*;

/// Pointer to the label with the failure domain.
pub const DOMAIN: &str = "/metadata/labels/infrastructure.cluster.x-k8s.io~1failure-domain";
/// Pointer to the record of a machine's host.
pub const HOST: &str = "/metadata/annotations/metal3.io~1BareMetalHost";
/// Pointer to the reservation of a host.
pub const RESERVATION: &str = "/metadata/labels/infrastructure.cluster.x-k8s.io~1node-reuse";

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

/// A lab in which these manifests were just applied and things take seconds, so that there is time to observe it.
pub async fn started_slowly(manifests: &[Manifest]) -> Lab {
    let options = Options { profile: Profile::Demo, ..Options::default() };
    let lab = Lab::start(&options).await.unwrap();
    lab.apply(manifests).await.unwrap();
    lab
}

/// A second host for the control plane in each rack of the example, so that another one could be taken.
pub fn add_spare_hosts(manifests: &mut [Manifest]) {
    for rack in 1..=3 {
        let role = json!({"metadata": {"labels": {"cluster-role": "control-plane"}}});
        change(manifests, "BareMetalHost", &format!("rack{rack}-host-4"), &role);
    }
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
        Self::lab_with(Options::default()).await
    }

    /// The same with options.
    pub async fn lab_with(options: Options) -> (Lab, Self) {
        let writes = Self::default();
        let sink = writes.clone();
        let observer: Arc<dyn Fn(&WriteRecord) + Send + Sync> =
            Arc::new(move |record| sink.0.lock().push(record.clone()));
        let options = Options { observer: Some(observer), ..options };
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

    /// The events that the provider sent and the server did not take, with the answer. An event is named by its content,
    /// so one that is sent a second time leaves no second object, only a conflict: it is seen here and nowhere else.
    pub fn events_not_taken(&self, lab: &Lab) -> Vec<String> {
        let all = self.0.lock();
        let sent = all.iter().filter(|w| w.user_agent == "capm3" && w.resource == "/events");
        let sent: Vec<&WriteRecord> = sent.filter(|w| w.verb == "create").collect();
        assert!(!sent.is_empty(), "no event was sent at all: nothing is shown");
        let reported = |w: &&WriteRecord| {
            let event = lab.object("Event", &w.name).unwrap_or_default();
            format!("{} {}: {} {}", w.code, w.name, text(&event, "/reason"), text(&event, "/message"))
        };
        sent.iter().filter(|w| w.code != 201).map(reported).collect()
    }
}

/// Where hosts are served, by group and plural.
pub const BARE_METAL_HOSTS: (&str, &str) = ("metal3.io", "baremetalhosts");
/// Where Metal3Machines are served.
pub const METAL3_MACHINES: (&str, &str) = ("infrastructure.cluster.x-k8s.io", "metal3machines");
/// Where Machines are served.
pub const MACHINES: (&str, &str) = ("cluster.x-k8s.io", "machines");

/// Objects as they were at a revision, by kind and name.
#[derive(Default)]
pub struct Past(BTreeMap<(String, String), Value>);

impl Past {
    /// An object as it was, null if there was none.
    pub fn get(&self, kind: &str, name: &str) -> &Value {
        self.0.get(&(kind.to_owned(), name.to_owned())).unwrap_or(&Value::Null)
    }

    /// All of a kind.
    pub fn all<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = &'a Value> {
        self.0.iter().filter(move |((of, _), _)| of == kind).map(|(_, object)| object)
    }
}

/// Goes through everything that ever happened to these resources, in the server's order. `inspect` is given what there was
/// before a revision, and the object as the revision left it.
pub fn replay(lab: &Lab, resources: &[(&str, &str)], mut inspect: impl FnMut(&Past, &Value)) {
    let of = |(group, plural): &(&str, &str)| lab.server().history(None, group, plural).unwrap();
    let mut history: Vec<Revision> = resources.iter().flat_map(of).collect();
    history.sort_by_key(|revision| revision.number);
    let mut past = Past::default();
    for Revision { removed, object, .. } in history {
        let key = (text(&object, "/kind"), name(&object));
        if removed {
            past.0.remove(&key);
        } else {
            inspect(&past, &object);
            past.0.insert(key, object);
        }
    }
}

/// Takes an object away whatever holds it.
pub async fn strip(lab: &Lab, api_version: &str, kind: &str, name: &str) {
    delete(lab, api_version, kind, name).await;
    if lab.object(kind, name).is_some() {
        patch(lab, api_version, kind, name, json!({"metadata": {"finalizers": null}})).await;
    }
    assert!(lab.object(kind, name).is_none(), "{kind} {name} is still there");
}

/// Asserts that a host is as good as new: available, nobody's, and with nothing of its last user.
pub fn assert_blank(lab: &Lab, name: &str) {
    let host = get(lab, "BareMetalHost", name);
    assert_eq!(text(&host, "/status/provisioning/state"), "available", "{host}");
    let spec = ["consumerRef", "image", "userData", "metaData", "networkData"].map(|f| format!("/spec/{f}"));
    let notes = ["baremetalhost.metal3.io~1paused", "clusterctl.cluster.x-k8s.io~1block-move"];
    let notes = notes.map(|note| format!("/metadata/annotations/{note}"));
    let label = "/metadata/labels/cluster.x-k8s.io~1cluster-name".to_owned();
    for field in spec.into_iter().chain(notes).chain([label]) {
        assert!(host.pointer(&field).is_none_or(Value::is_null), "{field}: {host}");
    }
}

/// Seconds that the cleaning of a host takes in a demonstration.
pub const CLEANING: i64 = 10;

/// Seconds that the last deprovisioning of a host took, by its own status.
pub fn deprovisioning_took(lab: &Lab, host: &str) -> i64 {
    let host = get(lab, "BareMetalHost", host);
    let at = |moment: &str| {
        let text = text(&host, &format!("/status/operationHistory/deprovision/{moment}"));
        text.parse::<Timestamp>().unwrap()
    };
    at("end").duration_since(at("start")).as_secs()
}

/// Merges a patch into an object of the example's namespace, whatever its kind.
pub async fn patch(lab: &Lab, api_version: &str, kind: &str, name: &str, patch: Value) {
    lab.patch(&resource(api_version, kind), &key(name), &patch).await.unwrap();
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
    lab.client().delete(&resource(api_version, kind), &key(name), None).await.unwrap();
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
