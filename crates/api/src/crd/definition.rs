//! One CRD from its parts.

use serde_json::{Map, Value, json};

use super::{CONVERSION_PATH, CONVERSION_SERVICE, SERVING_CERTIFICATE, column::Column};
use crate::{ApiKind, v1beta1, v1beta2};

/// What a CRD says of a kind.
pub(super) struct Definition {
    pub(super) api: ApiKind,
    pub(super) about: &'static str,
    pub(super) short_names: &'static [&'static str],
    pub(super) category: &'static str,
    /// Stored version first.
    pub(super) versions: Vec<Version>,
    /// Further labels.
    pub(super) labels: &'static [(&'static str, &'static str)],
    /// Further annotations.
    pub(super) annotations: &'static [(&'static str, &'static str)],
}

/// What a CRD says of a version.
pub(super) struct Version {
    pub(super) name: &'static str,
    pub(super) spec: Value,
    /// Whether an object must have a spec.
    pub(super) spec_required: bool,
    pub(super) status: Option<Value>,
    pub(super) columns: Vec<Column>,
}

const API_VERSION: &str = "Version of the API in which this object is written, such as \
`infrastructure.cluster.x-k8s.io/v1beta2`.";
impl Definition {
    /// The CRD.
    pub(super) fn crd(self) -> Value {
        let api = self.api;
        let converted = self.versions.len() > 1;
        let singular = api.kind.to_lowercase();
        let mut crd = json!({
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {
                "name": format!("{}.{}", api.plural, api.group),
                "labels": self.all_labels(),
                "annotations": self.all_annotations(converted),
            },
            "spec": {
                "group": api.group,
                "names": {"kind": api.kind, "listKind": format!("{}List", api.kind), "plural": api.plural,
                    "singular": singular, "shortNames": self.short_names, "categories": [self.category]},
                "scope": if api.namespaced { "Namespaced" } else { "Cluster" },
                "conversion": conversion(converted),
                "versions": self.versions.iter().map(|it| it.value(&self)).collect::<Vec<_>>(),
            },
        });
        if let Some(metadata) = crd.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.retain(|_, value| value.as_object().is_none_or(|members| !members.is_empty()));
        }
        crd
    }

    fn all_labels(&self) -> Map<String, Value> {
        let contracts: &[(&str, &str)] = if self.api.group == v1beta2::GROUP {
            &[
                ("cluster.x-k8s.io/provider", "infrastructure-metal3"),
                ("cluster.x-k8s.io/v1beta1", v1beta1::VERSION),
                ("cluster.x-k8s.io/v1beta2", v1beta2::VERSION),
            ]
        } else {
            &[("cluster.x-k8s.io/provider", "ipam-metal3")]
        };
        members(contracts.iter().chain(self.labels))
    }

    fn all_annotations(&self, converted: bool) -> Map<String, Value> {
        let authority = ("cert-manager.io/inject-ca-from", SERVING_CERTIFICATE);
        members(Some(&authority).filter(|_| converted).into_iter().chain(self.annotations))
    }
}

fn members<'a>(pairs: impl Iterator<Item = &'a (&'static str, &'static str)>) -> Map<String, Value> {
    pairs.map(|(name, value)| ((*name).to_owned(), Value::from(*value))).collect()
}

fn conversion(converted: bool) -> Value {
    if !converted {
        return json!({"strategy": "None"});
    }
    let (namespace, name) = CONVERSION_SERVICE;
    json!({
        "strategy": "Webhook",
        "webhook": {
            "clientConfig": {"service": {"namespace": namespace, "name": name, "path": CONVERSION_PATH}},
            "conversionReviewVersions": ["v1", "v1beta1"],
        },
    })
}

impl Version {
    fn value(&self, definition: &Definition) -> Value {
        let stored = definition.versions.first().is_some_and(|first| first.name == self.name);
        let mut version = Map::new();
        let mut say = |name: &str, value: Value| version.insert(name.to_owned(), value);
        say("name", self.name.into());
        say("served", true.into());
        say("storage", stored.into());
        if !stored {
            say("deprecated", true.into());
            say("deprecationWarning", self.warning(definition.api).into());
        }
        if !self.columns.is_empty() {
            say("additionalPrinterColumns", self.columns.iter().map(Column::value).collect());
        }
        if self.status.is_some() {
            say("subresources", json!({"status": {}}));
        }
        say("schema", json!({"openAPIV3Schema": self.schema(definition.about)}));
        Value::Object(version)
    }

    /// What the API server tells whoever uses this version.
    fn warning(&self, api: ApiKind) -> String {
        let ApiKind { group, version, kind, .. } = api;
        format!("{group}/{} {kind} is deprecated; use {group}/{version} {kind}", self.name)
    }

    fn schema(&self, about: &str) -> Value {
        let mut properties = Map::new();
        let mut say = |name: &str, value: Value| properties.insert(name.to_owned(), value);
        say("apiVersion", json!({"type": "string", "description": API_VERSION}));
        say("kind", json!({"type": "string", "description": "Kind of this object, in CamelCase."}));
        // An API server refuses more about metadata, even a description.
        say("metadata", json!({"type": "object"}));
        say("spec", self.spec.clone());
        if let Some(status) = &self.status {
            say("status", status.clone());
        }
        let mut schema = Map::new();
        schema.insert("description".to_owned(), about.into());
        schema.insert("type".to_owned(), "object".into());
        schema.insert("properties".to_owned(), properties.into());
        if self.spec_required {
            schema.insert("required".to_owned(), json!(["spec"]));
        }
        Value::Object(schema)
    }
}
