//! What the end-to-end tests share: the example, changed copies of it, and short ways to look at objects.
#![allow(dead_code, reason = "each test file uses a part")]

use std::{
    path::Path,
    sync::{Arc, OnceLock},
    time::Duration,
};

use base64::{Engine, prelude::BASE64_STANDARD};
use capm3_apiserver::{Admission, ApiServer};
use capm3_engine::{ObjectKey, ResourceKind};
use capm3_lab::{
    Lab, Options, Settled,
    manifests::{self, Manifest},
};
use parking_lot::Mutex;
use serde_json::{Value, json};

pub mod data;
pub mod hosts;

/// Longest virtual time that a test waits for rest.
pub const LIMIT: Duration = Duration::from_secs(3600);

/// The manifests of `examples/three-racks`.
pub fn three_racks() -> Vec<Manifest> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/three-racks");
    manifests::read(&folder).unwrap()
}

/// The same without the machines: cluster, hosts, templates and pools.
pub fn racks_without_machines() -> Vec<Manifest> {
    let mut all = three_racks();
    all.retain(|m| !matches!(m.kind(), "KubeadmControlPlane" | "MachineDeployment"));
    all
}

/// Documents of a text.
pub fn yaml(text: &str) -> Vec<Manifest> {
    manifests::parse("test", text).unwrap()
}

/// Merges a patch into the manifest of that kind and name.
pub fn change(manifests: &mut [Manifest], kind: &str, name: &str, patch: &Value) {
    let found = manifests.iter_mut().find(|m| m.kind() == kind && m.key().name == name);
    json_patch::merge(&mut found.unwrap_or_else(|| panic!("no {kind} {name}")).object, patch);
}

/// A lab in which these manifests were applied and that is idle now.
pub async fn settled(manifests: &[Manifest]) -> Lab {
    let lab = started(manifests).await;
    rest(&lab).await;
    lab
}

/// A lab in which these manifests were just applied.
pub async fn started(manifests: &[Manifest]) -> Lab {
    let lab = Lab::start(&Options::default()).await.unwrap();
    lab.apply(manifests).await.unwrap();
    lab
}

/// A server that lets everything pass, as where the webhook was not there when the object was made.
pub struct NoWebhook;

impl Admission for NoWebhook {}

/// What was true at the moments when objects of a resource were created.
pub struct Moments {
    server: Arc<OnceLock<ApiServer>>,
    seen: Arc<Mutex<Vec<String>>>,
}

impl Moments {
    /// Starts a lab in which `inspect` is asked, with the new object's name, whenever one of `resource` is created.
    pub async fn lab(
        resource: &'static str,
        inspect: impl Fn(&ApiServer, &str) -> String + Send + Sync + 'static,
    ) -> (Lab, Self) {
        let moments = Self { server: Arc::default(), seen: Arc::default() };
        let (server, seen) = (Arc::clone(&moments.server), Arc::clone(&moments.seen));
        let options = Options {
            observer: Some(Arc::new(move |record| {
                if let (Some(server), "create", 201) = (server.get(), record.verb.as_str(), record.code)
                    && record.resource.ends_with(resource)
                {
                    seen.lock().push(inspect(server, &record.name));
                }
            })),
            ..Options::default()
        };
        let lab = Lab::start(&options).await.unwrap();
        moments.server.set(lab.server().clone()).ok();
        (lab, moments)
    }

    /// The answers so far.
    pub fn seen(&self) -> Vec<String> {
        self.seen.lock().clone()
    }
}

/// What an object says at this very moment.
pub fn stored(server: &ApiServer, kind: &str, object: &str, pointer: &str) -> String {
    let objects = server.objects(None);
    let found = objects.iter().find(|o| o["kind"] == kind && name(o) == object);
    found.map(|o| text(o, pointer)).unwrap_or_default()
}

/// Waits for rest.
pub async fn rest(lab: &Lab) {
    assert_eq!(lab.settle(LIMIT).await, Settled::Quiet, "never came to rest");
}

/// Text at a pointer, empty if there is none.
pub fn text(object: &Value, pointer: &str) -> String {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// Name of an object.
pub fn name(object: &Value) -> String {
    text(object, "/metadata/name")
}

/// One object that must be there.
pub fn get(lab: &Lab, kind: &str, name: &str) -> Arc<Value> {
    lab.object(kind, name).unwrap_or_else(|| panic!("no {kind} {name}"))
}

/// Metal3Machines whose name starts so.
pub fn machines(lab: &Lab, prefix: &str) -> Vec<Arc<Value>> {
    let mut all = lab.objects("Metal3Machine");
    all.retain(|m| name(m).starts_with(prefix));
    all
}

/// A condition, null if there is none.
fn find_condition<'a>(object: &'a Value, type_: &str) -> &'a Value {
    let conditions = object.pointer("/status/conditions").and_then(Value::as_array);
    conditions.into_iter().flatten().find(|c| c["type"] == type_).unwrap_or(&Value::Null)
}

/// A condition's status and reason.
pub fn condition(object: &Value, type_: &str) -> (String, String) {
    let found = find_condition(object, type_);
    (text(found, "/status"), text(found, "/reason"))
}

/// A key of a Secret, decoded.
pub fn secret(lab: &Lab, name: &str, key: &str) -> Option<String> {
    let object = lab.object("Secret", name)?;
    let encoded = object.pointer("/data")?.get(key)?.as_str()?.to_owned();
    Some(String::from_utf8(BASE64_STANDARD.decode(encoded).unwrap()).unwrap())
}

/// Where a kind is served.
pub fn resource(api_version: &str, kind: &str) -> ResourceKind {
    let object = json!({"apiVersion": api_version, "kind": kind});
    Manifest { file: String::new(), object }.resource()
}

/// Where a kind of the provider is served.
pub fn metal3(kind: &str) -> ResourceKind {
    resource("infrastructure.cluster.x-k8s.io/v1beta2", kind)
}

/// Where a kind of Cluster API is served.
pub fn capi(kind: &str) -> ResourceKind {
    resource("cluster.x-k8s.io/v1beta2", kind)
}

/// A key in the example's namespace.
pub fn key(name: &str) -> ObjectKey {
    ObjectKey::new("metal3", name)
}

/// Scales the workers of the example.
pub async fn scale_workers(lab: &Lab, replicas: u32) {
    let patch = json!({"spec": {"replicas": replicas}});
    lab.patch(&capi("MachineDeployment"), &key("my-cluster-workers"), &patch).await.unwrap();
}

/// Deletes the Cluster of the example.
pub async fn delete_cluster(lab: &Lab) {
    lab.client().delete(&capi("Cluster"), &key("my-cluster"), None).await.unwrap();
}
