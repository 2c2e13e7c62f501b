//! A cluster whose workers share one data template: what the tests of metadata, network data and addresses start from.

use std::sync::Arc;

use capm3_engine::{ObjectKey, ResourceKind};
use capm3_lab::{Lab, fleet::fleet, manifests::Manifest};
use serde_json::{Value, json};

use super::{change, get, hosts, metal3, name, resource, rest, secret, text};

/// Where everything lives.
pub const HOME: &str = "fleet";

/// `size` workers on a template with this spec, and a control plane without data. Hosts `host-00000` and on, one of
/// them for the control plane. The pool `fleet` is there.
pub fn workers(size: usize, spec: Value) -> Vec<Manifest> {
    let mut manifests = fleet(size);
    let without = json!({"spec": {"template": {"spec": {"dataTemplate": null}}}});
    change(&mut manifests, "Metal3MachineTemplate", "control-plane", &without);
    replace(&mut manifests, "Metal3DataTemplate", "fleet", spec);
    manifests
}

/// The spec of a template that gives an index and a fixed value.
pub fn with_index() -> Value {
    json!({"metaData": {"indexes": [{"key": "index"}], "strings": [{"key": "role", "value": "worker"}]}})
}

/// Puts another spec into a manifest.
pub fn replace(manifests: &mut [Manifest], kind: &str, name: &str, spec: Value) {
    let found = manifests.iter_mut().find(|m| m.kind() == kind && m.key().name == name);
    found.unwrap_or_else(|| panic!("no {kind} {name}")).object["spec"] = spec;
}

/// Takes the manifest of that kind and name out.
pub fn take_out(manifests: &mut Vec<Manifest>, kind: &str, name: &str) -> Manifest {
    let at = manifests.iter().position(|m| m.kind() == kind && m.key().name == name);
    manifests.remove(at.unwrap_or_else(|| panic!("no {kind} {name}")))
}

/// A manifest of the fleet's namespace.
pub fn manifest(api_version: &str, kind: &str, name: &str, rest: &Value) -> Manifest {
    let mut object =
        json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": name, "namespace": HOME}});
    json_patch::merge(&mut object, rest);
    Manifest { file: "test".to_owned(), object }
}

/// A manifest of one of the provider's kinds.
pub fn ours(kind: &str, name: &str, spec: &Value) -> Manifest {
    manifest("infrastructure.cluster.x-k8s.io/v1beta2", kind, name, &json!({"spec": spec}))
}

/// A pool.
pub fn pool(name: &str, spec: &Value) -> Manifest {
    manifest("ipam.metal3.io/v1alpha1", "IPPool", name, &json!({"spec": spec}))
}

/// Where a kind of Metal3's address manager is served.
pub fn ipam(kind: &str) -> ResourceKind {
    resource("ipam.metal3.io/v1alpha1", kind)
}

/// Where a kind of Cluster API's address contract is served.
pub fn capi_ipam(kind: &str) -> ResourceKind {
    resource("ipam.cluster.x-k8s.io/v1beta2", kind)
}

/// A key in the fleet's namespace.
pub fn here(name: &str) -> ObjectKey {
    ObjectKey::new(HOME, name)
}

/// The workers' Metal3Machines.
pub fn worker_machines(lab: &Lab) -> Vec<Arc<Value>> {
    super::machines(lab, "workers-")
}

/// The data of a machine, through its claim.
pub fn data_of(lab: &Lab, machine: &str) -> Arc<Value> {
    let claim = get(lab, "Metal3DataClaim", machine);
    get(lab, "Metal3Data", &text(&claim, "/status/renderedData/name"))
}

/// Index, metadata and network data of each worker, by index.
pub fn rendered(lab: &Lab) -> Vec<(i64, String, String)> {
    let of = |machine: &Arc<Value>| {
        let name = name(machine);
        let index = data_of(lab, &name)["spec"]["index"].as_i64().unwrap();
        let document =
            |suffix: &str, key: &str| secret(lab, &format!("{name}-{suffix}"), key).unwrap_or_default();
        (index, document("metadata", "metaData"), document("networkdata", "networkData"))
    };
    let mut all: Vec<_> = worker_machines(lab).iter().map(of).collect();
    all.sort();
    all
}

/// Values of a key of the metadata, by index.
pub fn values(lab: &Lab, key: &str) -> Vec<String> {
    rendered(lab).iter().map(|(_, meta_data, _)| value(meta_data, key)).collect()
}

/// The value of a key in a metadata document.
pub fn value(document: &str, key: &str) -> String {
    let prefix = format!("{key}: ");
    let found = document.lines().find_map(|line| line.strip_prefix(&prefix));
    found.unwrap_or_default().trim_matches('"').to_owned()
}

/// Message of the condition `Ready`.
pub fn ready_message(object: &Value) -> String {
    condition_message(object, "Ready")
}

/// Message of a condition.
pub fn condition_message(object: &Value, type_: &str) -> String {
    text(super::find_condition(object, type_), "/message")
}

/// Warnings recorded on an object.
pub fn warnings(lab: &Lab, kind: &str, name: &str) -> Vec<String> {
    let about = |event: &&Arc<Value>| {
        text(event, "/involvedObject/kind") == kind
            && text(event, "/involvedObject/name") == name
            && text(event, "/type") == "Warning"
    };
    let printed = |event: &Arc<Value>| format!("{}: {}", text(event, "/reason"), text(event, "/message"));
    lab.objects("Event").iter().filter(about).map(printed).collect()
}

/// Scales the workers and waits for rest.
pub async fn scale(lab: &Lab, replicas: usize) {
    let patch = json!({"spec": {"replicas": replicas}});
    lab.patch(&super::capi("MachineDeployment"), &here("workers"), &patch).await.unwrap();
    rest(lab).await;
}

/// Deletes an object of the provider and waits for rest.
pub async fn delete(lab: &Lab, kind: &str, name: &str) {
    lab.client().delete(&metal3(kind), &here(name), None).await.unwrap();
    rest(lab).await;
}

/// Deletes a worker's Machine; its deployment makes another one.
pub async fn delete_machine(lab: &Lab, name: &str) {
    lab.client().delete(&super::capi("Machine"), &here(name), None).await.unwrap();
    rest(lab).await;
}

/// Whether there are workers and all of them are provisioned.
pub fn all_ready(lab: &Lab) -> bool {
    let ready = |m: &Arc<Value>| m.pointer("/status/initialization/provisioned") == Some(&json!(true));
    let workers = worker_machines(lab);
    !workers.is_empty() && workers.iter().all(ready)
}

/// The host of a machine.
pub fn host_of(lab: &Lab, machine: &str) -> Arc<Value> {
    let machine = get(lab, "Metal3Machine", machine);
    hosts::host(lab, &machine)
}
