//! What a user wrote: files and folders of YAML documents, read in order of their names.

use std::{
    fmt,
    path::{Path, PathBuf},
};

use capm3_engine::{ObjectKey, ResourceKind};
use serde_json::Value;
use thiserror::Error;

/// A document and where it came from.
#[derive(Debug, Clone, PartialEq)]
pub struct Manifest {
    /// File name, for messages.
    pub file: String,
    /// The object.
    pub object: Value,
}

/// Why manifests cannot be used.
#[derive(Debug, Error)]
pub enum ManifestError {
    /// No such file or folder.
    #[error("{path}: no such file or folder")]
    Missing {
        /// The path.
        path: PathBuf,
    },
    /// A file cannot be read.
    #[error("{path}: cannot be read")]
    Unreadable {
        /// The path.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A file is not YAML.
    #[error("{file}: not valid YAML: {problem}")]
    NotYaml {
        /// The file.
        file: String,
        /// Where and why.
        problem: String,
    },
    /// A document is not an object with apiVersion, kind and name.
    #[error(
        "{file}: document {document} has {problem}; every object needs apiVersion, kind and metadata.name"
    )]
    NotAnObject {
        /// The file.
        file: String,
        /// Number of the document, from 1.
        document: usize,
        /// What is missing or wrong.
        problem: String,
    },
}

impl ManifestError {
    /// Whether the user named a path that does not exist.
    pub fn is_usage(&self) -> bool {
        matches!(self, Self::Missing { .. })
    }
}

/// Reads a file, or the YAML files of a folder in order of their names.
pub fn read(path: &Path) -> Result<Vec<Manifest>, ManifestError> {
    if !path.exists() {
        return Err(ManifestError::Missing { path: path.to_owned() });
    }
    let mut files = vec![path.to_owned()];
    if path.is_dir() {
        let unreadable = |source| ManifestError::Unreadable { path: path.to_owned(), source };
        files = std::fs::read_dir(path)
            .map_err(unreadable)?
            .filter_map(|entry| entry.ok().map(|entry| entry.path()))
            .filter(|file| file.extension().is_some_and(|e| e == "yaml" || e == "yml"))
            .collect();
        files.sort();
    }
    let mut manifests = Vec::new();
    for file in files {
        let text = std::fs::read_to_string(&file)
            .map_err(|source| ManifestError::Unreadable { path: file.clone(), source })?;
        manifests.extend(parse(&file.display().to_string(), &text)?);
    }
    Ok(manifests)
}

/// Reads the documents of one text.
pub fn parse(file: &str, text: &str) -> Result<Vec<Manifest>, ManifestError> {
    let options = serde_saphyr::options! { legacy_octal_numbers: true };
    let documents: Vec<Value> = serde_saphyr::from_multiple_with_options(text, options)
        .map_err(|error| ManifestError::NotYaml { file: file.to_owned(), problem: error.to_string() })?;
    let mut manifests = Vec::new();
    for (position, object) in documents.into_iter().enumerate().filter(|(_, object)| !object.is_null()) {
        if let Some(problem) = identity_problem(&object) {
            return Err(ManifestError::NotAnObject {
                file: file.to_owned(),
                document: position + 1,
                problem,
            });
        }
        manifests.push(Manifest { file: file.to_owned(), object });
    }
    Ok(manifests)
}

/// What is wrong with the members that say which object this is.
fn identity_problem(object: &Value) -> Option<String> {
    let required = [("/apiVersion", "apiVersion"), ("/kind", "kind"), ("/metadata/name", "metadata.name")];
    required.into_iter().find_map(|(pointer, field)| match object.pointer(pointer) {
        Some(Value::String(text)) if !text.is_empty() => None,
        None | Some(Value::Null | Value::String(_)) => Some(format!("no {field}")),
        // YAML reads words such as `no` or `on` as true or false.
        Some(other) => Some(format!("{field} {other}, which is not text: quote it")),
    })
}

impl Manifest {
    fn text(&self, pointer: &str) -> &str {
        self.object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
    }

    /// Kind of the object.
    pub fn kind(&self) -> &str {
        self.text("/kind")
    }

    /// Namespace and name; objects that name no namespace live in `default`, except namespaces themselves.
    pub fn key(&self) -> ObjectKey {
        let namespace = match (self.kind(), self.text("/metadata/namespace")) {
            ("Namespace" | "Node" | "CustomResourceDefinition", _) => "",
            (_, "") => "default",
            (_, namespace) => namespace,
        };
        ObjectKey::new(namespace, self.text("/metadata/name"))
    }

    /// Where objects of this kind are served. The plural follows Kubernetes' own guess, which holds for every kind
    /// that the server knows but `Metal3Data`.
    pub fn resource(&self) -> ResourceKind {
        let (group, version) =
            self.text("/apiVersion").split_once('/').unwrap_or(("", self.text("/apiVersion")));
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

impl fmt::Display for Manifest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind(), self.key())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_are_read_in_order_and_empty_ones_left_out() {
        let text = "# comment\n---\napiVersion: v1\nkind: Namespace\nmetadata: {name: ns1}\n---\napiVersion: ipam.metal3.io/v1alpha1\nkind: IPAddress\nmetadata: {name: a, namespace: ns1}\n";
        let manifests = parse("f.yaml", text).unwrap();
        assert_eq!(
            manifests.iter().map(ToString::to_string).collect::<Vec<_>>(),
            ["Namespace ns1", "IPAddress ns1/a"]
        );
        assert_eq!(manifests[1].resource().plural, "ipaddresses");
    }

    #[test]
    fn a_document_without_kind_is_named_by_file_and_number() {
        let error = parse("f.yaml", "apiVersion: v1\nmetadata: {name: x}\n").unwrap_err();
        assert_eq!(
            error.to_string(),
            "f.yaml: document 1 has no kind; every object needs apiVersion, kind and metadata.name"
        );
    }

    #[test]
    fn a_name_that_yaml_takes_for_a_truth_value_is_said() {
        let error = parse("f.yaml", "apiVersion: v1\nkind: Namespace\nmetadata: {name: no}\n").unwrap_err();
        assert!(error.to_string().contains("metadata.name false, which is not text: quote it"), "{error}");
    }

    #[test]
    fn broken_yaml_says_where() {
        let error = parse("f.yaml", "a: [1\nb: 2\n").unwrap_err();
        assert!(error.to_string().starts_with("f.yaml: not valid YAML:"), "{error}");
    }
}
