//! Machines that wait for a host, or for what becomes of it.

use capm3_lab::{Lab, Options, manifests::Manifest};
use capm3_offline::planner::Controller;
use capm3_world::Profile;
use serde_json::{Value, json};

use crate::{
    data::unrendered,
    scene::{Scene, delete, lab, lab_with, patch, patch_status, put, rest, strip},
    site::{HOME, Site, object, ours, owner, pool},
};

const PAUSED: &str = "baremetalhost.metal3.io/paused";

pub async fn none() -> Scene {
    Scene::machine(lab(&Site::whole().without("BareMetalHost", "h")).await)
}

/// The only host is kept for the deployment of the machine and is not clean yet.
pub async fn reserved() -> Scene {
    let capi = "cluster.x-k8s.io/v1beta2";
    let mut set = object(capi, "MachineSet", "s", json!({"clusterName": "c"}));
    set["metadata"]["ownerReferences"] = json!([owner("MachineDeployment", "w")]);
    set["metadata"]["uid"] = json!("machineset-s");
    let reserved = json!({
        "metadata": {"labels": {"infrastructure.cluster.x-k8s.io/node-reuse": "md-w", "cluster.x-k8s.io/cluster-name": "c"}},
        "spec": {"consumerRef": {"apiVersion": capi, "kind": "Cluster", "namespace": HOME, "name": "c"}},
        "status": {"provisioning": {"state": "deprovisioning"}}});
    let site = Site::grown()
        .with("Machine", "m", &json!({"metadata": {"ownerReferences": [owner("MachineSet", "s")]}}))
        .with("BareMetalHost", "h", &reserved)
        .and(set)
        .and(object(capi, "MachineDeployment", "w", json!({"clusterName": "c"})));
    Scene::planned(&site, Controller::Machine, "m")
}

/// Admission does not take it.
pub async fn bad_selector() -> Scene {
    let selector = json!({"matchExpressions": [{"key": "size", "operator": "above", "values": ["x"]}]});
    let site = Site::grown().with("Metal3Machine", "m", &json!({"spec": {"hostSelector": selector}}));
    Scene::planned(&site, Controller::Machine, "m")
}

pub async fn bad_record() -> Scene {
    Scene::machine(lab(&Site::whole().with("Metal3Machine", "m", &record("a/b/c"))).await)
}

fn record(host: &str) -> Value {
    json!({"metadata": {"annotations": {"metal3.io/BareMetalHost": host}}})
}

fn consumed_by(machine: &str) -> Value {
    json!({"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "Metal3Machine", "namespace": HOME, "name": machine})
}

/// A host in use names the machine, which knows nothing of it.
pub async fn unrecorded() -> Scene {
    let used = json!({"spec": {"consumerRef": consumed_by("m"), "image": {"url": "http://192.0.2.1/other"},
        "userData": {"name": "other", "namespace": HOME}}});
    Scene::machine(lab(&Site::whole().with("BareMetalHost", "h", &used)).await)
}

/// The claim of the machine is there, and no host.
pub async fn lost() -> Scene {
    let lab = lab(&Site::whole().without("BareMetalHost", "h")).await;
    put(&lab, ours("Metal3DataClaim", "m", json!({"template": {"name": "d", "namespace": HOME}}))).await;
    Scene::machine(lab)
}

pub async fn consumed() -> Scene {
    let lab = unrendered().await;
    patch(&lab, "BareMetalHost", "h", json!({"spec": {"consumerRef": consumed_by("stranger")}})).await;
    Scene::machine(lab)
}

pub async fn recorded() -> Scene {
    let lab = unrendered().await;
    let change = json!({"metadata": {"annotations": {"capm3.metal3.io/unhealthy": ""}}, "spec": {"consumerRef": null}});
    patch(&lab, "BareMetalHost", "h", change).await;
    Scene::machine(lab)
}

pub async fn missing() -> Scene {
    let lab = unrendered().await;
    strip(&lab, "BareMetalHost", "h").await;
    Scene::machine(lab)
}

/// A lab whose machine has a host with its image.
async fn provisioned() -> Lab {
    let lab = lab(&Site::whole()).await;
    rest(&lab).await;
    lab
}

pub async fn deleted() -> Scene {
    let lab = provisioned().await;
    patch(&lab, "BareMetalHost", "h", json!({"metadata": {"finalizers": ["example.com/held"]}})).await;
    delete(&lab, "BareMetalHost", "h").await;
    Scene::machine(lab)
}

pub async fn deprovisioned_by_others() -> Scene {
    let lab = provisioned().await;
    patch(&lab, "BareMetalHost", "h", annotated(PAUSED)).await;
    patch_status(&lab, "BareMetalHost", "h", json!({"provisioning": {"state": "deprovisioning"}})).await;
    Scene::machine(lab)
}

fn annotated(key: &str) -> Value {
    json!({"metadata": {"annotations": {key: ""}}})
}

/// The image takes its time.
pub async fn provisioning() -> Scene {
    Scene::machine(lab_with(&Site::whole(), &slow()).await)
}

fn slow() -> Options {
    Options { profile: Profile::Demo, ..Options::default() }
}

/// The machine has taken its host; `change` is made before its image and data are written to the host.
async fn blocked(change: Value) -> Lab {
    let lab = unrendered().await;
    patch(&lab, "BareMetalHost", "h", change).await;
    lab
}

pub async fn in_error() -> Scene {
    let lab = blocked(annotated(PAUSED)).await;
    patch_status(&lab, "BareMetalHost", "h", json!({"errorMessage": "no power"})).await;
    put(&lab, pool("p")).await;
    Scene::machine(lab)
}

pub async fn paused() -> Scene {
    let lab = blocked(annotated(PAUSED)).await;
    put(&lab, pool("p")).await;
    Scene::machine(lab)
}

pub async fn detached() -> Scene {
    let lab = blocked(annotated("baremetalhost.metal3.io/detached")).await;
    put(&lab, pool("p")).await;
    Scene::machine(lab)
}

pub async fn externally_provisioned() -> Scene {
    let lab = blocked(json!({"spec": {"externallyProvisioned": true}})).await;
    put(&lab, pool("p")).await;
    Scene::machine(lab)
}

/// The installed definition of hosts is too old.
pub async fn without_field() -> Scene {
    let mut lab = Lab::start(&Options::default()).await.unwrap();
    let is_host = |m: &Manifest| m.key().name == "baremetalhosts.metal3.io";
    let mut crd = capm3_lab::crds().into_iter().find(is_host).unwrap();
    let properties = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties";
    crd.object.pointer_mut(properties).unwrap().as_object_mut().unwrap().remove("metaData").unwrap();
    lab.apply(&[crd]).await.unwrap();
    lab.start_provider();
    lab.apply(&Site::whole().manifests()).await.unwrap();
    Scene::machine(lab)
}

/// The user data is in another namespace, which admission does not take.
pub async fn bad_spec() -> Scene {
    let site = Site::grown()
        .with("Machine", "m", &json!({"spec": {"bootstrap": {"dataSecretName": null}}}))
        .with("Metal3Machine", "m", &json!({"spec": {"userData": {"name": "boot", "namespace": "other"}}}));
    Scene::planned(&site, Controller::Machine, "m")
}

pub async fn deprovisioning() -> Scene {
    let lab = lab_with(&Site::whole(), &slow()).await;
    rest(&lab).await;
    delete(&lab, "Machine", "m").await;
    Scene::machine(lab)
}
