//! Requests as kubectl sends them: strict about fields, and with the warnings of the answer.
#![allow(dead_code, reason = "each test file uses a part")]

use capm3_lab::{Lab, Options};
use http::Request;
use http_body_util::BodyExt;
use serde_json::{Value, json};

pub const NEW: &str = "infrastructure.cluster.x-k8s.io/v1beta2";
pub const OLD: &str = "infrastructure.cluster.x-k8s.io/v1beta1";

/// A server with nothing in it.
pub async fn lab() -> Lab {
    Lab::start(&Options::default()).await.unwrap()
}

/// An object of that kind called `x`.
pub fn object(api_version: &str, kind: &str, spec: Value) -> Value {
    json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": "x", "namespace": "default"}, "spec": spec})
}

/// What the server says.
pub struct Answer {
    pub code: u16,
    pub body: Value,
    pub warnings: Vec<String>,
}

impl Answer {
    /// The message of a refusal.
    pub fn message(&self) -> &str {
        self.body["message"].as_str().unwrap_or_default()
    }

    pub fn warns_of(&self, text: &str) -> bool {
        self.warnings.iter().any(|warning| warning.contains(text))
    }
}

/// The collection of an object's kind, by the plural that every kind here has.
pub fn path_of(object: &Value) -> String {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let (api_version, plural) = (text("/apiVersion"), format!("{}s", text("/kind").to_lowercase()));
    let plural = plural.replace("ipaddresss", "ipaddresses");
    let root = if api_version.contains('/') { "apis" } else { "api" };
    format!("/{root}/{api_version}/namespaces/{}/{plural}", text("/metadata/namespace"))
}

pub async fn send(lab: &Lab, method: &str, path: &str, body: Option<&Value>) -> Answer {
    let content = if method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
    let request = Request::builder().method(method).uri(path).header("content-type", content);
    let bytes = body.map(|body| body.to_string().into_bytes()).unwrap_or_default();
    let client = kube::Client::new(lab.server().clone(), "default");
    let response = client.send(request.body(bytes.into()).unwrap()).await.unwrap();
    let code = response.status().as_u16();
    let headers = response.headers().get_all("warning").iter();
    let warnings = headers.map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned()).collect();
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    Answer { code, body: serde_json::from_slice(&bytes).unwrap_or_default(), warnings }
}

/// Creates an object as `kubectl create` would.
pub async fn create(lab: &Lab, object: &Value) -> Answer {
    send(lab, "POST", &format!("{}?fieldValidation=Strict", path_of(object)), Some(object)).await
}

/// The same without storing it.
pub async fn try_create(lab: &Lab, object: &Value) -> Answer {
    send(lab, "POST", &format!("{}?fieldValidation=Strict&dryRun=All", path_of(object)), Some(object)).await
}

/// Patches an object of the given version and kind.
pub async fn patch(lab: &Lab, object: &Value, patch: &Value) -> Answer {
    let name = object["metadata"]["name"].as_str().unwrap();
    send(lab, "PATCH", &format!("{}/{name}", path_of(object)), Some(patch)).await
}

/// Reads an object in another version.
pub async fn read_as(lab: &Lab, object: &Value, api_version: &str) -> Value {
    let mut asked = object.clone();
    asked["apiVersion"] = api_version.into();
    let name = object["metadata"]["name"].as_str().unwrap();
    send(lab, "GET", &format!("{}/{name}", path_of(&asked)), None).await.body
}
