//! How many 2 KB custom resources one client can create in a second, bytes in to bytes out at the service.
//!
//! `cargo run --release -p capm3-apiserver --example create_throughput [COUNT]`

use std::{sync::Arc, time::Instant};

use capm3_apiserver::{ApiServer, Options};
use http::Request;
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};
use tower::ServiceExt;

fn crd() -> Value {
    let text = |max: u64| json!({"type": "string", "minLength": 1, "maxLength": max});
    let disk = json!({"type": "object", "required": ["name", "size"], "properties": {
        "name": text(64), "size": {"type": "integer", "format": "int64", "minimum": 0},
        "kind": {"type": "string", "enum": ["hdd", "ssd"], "default": "ssd"}}});
    let nic = json!({"type": "object", "required": ["mac"], "properties": {
        "mac": {"type": "string", "pattern": "^([0-9a-f]{2}:){5}[0-9a-f]{2}$"}, "ip": {"type": "string", "format": "ipv4"},
        "mtu": {"type": "integer", "default": 1500, "minimum": 1280, "maximum": 9000}}});
    let spec = json!({"type": "object", "required": ["url"], "properties": {
        "url": {"type": "string", "format": "uri", "maxLength": 512}, "online": {"type": "boolean", "default": true},
        "disks": {"type": "array", "maxItems": 64, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"], "items": disk},
        "nics": {"type": "array", "maxItems": 64, "items": nic},
        "labels": {"type": "object", "additionalProperties": text(63)}}});
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "hosts.bench.io"},
        "spec": {"group": "bench.io", "scope": "Namespaced", "names": {"plural": "hosts", "kind": "Host"},
            "versions": [{"name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec, "status": {"type": "object"}}}}}]}})
}

fn host(index: usize) -> Value {
    let disks: Vec<Value> =
        (0..20).map(|disk| json!({"name": format!("disk-{disk}"), "size": 960_197_124_096_u64})).collect();
    let nics: Vec<Value> = (0..20)
        .map(|nic| json!({"mac": format!("52:54:00:{:02x}:{:02x}:{nic:02x}", (index >> 8) & 255, index & 255), "ip": format!("10.0.{nic}.7")}))
        .collect();
    json!({"apiVersion": "bench.io/v1", "kind": "Host",
        "metadata": {"name": format!("host-{index:06}"), "labels": {"rack": format!("r{}", index % 40)}, "finalizers": ["bench.io/x"]},
        "spec": {"url": "redfish://10.0.0.1:8000/redfish/v1/Systems/1", "disks": disks, "nics": nics,
            "labels": {"zone": "a", "row": "7", "model": "example-server-2u"}}})
}

async fn post(server: &ApiServer, path: &str, body: Vec<u8>) -> usize {
    let request = Request::post(path).header("user-agent", "bench").body(Full::<bytes::Bytes>::from(body));
    let Ok(request) = request else { return 0 };
    let Ok(response) = server.clone().oneshot(request).await;
    assert_eq!(response.status(), 201);
    response.into_body().collect().await.map(|body| body.to_bytes().len()).unwrap_or_default()
}

#[tokio::main(flavor = "current_thread")]
#[allow(clippy::disallowed_methods, reason = "a benchmark measures real time")]
async fn main() {
    let count = std::env::args().nth(1).and_then(|count| count.parse().ok()).unwrap_or(50_000);
    let server = ApiServer::new(Options::new(Arc::new(|| jiff::Timestamp::UNIX_EPOCH), 1));
    post(&server, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", crd().to_string().into_bytes())
        .await;
    let bodies: Vec<Vec<u8>> = (0..count).map(|index| host(index).to_string().into_bytes()).collect();
    let sent: usize = bodies.iter().map(Vec::len).sum();
    let start = Instant::now();
    let mut received = 0;
    for body in bodies {
        received += post(&server, "/apis/bench.io/v1/namespaces/default/hosts", body).await;
    }
    let seconds = start.elapsed().as_secs_f64();
    println!(
        "{count} creates of {} bytes in {seconds:.3} s: {:.0} creates/s ({} bytes back each)",
        sent / count.max(1),
        count as f64 / seconds,
        received / count.max(1)
    );
}
