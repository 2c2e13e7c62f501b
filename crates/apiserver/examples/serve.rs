//! A server with two definitions and one workload cluster, for trying `kubectl` by hand. It writes its kubeconfig to the given file and serves
//! until it is interrupted.
//!
//! `cargo run -p capm3-apiserver --example serve -- /tmp/kubeconfig [ADDRESS]`

use std::{error::Error, fs, sync::Arc};

use capm3_apiserver::{
    ApiServer, Options,
    https::{self, ListenOptions},
};
use http::Request;
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};
use tower::ServiceExt;

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

fn definition(kind: &str, plural: &str, short_name: &str, version: Value) -> Value {
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.example.io")},
        "spec": {"group": "example.io", "scope": "Namespaced", "versions": [version],
            "names": {"plural": plural, "kind": kind, "shortNames": [short_name], "categories": ["example"]}}})
}

/// A group of racks that can be scaled.
fn rack_sets() -> Value {
    let schema = json!({"type": "object", "description": "A set of racks that can grow and shrink.", "properties": {
        "spec": {"type": "object", "description": "What is wanted.", "required": ["replicas"], "properties": {
            "replicas": {"type": "integer", "minimum": 0, "description": "How many racks."},
            "color": {"type": "string", "enum": ["red", "blue"], "default": "red", "description": "Their color."}}},
        "status": {"type": "object", "description": "What is there.", "properties": {
            "replicas": {"type": "integer"}, "selector": {"type": "string"},
            "conditions": {"type": "array", "items": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}}}});
    let columns = json!([
        {"name": "Wanted", "type": "integer", "jsonPath": ".spec.replicas"},
        {"name": "Cluster", "type": "string", "jsonPath": ".metadata.labels.cluster\\.x-k8s\\.io/cluster-name"},
        {"name": "Ready", "type": "string", "jsonPath": ".status.conditions[?(@.type==\"Ready\")].status"},
        {"name": "Color", "type": "string", "jsonPath": ".spec.color", "priority": 1},
        {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}]);
    let scale = json!({"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas",
        "labelSelectorPath": ".status.selector"});
    let version = json!({"name": "v1", "served": true, "storage": true, "additionalPrinterColumns": columns,
        "subresources": {"status": {}, "scale": scale}, "schema": {"openAPIV3Schema": schema}});
    definition("RackSet", "racksets", "rs", version)
}

/// A rack with nothing special about it.
fn racks() -> Value {
    let schema = json!({"type": "object", "description": "A rack.", "properties": {
        "spec": {"type": "object", "description": "What is wanted.", "properties": {
            "height": {"type": "integer", "default": 42, "description": "In units."}}}}});
    let version =
        json!({"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}});
    definition("Rack", "racks", "rk", version)
}

async fn create(server: &ApiServer, definition: Value) -> Result<(), Box<dyn Error>> {
    let request = Request::post(DEFINITIONS).body(Full::<bytes::Bytes>::from(definition.to_string()))?;
    let Ok(response) = server.clone().oneshot(request).await;
    if response.status() == 201 {
        return Ok(());
    }
    let body = response.into_body().collect().await.map_err(|error| error.to_string())?.to_bytes();
    Err(String::from_utf8_lossy(&body).into_owned().into())
}

#[tokio::main]
#[allow(clippy::disallowed_methods, reason = "a person looks at it in real time")]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().ok_or("usage: serve KUBECONFIG [ADDRESS]")?;
    let mut options = ListenOptions::default();
    if let Some(address) = arguments.next() {
        options.address = address.parse()?;
    }
    let server = ApiServer::new(Options::new(Arc::new(jiff::Timestamp::now), 1));
    create(&server, rack_sets()).await?;
    create(&server, racks()).await?;
    server.add_cluster("workload");
    let listener = https::serve(server, options)?;
    fs::write(&file, listener.kubeconfig())?;
    println!("listening on {}; try: kubectl --kubeconfig {file} get crd", listener.local_addr());
    std::future::pending::<()>().await;
    listener.stop().await;
    Ok(())
}
