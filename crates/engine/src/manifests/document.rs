//! One object as a user wrote it.

use std::fmt;

use serde_json::Value;

use super::{
    node::Node,
    path,
    place::{FieldPlace, Inside},
    problem::Problem,
};
use crate::{ObjectKey, ResourceKind};

/// Kinds whose objects live in no namespace, among those that people write into manifests.
const CLUSTER_WIDE: [&str; 7] = [
    "ClusterRole",
    "ClusterRoleBinding",
    "CustomResourceDefinition",
    "MutatingWebhookConfiguration",
    "Namespace",
    "Node",
    "ValidatingWebhookConfiguration",
];

/// An object with `apiVersion`, `kind` and `metadata.name`, and where it came from.
#[derive(Debug, Clone, PartialEq)]
pub struct Document {
    /// The file, as the user named it.
    pub file: String,
    /// Number of the document in its file, from 1; empty documents do not count.
    pub index: usize,
    /// The object.
    pub value: Value,
    place: FieldPlace,
    item: Option<usize>,
}

impl Document {
    /// An object that no file holds; its lines are unknown, which is 0.
    pub fn made(file: impl Into<String>, value: Value) -> Self {
        Self { file: file.into(), index: 1, value, place: FieldPlace::default(), item: None }
    }

    /// The line at which it begins, from 1.
    pub fn line(&self) -> usize {
        self.place.line
    }

    /// Its number in the list that the document is, from 0; none if the document is no list.
    pub fn item(&self) -> Option<usize> {
        self.item
    }

    /// The line of a field, written as API servers write it (`spec.pools[0].start`, `metadata.labels[a.b/c]`); of its
    /// nearest parent in the file if the field itself is not there.
    pub fn line_of(&self, field: &str) -> usize {
        self.place.of_path(field).line
    }

    /// The value of a field, written as for [`Document::line_of`].
    pub fn value_at(&self, field: &str) -> Option<&Value> {
        path::value_at(&self.value, field)
    }

    /// A problem of this document, at a field.
    pub fn problem(&self, field: &str, message: impl fmt::Display) -> Problem {
        let message = if field.is_empty() {
            format!("{self}: {message}")
        } else {
            format!("{self}: {field}: {message}")
        };
        Problem { file: self.file.clone(), line: self.line_of(field), message, code: None }
    }

    fn text(&self, pointer: &str) -> &str {
        self.value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
    }

    /// API version of the object.
    pub fn api_version(&self) -> &str {
        self.text("/apiVersion")
    }

    /// Kind of the object.
    pub fn kind(&self) -> &str {
        self.text("/kind")
    }

    /// Namespace and name; objects that name no namespace live in `default`, except those that live in none.
    pub fn key(&self) -> ObjectKey {
        let namespace = match self.text("/metadata/namespace") {
            _ if CLUSTER_WIDE.contains(&self.kind()) => "",
            "" => "default",
            namespace => namespace,
        };
        ObjectKey::new(namespace, self.text("/metadata/name"))
    }

    /// Where objects of this kind are served. The plural follows Kubernetes' own guess, which holds for every kind
    /// that people write but `Metal3Data`.
    pub fn resource(&self) -> ResourceKind {
        let (group, version) = self.api_version().split_once('/').unwrap_or(("", self.api_version()));
        let lower = self.kind().to_lowercase();
        let plural = if let Some(stem) = lower.strip_suffix('y') {
            format!("{stem}ies")
        } else if lower.ends_with('s') {
            format!("{lower}es")
        } else {
            format!("{lower}s")
        };
        ResourceKind {
            group: group.to_owned(),
            version: version.to_owned(),
            kind: self.kind().to_owned(),
            plural,
        }
    }
}

impl fmt::Display for Document {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind(), self.key())
    }
}

/// The objects of a document: itself or, if it is a list as `kubectl get -o yaml` prints it, its items.
pub(super) fn of(file: &str, index: usize, node: Node) -> Result<Vec<Document>, Vec<Problem>> {
    let mut documents = Vec::new();
    let mut problems = Vec::new();
    for document in parts(file, index, node) {
        let wrong = identity_problems(&document);
        if wrong.is_empty() { documents.push(document) } else { problems.extend(wrong) }
    }
    if problems.is_empty() { Ok(documents) } else { Err(problems) }
}

/// The same, whether or not they say which object they are.
pub(super) fn parts(file: &str, index: usize, node: Node) -> Vec<Document> {
    let (nodes, is_list) = unpacked(node);
    let made = |(number, Node { value, place }): (usize, Node)| Document {
        file: file.to_owned(),
        index,
        value,
        place,
        item: is_list.then_some(number),
    };
    nodes.into_iter().enumerate().map(made).collect()
}

/// The items if it is a list, else itself; and whether it is one.
fn unpacked(node: Node) -> (Vec<Node>, bool) {
    let is_list = node.value.get("kind").and_then(Value::as_str).is_some_and(|kind| kind.ends_with("List"));
    let Node { mut value, place } = node;
    let items = value.get_mut("items").and_then(Value::as_array_mut).filter(|_| is_list).map(std::mem::take);
    match (items, place.inside.clone()) {
        (Some(items), Inside::Members(members)) => {
            let places = members.into_iter().find(|(key, _)| key == "items").map(|(_, place)| place.inside);
            let Some(Inside::Items(places)) = places else { return (Vec::new(), true) };
            (items.into_iter().zip(places).map(|(value, place)| Node { value, place }).collect(), true)
        }
        _ => (vec![Node { value, place }], false),
    }
}

/// What is wrong with the members that say which object this is.
fn identity_problems(document: &Document) -> Vec<Problem> {
    let problem = |field: &str, message: String| Problem {
        file: document.file.clone(),
        line: document.line_of(field),
        message,
        code: None,
    };
    if !document.value.is_object() {
        let message = format!(
            "expected an object with apiVersion, kind and metadata.name, got {}",
            shape(&document.value)
        );
        return vec![problem("", message)];
    }
    IDENTITY.iter().filter_map(|part| part.problem(document)).collect()
}

/// A member that says which object this is.
struct Part {
    pointer: &'static str,
    field: &'static str,
    required: bool,
}

const IDENTITY: [Part; 4] = [
    Part { pointer: "/apiVersion", field: "apiVersion", required: true },
    Part { pointer: "/kind", field: "kind", required: true },
    Part { pointer: "/metadata/name", field: "metadata.name", required: true },
    // Something else than text must not pass for no namespace: the object would land in `default`.
    Part { pointer: "/metadata/namespace", field: "metadata.namespace", required: false },
];

impl Part {
    fn problem(&self, document: &Document) -> Option<Problem> {
        let field = self.field;
        let message = match document.value.pointer(self.pointer) {
            Some(Value::String(text)) if !text.is_empty() => return None,
            None | Some(Value::Null | Value::String(_)) if !self.required => return None,
            None | Some(Value::Null | Value::String(_)) => {
                format!("{field} is missing; every object needs apiVersion, kind and metadata.name")
            }
            // YAML reads words such as `no` or `on` as true or false.
            Some(other) => format!("{field}: expected text, got {}; quote it", shape(other)),
        };
        Some(Problem {
            file: document.file.clone(),
            line: document.line_of(field),
            message: format!("{}{message}", named(document)),
            code: None,
        })
    }
}

/// What is known of an object that lacks a part of its identity.
fn named(document: &Document) -> String {
    let parts = [document.kind(), document.text("/metadata/name")];
    let known: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    if known.is_empty() { String::new() } else { format!("{}: ", known.join(" ")) }
}

/// A value in a few words.
fn shape(value: &Value) -> String {
    match value {
        Value::Null => "nothing".to_owned(),
        Value::Bool(truth) => format!("the boolean {truth}"),
        Value::Number(number) => format!("the number {number}"),
        Value::String(text) => format!("the text {text:?}"),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "an object".to_owned(),
    }
}
