//! The Secrets that carry rendered documents to the host operator.
//!
//! Takes a document and whose it is; gives the object to create. `Debug` never shows the document.

use std::fmt;

use base64::{Engine, engine::general_purpose::STANDARD};
use capm3_api::{
    metadata::MetadataExt,
    v1beta2::{API_VERSION, Metal3Data, Metal3DataTemplateSpec},
    vocabulary::{META_DATA_SUFFIX, NETWORK_DATA_SUFFIX, SECRET_TYPE, annotation, label},
};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::objects::Inputs;

/// What a Secret carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content {
    /// The metadata document.
    MetaData,
    /// The network data document.
    NetworkData,
}

impl Content {
    /// Key under which the host operator looks for the document.
    pub fn key(self) -> &'static str {
        match self {
            Self::MetaData => "metaData",
            Self::NetworkData => "networkData",
        }
    }

    fn suffix(self) -> &'static str {
        match self {
            Self::MetaData => META_DATA_SUFFIX,
            Self::NetworkData => NETWORK_DATA_SUFFIX,
        }
    }
}

/// Name of the Secret: the one that the data already names, else the Metal3Machine's with a suffix.
pub fn secret_name(content: Content, data: &Metal3Data, metal3_machine: &str) -> String {
    let named = match content {
        Content::MetaData => &data.spec.meta_data,
        Content::NetworkData => &data.spec.network_data,
    };
    match named.as_ref().map(|reference| reference.name_str()) {
        Some(name) if !name.is_empty() => name.to_owned(),
        _ => format!("{metal3_machine}{}", content.suffix()),
    }
}

/// A Secret to create for a Metal3Data.
#[derive(Clone, PartialEq, Eq)]
pub struct RenderedSecret {
    /// Name of the Secret.
    pub name: String,
    /// Namespace of the Secret and of its owner.
    pub namespace: String,
    /// Name of the Cluster, for the label by which Secrets are moved and cached.
    pub cluster_name: String,
    /// Name of the Metal3Data that owns the Secret.
    pub data_name: String,
    /// Uid of the Metal3Data that owns the Secret.
    pub data_uid: String,
    /// What the Secret carries.
    pub content: Content,
    document: String,
    inputs: String,
}

/// SHA-256 of a document, in hexadecimal.
pub fn digest(document: &str) -> String {
    Sha256::digest(document).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// SHA-256 of what documents are rendered from: template, index, machine, host and addresses. Two Secrets with the
/// same one were rendered for the same node from the same template.
pub fn inputs_digest(spec: &Metal3DataTemplateSpec, inputs: &Inputs<'_>) -> String {
    let uid = |metadata: Option<&kube::core::ObjectMeta>| metadata.map(|m| m.uid_str().to_owned());
    let addresses: Vec<Value> = inputs
        .addresses
        .iter()
        .map(|(pool, given)| json!([pool, given.address, given.prefix, given.gateway, given.dns_servers]))
        .collect();
    let parts = json!({
        "template": serde_json::to_value(spec).unwrap_or_default(),
        "index": inputs.data.spec.index,
        "machine": uid(inputs.objects.metal3_machine.map(|m| &m.metadata)),
        "host": uid(inputs.objects.host.map(|h| &h.metadata)),
        "addresses": addresses,
    });
    digest(&parts.to_string())
}

impl RenderedSecret {
    /// The Secret of a data object; `cluster_name` is the Machine's.
    pub fn new(
        content: Content,
        data: &Metal3Data,
        metal3_machine: &str,
        cluster_name: &str,
        document: String,
    ) -> Self {
        Self {
            name: secret_name(content, data, metal3_machine),
            namespace: data.metadata.namespace_str().to_owned(),
            cluster_name: cluster_name.to_owned(),
            data_name: data.metadata.name_str().to_owned(),
            data_uid: data.metadata.uid_str().to_owned(),
            content,
            document,
            inputs: String::new(),
        }
    }

    /// The same with the digest of what the document was rendered from.
    #[must_use]
    pub fn rendered_from(self, inputs: String) -> Self {
        Self { inputs, ..self }
    }

    /// SHA-256 of the document.
    pub fn digest(&self) -> String {
        digest(&self.document)
    }

    /// The object as it is sent to the API server. It holds the document: do not log it.
    pub fn to_object(&self) -> Value {
        json!({
            "apiVersion": "v1",
            "kind": "Secret",
            "type": SECRET_TYPE,
            "metadata": {
                "name": self.name,
                "namespace": self.namespace,
                "labels": {label::CLUSTER_NAME: self.cluster_name},
                "annotations": {
                    annotation::CONTENT_DIGEST: self.digest(),
                    annotation::INPUTS_DIGEST: self.inputs,
                },
                "ownerReferences": [{
                    "apiVersion": API_VERSION,
                    "kind": "Metal3Data",
                    "name": self.data_name,
                    "uid": self.data_uid,
                    "controller": true,
                }],
            },
            "data": {self.content.key(): STANDARD.encode(&self.document)},
        })
    }
}

impl fmt::Debug for RenderedSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RenderedSecret")
            .field("namespace", &self.namespace)
            .field("name", &self.name)
            .field("content", &self.content)
            .field("bytes", &self.document.len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(spec: Value) -> Metal3Data {
        let metadata = json!({"name": "nodepool-1-0", "namespace": "metal3", "uid": "u-1"});
        serde_json::from_value(json!({"metadata": metadata, "spec": spec})).unwrap()
    }

    #[test]
    fn a_secret_has_the_name_label_owner_and_key_that_its_readers_expect() {
        let data = data(json!({}));
        let secret = RenderedSecret::new(Content::MetaData, &data, "machine-1", "cluster-1", "a: b\n".into())
            .rendered_from("feed".into());
        assert_eq!(
            secret.to_object(),
            json!({
                "apiVersion": "v1",
                "kind": "Secret",
                "type": "infrastructure.cluster.x-k8s.io/secret",
                "metadata": {
                    "name": "machine-1-metadata",
                    "namespace": "metal3",
                    "labels": {"cluster.x-k8s.io/cluster-name": "cluster-1"},
                    "annotations": {
                        "capm3.metal3.io/content-digest":
                            "52c9693cf3f219d51ba6af4362ee092c55fb5e6f96d6f9da13c8ede7eff8e71b",
                        "capm3.metal3.io/inputs-digest": "feed"
                    },
                    "ownerReferences": [{
                        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2",
                        "kind": "Metal3Data",
                        "name": "nodepool-1-0",
                        "uid": "u-1",
                        "controller": true
                    }]
                },
                "data": {"metaData": "YTogYgo="}
            })
        );
    }

    #[test]
    fn a_name_that_the_data_already_carries_is_kept() {
        let data = data(json!({"networkData": {"name": "mine"}, "metaData": {}}));
        assert_eq!(secret_name(Content::NetworkData, &data, "machine-1"), "mine");
        assert_eq!(secret_name(Content::MetaData, &data, "machine-1"), "machine-1-metadata");
    }

    #[test]
    fn debug_of_a_secret_shows_nothing_of_the_document() {
        let data = data(json!({}));
        let secret = RenderedSecret::new(Content::NetworkData, &data, "m", "c", "password: hunter2\n".into());
        let text = format!("{secret:?}");
        assert!(text.contains("m-networkdata"));
        assert!(!text.contains("hunter2") && !text.contains("cGFzc3dvcmQ"));
    }
}
