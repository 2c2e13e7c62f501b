//! A server that documents are given to: what it serves, and under which paths.

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use crate::conformance::client::{Answer, Ask, Client};

/// Where a document goes that names no namespace: those that name none refer to objects in this one.
const NAMESPACE: &str = "metal3";
pub const JSON: &str = "application/json";
const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// A server that documents are given to.
pub struct Server {
    pub client: Client,
    /// Whether it is asked as kubectl asks: to refuse members that the schema does not know, rather than drop them.
    pub is_strict: bool,
}

impl Server {
    /// A server that is asked as kubectl asks.
    pub fn new(client: Client) -> Self {
        Self { client, is_strict: true }
    }

    /// The same server for a client that is not strict.
    pub fn lenient(&self) -> Self {
        Self { client: self.client.clone(), is_strict: false }
    }

    /// Has a namespace, made if it is not there.
    pub async fn ensure_namespace(&self, name: &str) -> Result<()> {
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        let made = self.send("POST", "/api/v1/namespaces", Some(&namespace)).await?;
        ensure!(matches!(made.code, 201 | 409), "namespace {name} is refused: {}", made.body);
        Ok(())
    }

    /// The name of a kind in paths; none if the server does not serve it.
    pub async fn plural(&self, document: &Value) -> Result<Option<String>> {
        let answer = self.send("GET", &root(document), None).await?;
        ensure!(matches!(answer.code, 200 | 404), "{}: {}", root(document), answer.body);
        let resources = answer.body.get("resources").and_then(Value::as_array).cloned().unwrap_or_default();
        let is_it = |resource: &&Value| {
            let name = text(resource, "/name");
            text(resource, "/kind") == text(document, "/kind") && !name.contains('/')
        };
        Ok(resources.iter().find(is_it).map(|resource| text(resource, "/name").to_owned()))
    }

    /// Waits until the kinds of CRDs can be found by clients, in each version.
    pub async fn until_found(&self, crds: &[Value]) -> Result<()> {
        for crd in crds {
            let versions = crd.pointer("/spec/versions").and_then(Value::as_array);
            for version in versions.context("a CRD without versions")? {
                let (group, version) = (text(crd, "/spec/group"), text(version, "/name"));
                let kind = text(crd, "/spec/names/kind");
                let example = json!({"apiVersion": format!("{group}/{version}"), "kind": kind});
                let mut looks = 0;
                while self.plural(&example).await?.is_none() {
                    looks += 1;
                    ensure!(looks < 150, "{kind} is not served in {group}/{version}");
                    tokio::time::sleep(std::time::Duration::from_millis(200)).await;
                }
            }
        }
        Ok(())
    }

    /// The versions in which the server has ever stored objects of a kind, in its own words.
    pub async fn stored_versions(&self, document: &Value) -> Result<Value> {
        let plural = self.plural(document).await?.context("a kind that is not served")?;
        let crd = self.send("GET", &format!("{CRDS}/{plural}.{}", group_of(document)), None).await?;
        let versions = crd.body.pointer("/status/storedVersions").cloned();
        versions.with_context(|| format!("no stored versions: {}", crd.body))
    }

    pub async fn send(&self, method: &str, path: &str, body: Option<&Value>) -> Result<Answer> {
        let body = body.map(Value::to_string).unwrap_or_default();
        self.client.send(Ask { method, path, content_type: JSON, accept: JSON, body }).await
    }
}

/// The text of a member; empty if there is none.
pub fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// As `kubectl -n` does with a document that names no namespace.
pub fn put_into_namespace(document: &mut Value) {
    let Some(members) = document.as_object_mut() else { return };
    let metadata = members.entry("metadata").or_insert_with(|| json!({}));
    if let Some(metadata) = metadata.as_object_mut() {
        metadata.entry("namespace").or_insert_with(|| json!(NAMESPACE));
    }
}

pub fn group_of(document: &Value) -> &str {
    text(document, "/apiVersion").split_once('/').map_or("", |(group, _)| group)
}

/// The path of the objects of a document's kind, in its version and namespace.
pub fn collection(document: &Value, plural: &str) -> String {
    format!("{}/namespaces/{}/{plural}", root(document), text(document, "/metadata/namespace"))
}

/// The path of a document's group and version.
fn root(document: &Value) -> String {
    let root = if group_of(document).is_empty() { "api" } else { "apis" };
    format!("/{root}/{}", text(document, "/apiVersion"))
}
