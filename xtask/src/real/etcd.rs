//! What a cluster has stored, as it is in etcd: the one place where the version of a stored object can be seen.

use anyhow::{Context, Result, ensure};
use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::{Value, json};

use crate::conformance::client::{Ask, Client};

/// Every object of a group of custom resources, read from etcd on this port of this machine.
pub async fn objects_of(port: u16, group: &str) -> Result<Vec<Value>> {
    let uri = format!("http://127.0.0.1:{port}").parse().context("the address of etcd")?;
    let client = Client::from(kube::Client::try_from(kube::Config::new(uri))?);
    // Everything below the prefix: up to the prefix with its last byte counted up.
    let (key, end) = (format!("/registry/{group}/"), format!("/registry/{group}0"));
    let body = json!({"key": BASE64_STANDARD.encode(key), "range_end": BASE64_STANDARD.encode(end)});
    let json = "application/json";
    let ask = Ask {
        method: "POST",
        path: "/v3/kv/range",
        content_type: json,
        accept: json,
        body: body.to_string(),
    };
    let answer = client.send(ask).await.context("asking etcd")?;
    ensure!(answer.code == 200, "etcd: {} {}", answer.code, answer.body);
    let pairs = answer.body.get("kvs").and_then(Value::as_array).cloned().unwrap_or_default();
    pairs.iter().map(object).collect()
}

fn object(pair: &Value) -> Result<Value> {
    let value = pair.get("value").and_then(Value::as_str).context("a key without a value")?;
    let bytes = BASE64_STANDARD.decode(value).context("a value that is not base64")?;
    serde_json::from_slice(&bytes).context("a stored object that is not JSON")
}
