//! What a server says to a document that somebody gives to kubectl: a creation that is not stored, strict about fields.
//!
//! The embedded server has the admission rules and the conversion built in. A real one would ask webhooks; here it gets
//! the CRDs without them, and the rules are asked in process, in the order in which a server asks: the document is
//! decoded, what its author left out is filled in, the schema of its version is applied, the rules judge. An older
//! document must then fit the schema of the stored version too, once it is converted.

use anyhow::{Context, Result, ensure};
use capm3_admission::{Denial, convert, fill_in, is_ours, judge, validator_name};
use capm3_api::{v1beta1, v1beta2};
use serde_json::{Value, json};

use crate::conformance::client::{Answer, Ask, Client};

/// Where a document goes that names no namespace: those that name none refer to objects in this one.
const NAMESPACE: &str = "metal3";
const JSON: &str = "application/json";

/// The answer to one document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    Accepted,
    /// With the message.
    Refused(String),
}

impl Verdict {
    fn refused(why: impl Into<String>) -> Self {
        Self::Refused(why.into())
    }

    fn of(answer: &Answer) -> Self {
        match answer.code {
            201 => Self::Accepted,
            _ => Self::refused(text(&answer.body, "/message")),
        }
    }
}

/// A server that documents are given to.
pub struct Server {
    pub client: Client,
    /// Whether it asks the admission rules itself; otherwise we do.
    pub has_rules: bool,
}

impl Server {
    /// Has a namespace, made if it is not there.
    pub async fn ensure_namespace(&self, name: &str) -> Result<()> {
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        let made = self.send("POST", "/api/v1/namespaces", Some(&namespace)).await?;
        ensure!(matches!(made.code, 201 | 409), "namespace {name} is refused: {}", made.body);
        Ok(())
    }

    /// The answer to each document of a text.
    pub async fn verdicts(&self, text: &str) -> Result<Vec<Verdict>> {
        let documents: Vec<Value> = match serde_saphyr::from_multiple(text) {
            Ok(documents) => documents,
            Err(error) => return Ok(vec![Verdict::refused(format!("not valid YAML: {error}"))]),
        };
        ensure!(!documents.is_empty(), "a text without a document");
        let mut verdicts = Vec::new();
        for document in documents {
            verdicts.push(self.verdict(document).await?);
        }
        Ok(verdicts)
    }

    async fn verdict(&self, mut document: Value) -> Result<Verdict> {
        for member in ["kind", "apiVersion"] {
            if text(&document, &format!("/{member}")).is_empty() {
                return Ok(Verdict::refused(format!("{member} not set")));
            }
        }
        put_into_namespace(&mut document);
        let Some(plural) = self.plural(&document).await? else {
            let (kind, version) = (text(&document, "/kind"), text(&document, "/apiVersion"));
            let why = format!("no matches for kind {kind:?} in version {version:?}");
            return Ok(Verdict::refused(why));
        };
        if self.has_rules {
            return Ok(Verdict::of(&self.try_create(&document, &plural).await?));
        }
        self.verdict_with_rules(document, &plural).await
    }

    async fn verdict_with_rules(&self, document: Value, plural: &str) -> Result<Verdict> {
        let as_written = self.try_create(&document, plural).await?;
        let (group, kind) = (group_of(&document).to_owned(), text(&document, "/kind").to_owned());
        // Only what cannot be decoded is refused before the rules are asked.
        if !is_ours(&group) || as_written.code == 400 {
            return Ok(Verdict::of(&as_written));
        }
        let mut filled = document;
        if let Err(denial) = fill_in(&mut filled) {
            return Ok(Verdict::refused(denial.message));
        }
        let answer = self.try_create(&filled, plural).await?;
        if answer.code != 201 {
            return Ok(Verdict::of(&answer));
        }
        if let Some(Denial { message, .. }) =
            judge(None, &filled).denial.map(|denial| denial.told_by(&validator_name(&group, &kind)))
        {
            return Ok(Verdict::refused(message));
        }
        if text(&filled, "/apiVersion") != v1beta1::API_VERSION {
            return Ok(Verdict::Accepted);
        }
        match convert(filled, v1beta2::API_VERSION) {
            Ok(stored) => Ok(Verdict::of(&self.try_create(&stored, plural).await?)),
            Err(why) => Ok(Verdict::refused(why)),
        }
    }

    /// The name of a kind in paths; none if the server does not serve it.
    async fn plural(&self, document: &Value) -> Result<Option<String>> {
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

    async fn try_create(&self, document: &Value, plural: &str) -> Result<Answer> {
        let namespace = text(document, "/metadata/namespace");
        let path = format!("{}/namespaces/{namespace}/{plural}", root(document));
        self.send("POST", &format!("{path}?fieldValidation=Strict&dryRun=All"), Some(document)).await
    }

    async fn send(&self, method: &str, path: &str, body: Option<&Value>) -> Result<Answer> {
        let body = body.map(Value::to_string).unwrap_or_default();
        self.client.send(Ask { method, path, content_type: JSON, accept: JSON, body }).await
    }
}

fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// As `kubectl -n` does with a document that names no namespace.
fn put_into_namespace(document: &mut Value) {
    let Some(members) = document.as_object_mut() else { return };
    let metadata = members.entry("metadata").or_insert_with(|| json!({}));
    if let Some(metadata) = metadata.as_object_mut() {
        metadata.entry("namespace").or_insert_with(|| json!(NAMESPACE));
    }
}

fn group_of(document: &Value) -> &str {
    text(document, "/apiVersion").split_once('/').map_or("", |(group, _)| group)
}

/// The path of a document's group and version.
fn root(document: &Value) -> String {
    let root = if group_of(document).is_empty() { "api" } else { "apis" };
    format!("/{root}/{}", text(document, "/apiVersion"))
}
