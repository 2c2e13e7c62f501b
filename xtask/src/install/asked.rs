//! Waiting until a real server asks the webhooks that are registered with it: it reads their configurations a moment after
//! they are stored, and until then it stores everything unasked.

use std::time::Duration;

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use crate::{
    conformance::client::{Answer, Ask, Client},
    real::wait::Stopwatch,
};

/// How long it may take; a manager that has just been started is waited for too.
const LIMIT: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(100);
const NAMESPACE: &str = "default";

/// Waits until objects are filled in, judged and converted.
pub async fn until_asked(client: &Client) -> Result<()> {
    let watch = Stopwatch::start();
    loop {
        let (filled, judged) = (fill_in(client).await?, judge(client).await?);
        if is_filled_in(&filled) && is_judged(&judged) {
            return Ok(());
        }
        ensure!(
            watch.elapsed() < LIMIT,
            "webhooks are not asked after {} s: {} {}; {} {}",
            LIMIT.as_secs(),
            filled.code,
            filled.body,
            judged.code,
            judged.body
        );
        tokio::time::sleep(POLL).await;
    }
}

/// A Metal3Cluster whose port is left out.
async fn fill_in(client: &Client) -> Result<Answer> {
    let spec = json!({"controlPlaneEndpoint": {"host": "10.0.0.1"}});
    create(client, "v1beta2", "metal3clusters", "Metal3Cluster", &spec).await
}

fn is_filled_in(answer: &Answer) -> bool {
    answer.code == 201 && answer.body.pointer("/spec/controlPlaneEndpoint/port") == Some(&json!(6443))
}

/// A machine of the older version whose image has no checksum: it is converted for the webhook that refuses it.
async fn judge(client: &Client) -> Result<Answer> {
    let spec = json!({"image": {"url": "http://h/i", "checksum": ""}});
    create(client, "v1beta1", "metal3machines", "Metal3Machine", &spec).await
}

fn is_judged(answer: &Answer) -> bool {
    let message = answer.body.get("message").and_then(Value::as_str).unwrap_or_default();
    answer.code == 422 && message.starts_with("admission webhook \"validation.metal3machine.")
}

/// The answer to an object that is not stored.
async fn create(client: &Client, version: &str, plural: &str, kind: &str, spec: &Value) -> Result<Answer> {
    let group = capm3_api::v1beta2::GROUP;
    let object = json!({
        "apiVersion": format!("{group}/{version}"), "kind": kind,
        "metadata": {"name": "asked", "namespace": NAMESPACE}, "spec": spec,
    });
    let path = format!("/apis/{group}/{version}/namespaces/{NAMESPACE}/{plural}?dryRun=All");
    let json = "application/json";
    let body = object.to_string();
    client.send(Ask { method: "POST", path: &path, content_type: json, accept: json, body }).await
}
