//! Puts a user's documents into a lab and tells every refusal with its place in the file.

use std::collections::BTreeSet;

use capm3_apiserver::ApiServer;
use capm3_engine::{
    ObjectKey,
    manifests::{Document, Problem},
};
use http::{Method, Request};
use kube::core::response::Status;
use serde_json::{Value, json};

use super::{
    rules::BrokenRules,
    served::{self, Cause, Served, Unserved},
    words::{self, Complaint},
};
use crate::Lab;

const DISCOVERY: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

const JSON: &str = "application/json";

const STRICT: &str = "fieldValidation=Strict";

const STRICT_TRIAL: &str = "fieldValidation=Strict&dryRun=All";

/// Kinds that others need: they go first, wherever they stand in the files.
const FIRST: [&str; 2] = ["CustomResourceDefinition", "Namespace"];

impl Lab {
    /// Creates what is not there and merges what is, and refuses fields that no schema knows. Gives every problem of
    /// every document; those without a problem are in the lab then, but for kinds of which the simulation knows nothing.
    pub async fn put_documents(&self, documents: &[Document]) -> Findings {
        let mut putting = Putting::new(self.server(), STRICT);
        let (first, then): (Vec<_>, Vec<_>) = documents.iter().partition(|d| FIRST.contains(&d.kind()));
        let mut findings = Findings::default();
        for document in first.into_iter().chain(then) {
            if let Err(Unserved { cause: Cause::Foreign, message, .. }) = putting.find(document).await {
                findings.left_out.push(of_foreign(document, &message));
                continue;
            }
            let complaints = putting.put(document).await;
            let is_older = served::is_older(&putting.served, document.api_version(), document.kind());
            if !complaints.is_empty() && is_older {
                findings.older.insert(document.file.clone());
            }
            findings.problems.extend(
                complaints.into_iter().map(|c| document.problem(&c.field, c.message).of_rule(c.code)),
            );
        }
        findings
    }
}

/// Problems of documents that were put.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Findings {
    /// What the server refuses.
    pub problems: Vec<Problem>,
    /// Documents that are not in the lab because nobody there acts on their kind.
    pub left_out: Vec<Problem>,
    /// Files with a refused document of an older version than the present one.
    pub older: BTreeSet<String>,
}

/// A document of a foreign kind; whether that kind has namespaces is unknown, so its name stands as it is written.
fn of_foreign(document: &Document, message: &str) -> Problem {
    let text = |field: &str| document.value_at(field).and_then(Value::as_str).unwrap_or_default();
    let key = ObjectKey::new(text("metadata.namespace"), text("metadata.name"));
    let message = format!("{} {key}: {message}", document.kind());
    Problem { file: document.file.clone(), line: document.line(), message, code: None }
}

pub(super) struct Putting {
    client: kube::Client,
    served: Vec<Served>,
    query: &'static str,
}

impl Putting {
    fn new(server: &ApiServer, query: &'static str) -> Self {
        Self { client: kube::Client::new(server.clone(), "default"), served: Vec::new(), query }
    }

    /// One that stores nothing.
    pub(super) fn on_trial(server: &ApiServer) -> Self {
        Self::new(server, STRICT_TRIAL)
    }

    /// Makes a namespace, unless it is there.
    pub(super) async fn make_namespace(&self, name: &str) {
        let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        // If this fails the next read of a document reports it.
        let _ = self.send(Method::POST, "/api/v1/namespaces", &object, JSON).await;
    }

    pub(super) async fn put(&mut self, document: &Document) -> Vec<Complaint> {
        let served = match self.find(document).await {
            Ok(served) => served,
            Err(unserved) => return vec![Complaint::new(unserved.field, unserved.message)],
        };
        match self.write(document, &served, self.query).await {
            Ok(()) => Vec::new(),
            Err(status) if is_namespace_missing(&status) => {
                let mut all = vec![self.lost_namespace(document).await];
                if let Err(status) = self.write(document, &served, self.query).await {
                    all.extend(self.complaints(document, &served, &status).await);
                }
                all
            }
            Err(status) => self.complaints(document, &served, &status).await,
        }
    }

    /// Reports that a namespace is missing and makes it, so that it is reported once and hides nothing.
    async fn lost_namespace(&self, document: &Document) -> Complaint {
        let namespace = document.key().namespace;
        self.make_namespace(&namespace).await;
        let message =
            format!("namespace {namespace:?} does not exist; add a Namespace object with this name");
        Complaint::new("metadata.namespace", message)
    }

    async fn complaints(&self, document: &Document, served: &Served, status: &Status) -> Vec<Complaint> {
        let unknown = words::unknown_fields(&status.message);
        if unknown.is_empty() {
            return complaints(document, status);
        }
        // Strict decoding comes before everything else, so the rest is asked for without it.
        let schema = self.schema(served).await;
        let mut all: Vec<Complaint> =
            unknown.iter().map(|field| words::of_unknown_field(field, schema.as_ref())).collect();
        if let Err(status) = self.write(document, served, "dryRun=All").await {
            all.extend(complaints(document, &status));
        }
        all
    }

    /// The kind of a document; definitions that were put just now count.
    pub(super) async fn find(&mut self, document: &Document) -> Result<Served, Unserved> {
        let known =
            |served: &[Served]| served::find(served, document.api_version(), document.kind()).cloned();
        if let Ok(found) = known(&self.served) {
            return Ok(found);
        }
        self.served.clear();
        for root in ["/api", "/apis"] {
            let discovery: Value =
                self.send(Method::GET, root, &Value::Null, DISCOVERY).await.map_err(|status| Unserved {
                    field: "kind",
                    message: status.message,
                    cause: Cause::Version,
                })?;
            self.served.extend(served::kinds(&discovery));
        }
        known(&self.served)
    }

    async fn write(&self, document: &Document, served: &Served, query: &str) -> Result<(), Box<Status>> {
        let collection = collection(served, document);
        let created = self.send(Method::POST, &format!("{collection}?{query}"), &document.value, JSON).await;
        match created {
            Err(status) if status.is_already_exists() => {
                let path = format!("{collection}/{}?{query}", document.key().name);
                self.send(Method::PATCH, &path, &document.value, JSON).await.map(|_| ())
            }
            other => other.map(|_| ()),
        }
    }

    /// The schema of a kind that a definition describes.
    async fn schema(&self, served: &Served) -> Option<Value> {
        let (group, version) = served.api_version.split_once('/')?;
        let path =
            format!("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{}.{group}", served.plural);
        let definition = self.send(Method::GET, &path, &Value::Null, JSON).await.ok()?;
        let versions = definition.pointer("/spec/versions")?.as_array()?;
        let version = versions.iter().find(|v| v.get("name").and_then(Value::as_str) == Some(version))?;
        version.pointer("/schema/openAPIV3Schema").cloned()
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        body: &Value,
        accept: &str,
    ) -> Result<Value, Box<Status>> {
        let content_type = if method == Method::PATCH { "application/merge-patch+json" } else { JSON };
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("user-agent", "capm3-lab")
            .header("accept", accept)
            .header("content-type", content_type)
            .body(if body.is_null() { Vec::new() } else { body.to_string().into_bytes() });
        let failed = |message: String| Status::failure(&message, "").boxed();
        let request = request.map_err(|error| failed(error.to_string()))?;
        self.client.request(request).await.map_err(|error| match error {
            kube::Error::Api(status) => status,
            other => failed(other.to_string()),
        })
    }
}

fn collection(served: &Served, document: &Document) -> String {
    let root = if served.api_version.contains('/') { "/apis" } else { "/api" };
    let (version, plural) = (&served.api_version, &served.plural);
    if served.is_namespaced {
        format!("{root}/{version}/namespaces/{}/{plural}", document.key().namespace)
    } else {
        format!("{root}/{version}/{plural}")
    }
}

fn is_namespace_missing(status: &Status) -> bool {
    status.is_not_found() && status.details.as_ref().is_some_and(|details| details.kind == "namespaces")
}

/// What the server says of a document, field by field where it names fields.
fn complaints(document: &Document, status: &Status) -> Vec<Complaint> {
    let causes = status.details.as_ref().map(|details| details.causes.as_slice()).unwrap_or_default();
    let mut rules = is_of_admission(status).then(|| BrokenRules::of(&document.value));
    if causes.is_empty() {
        let of_values = words::of_values(document.kind(), &document.value);
        if !of_values.is_empty() {
            return of_values;
        }
        let is_of_admission = is_of_admission(status);
        let code = rules.as_mut().and_then(|rules| rules.code_of(""));
        return vec![Complaint { is_of_admission, code, ..Complaint::new("", status.message.clone()) }];
    }
    let mut all: Vec<Complaint> = Vec::new();
    for cause in causes {
        let mut complaint = words::of_cause(&cause.field, &cause.message, document.value_at(&cause.field));
        complaint.is_of_admission = is_of_admission(status);
        complaint.code = rules.as_mut().and_then(|rules| rules.code_of(&cause.field));
        if !all.contains(&complaint) {
            all.push(complaint);
        }
    }
    all
}

fn is_of_admission(status: &Status) -> bool {
    status.message.starts_with("admission webhook ")
}
