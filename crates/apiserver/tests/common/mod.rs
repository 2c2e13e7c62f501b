//! Helpers of the black-box tests: a server with a fixed clock, plain calls, and a small CRD.
#![allow(dead_code, reason = "each test file uses its own part")]

use std::sync::Arc;

use capm3_apiserver::{ApiServer, Options, ResponseBody};
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};
use tower::ServiceExt;

pub const NOW: &str = "2026-01-02T03:04:05Z";
pub const WIDGETS: &str = "/apis/test.io/v1/namespaces/default/widgets";

pub fn options() -> Options {
    Options::new(Arc::new(|| NOW.parse().unwrap()), 42)
}

pub fn server() -> ApiServer {
    ApiServer::new(options())
}

/// A server that serves `Widget`.
pub async fn widget_server() -> ApiServer {
    with_widgets(server()).await
}

pub async fn with_widgets(server: ApiServer) -> ApiServer {
    let (code, body) =
        call(&server, "POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", Some(widget_crd()))
            .await;
    assert_eq!(code, 201, "{body}");
    server
}

pub fn widget_crd() -> Value {
    let spec = json!({"type": "object", "required": ["size"], "properties": {
        "size": {"type": "integer", "minimum": 1, "maximum": 9},
        "color": {"type": "string", "enum": ["red", "blue"], "default": "red"},
        "note": {"type": "string"},
        "tags": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}}}});
    let schema = json!({"openAPIV3Schema": {"type": "object", "properties": {
        "spec": spec, "status": {"type": "object", "properties": {"ready": {"type": "boolean"}}}}}});
    let version = |name: &str, storage: bool| {
        json!({"name": name, "served": true, "storage": storage, "schema": schema, "subresources": {"status": {}},
            "selectableFields": [{"jsonPath": ".spec.color"}]})
    };
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "widgets.test.io"},
        "spec": {"group": "test.io", "scope": "Namespaced", "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [version("v1", true), version("v1beta1", false)]}})
}

pub fn widget(name: &str, size: i64) -> Value {
    json!({"apiVersion": "test.io/v1", "kind": "Widget", "metadata": {"name": name}, "spec": {"size": size}})
}

pub fn configmap(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"k": "v"}})
}

/// The object with more metadata.
pub fn with_meta(mut object: Value, metadata: Value) -> Value {
    json_patch::merge(&mut object, &json!({"metadata": metadata}));
    object
}

/// An owner reference to a stored object.
pub fn owned_by(owner: &Value) -> Value {
    json!({"apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"], "blockOwnerDeletion": true})
}

pub async fn send(server: &ApiServer, request: Request<Full<bytes::Bytes>>) -> Response<ResponseBody> {
    server.clone().oneshot(request).await.unwrap()
}

pub async fn raw(
    server: &ApiServer,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: Vec<u8>,
) -> (u16, Value) {
    let mut request = Request::builder().method(method).uri(path).header("user-agent", "test");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let response = send(server, request.body(Full::from(body)).unwrap()).await;
    let code = response.status().as_u16();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    let value = serde_json::from_slice(&body).unwrap_or_else(|_| json!(String::from_utf8_lossy(&body)));
    (code, value)
}

/// One request with a JSON body.
pub async fn call(server: &ApiServer, method: &str, path: &str, body: Option<Value>) -> (u16, Value) {
    let body = body.map(|body| body.to_string().into_bytes()).unwrap_or_default();
    raw(server, method, path, &[("content-type", "application/json")], body).await
}

/// A request that must succeed.
pub async fn ok(server: &ApiServer, method: &str, path: &str, body: Option<Value>) -> Value {
    let (code, answer) = call(server, method, path, body).await;
    assert!((200..300).contains(&code), "{method} {path}: {code} {answer}");
    answer
}

pub async fn merge_patch(server: &ApiServer, path: &str, patch: Value) -> (u16, Value) {
    raw(
        server,
        "PATCH",
        path,
        &[("content-type", "application/merge-patch+json")],
        patch.to_string().into_bytes(),
    )
    .await
}

pub async fn get(server: &ApiServer, path: &str) -> (u16, Value) {
    call(server, "GET", path, None).await
}

pub async fn exists(server: &ApiServer, path: &str) -> bool {
    get(server, path).await.0 == 200
}

pub async fn names(server: &ApiServer, path: &str) -> Vec<String> {
    let list = ok(server, "GET", path, None).await;
    list["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["metadata"]["name"].as_str().unwrap().to_owned())
        .collect()
}

/// An open watch, read event by event.
pub struct Stream {
    body: ResponseBody,
    lines: std::collections::VecDeque<Value>,
}

impl Stream {
    pub async fn open(server: &ApiServer, path: &str) -> Self {
        Self::of(send(server, Request::get(path).body(Full::default()).unwrap()).await)
    }

    pub fn of(response: Response<ResponseBody>) -> Self {
        assert_eq!(response.status(), 200);
        Self { body: response.into_body(), lines: Default::default() }
    }

    /// The next event; `None` when the server ended the watch.
    pub async fn next(&mut self) -> Option<Value> {
        while self.lines.is_empty() {
            let frame = self.body.frame().await?.unwrap().into_data().unwrap();
            let text = String::from_utf8(frame.to_vec()).unwrap();
            self.lines.extend(text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()));
        }
        self.lines.pop_front()
    }

    /// Type and name of the next event.
    pub async fn brief(&mut self) -> (String, String) {
        let event = self.next().await.unwrap();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        (text(&event["type"]), text(&event["object"]["metadata"]["name"]))
    }

    /// Whether nothing is there to read.
    pub async fn is_quiet(&mut self) -> bool {
        use futures::FutureExt;
        self.lines.is_empty() && self.body.frame().now_or_never().is_none()
    }
}
