//! Each replica answers reviews, whether it leads or not.

use anyhow::{Context, Result, ensure};
use capm3_admission::review::Route;
use capm3_api::v1beta2::Metal3Cluster;
use serde_json::{Value, json};

use crate::webhook_client::{Client, Protocol};

/// Asks the webhooks at each port to accept an object and to refuse another one.
pub async fn all_answer(ports: [u16; 2], authority: &str) -> Result<()> {
    let path = Route::paths().find(|path| Route::of(path) == Some(Route::Validate(Metal3Cluster::API)));
    let path = path.context("Metal3Clusters have no webhook")?;
    for port in ports {
        let mut client = Client::connect(port, authority, Protocol::Http2).await?;
        for (host, is_allowed) in [("10.0.0.1", true), ("", false)] {
            let answer = client.post(&path, review(host).to_string().into()).await?;
            ensure!(answer.code == 200, "port {port}: {} {:?}", answer.code, answer.body);
            let answer: Value = serde_json::from_slice(&answer.body)?;
            let allowed = answer.pointer("/response/allowed");
            ensure!(allowed == Some(&json!(is_allowed)), "port {port}, host {host:?}: {answer}");
        }
    }
    Ok(())
}

fn review(host: &str) -> Value {
    let object = json!({
        "apiVersion": format!("{}/{}", Metal3Cluster::API.group, Metal3Cluster::API.version), "kind": "Metal3Cluster",
        "metadata": {"name": "asked", "namespace": "default"},
        "spec": {"controlPlaneEndpoint": {"host": host, "port": 6443}},
    });
    let request = json!({"uid": "asked", "operation": "CREATE", "object": object});
    json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request})
}
