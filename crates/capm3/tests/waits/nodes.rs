//! Machines that wait for their Node, in a workload cluster that `explain` does not read.

use base64::{Engine, prelude::BASE64_STANDARD};
use capm3_lab::{Lab, faults::Fault};
use serde_json::{Value, json};

use crate::{
    scene::{OneFault, Scene, lab, lab_against, put, rest},
    site::{HOME, Site},
};

/// Path of the API of the workload cluster in the embedded server.
const WORKLOAD: &str = "/clusters/n/c";

/// The Secret that leads to the workload cluster.
fn kubeconfig() -> Value {
    let text = format!(
        "apiVersion: v1\nkind: Config\nclusters:\n- name: c\n  cluster: {{server: 'https://embedded.invalid{WORKLOAD}'}}\n"
    );
    json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "c-kubeconfig", "namespace": HOME},
        "data": {"value": BASE64_STANDARD.encode(text)}})
}

/// Makes the workload cluster, which has no Node.
async fn connect(lab: &Lab) {
    lab.server().add_cluster("n/c");
    put(lab, kubeconfig()).await;
}

/// The first list of Nodes does not come.
pub async fn not_listed() -> Scene {
    let fault = OneFault::new("GET", WORKLOAD, Fault::NeverAsked);
    let lab = lab_against(&Site::whole(), &fault).await;
    connect(&lab).await;
    Scene::machine(lab)
}

/// There is no kubeconfig.
pub async fn unreachable() -> Scene {
    Scene::machine(lab(&Site::whole()).await)
}

pub async fn not_there() -> Scene {
    let lab = lab(&Site::whole()).await;
    connect(&lab).await;
    Scene::machine(lab)
}

/// Two Nodes are labelled with the uid of the host.
pub async fn ambiguous() -> Scene {
    let lab = lab(&Site::whole()).await;
    rest(&lab).await;
    lab.server().add_cluster("n/c");
    let uid = lab.object("BareMetalHost", "h").unwrap()["metadata"]["uid"].clone();
    for name in ["old", "new"] {
        let node = json!({"apiVersion": "v1", "kind": "Node",
            "metadata": {"name": name, "labels": {"metal3.io/uuid": uid}}});
        let kind = capm3_engine::ResourceKind::of::<capm3_api::neighbours::Node>();
        lab.client().below(WORKLOAD).create(&kind, "", node).await.unwrap();
    }
    put(&lab, kubeconfig()).await;
    Scene::machine(lab)
}
