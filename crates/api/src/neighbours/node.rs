//! Node of a workload cluster as the provider reads it.
//!
//! The cluster is a tenant's, and so is every word of it: only what tells whose a Node is enters memory, and nothing that
//! is longer than an API server would store.

use std::{borrow::Cow, collections::BTreeMap, fmt};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::core::ObjectMeta;
use serde::{
    Deserialize, Deserializer, Serialize,
    de::{Error, IgnoredAny, MapAccess, SeqAccess, Visitor},
};

use crate::vocabulary::label;

/// Longest name, uid, version or label. Names have at most 253 characters, the others less.
const LONGEST_WORD: usize = 253;

/// Longest provider ID: two names of ours and a namespace, and room for those of others.
const LONGEST_ID: usize = 2048;

/// A Node.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Node {
    /// Name, uid, version, deletion, the first finalizer and the labels that tell whose the Node is.
    #[serde(deserialize_with = "metadata")]
    pub metadata: ObjectMeta,
    /// Provider ID.
    pub spec: NodeSpec,
}

crate::kind::kind!(Node, "", "v1", "Node", "nodes", cluster);

/// Provider ID.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeSpec {
    /// Provider ID of the machine on which the node runs.
    #[serde(rename = "providerID", deserialize_with = "provider_id")]
    pub provider_id: Option<String>,
}

fn provider_id<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    no_longer("spec.providerID", Option::deserialize(deserializer)?, LONGEST_ID)
}

fn no_longer<E: Error>(what: &str, text: Option<String>, limit: usize) -> Result<Option<String>, E> {
    match text {
        Some(text) if text.len() > limit => {
            Err(E::custom(format_args!("{what} has {} bytes, more than {limit}", text.len())))
        }
        text => Ok(text),
    }
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct NodeMetadata {
    name: Option<String>,
    uid: Option<String>,
    resource_version: Option<String>,
    deletion_timestamp: Option<Time>,
    labels: Option<Labels>,
    finalizers: Option<First>,
}

fn metadata<'de, D: Deserializer<'de>>(deserializer: D) -> Result<ObjectMeta, D::Error> {
    let read = NodeMetadata::deserialize(deserializer)?;
    Ok(ObjectMeta {
        name: no_longer("metadata.name", read.name, LONGEST_WORD)?,
        uid: no_longer("metadata.uid", read.uid, LONGEST_WORD)?,
        resource_version: no_longer("metadata.resourceVersion", read.resource_version, LONGEST_WORD)?,
        deletion_timestamp: read.deletion_timestamp,
        labels: read.labels.map(|labels| labels.0),
        finalizers: read.finalizers.map(|first| first.0),
        ..ObjectMeta::default()
    })
}

/// The labels that tell whose a Node is.
struct Labels(BTreeMap<String, String>);

/// The name of a member, not copied where the text allows it.
#[derive(Deserialize)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

impl<'de> Deserialize<'de> for Labels {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Wanted;
        impl<'de> Visitor<'de> for Wanted {
            type Value = Labels;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("labels")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Labels, A::Error> {
                let mut labels = BTreeMap::new();
                while let Some(Name(name)) = map.next_key()? {
                    if [label::NODE_UUID, label::NODE_HOSTNAME].contains(&&*name) {
                        let value = no_longer("a label", map.next_value()?, LONGEST_WORD)?;
                        labels.extend(value.map(|value| (name.into_owned(), value)));
                    } else {
                        map.next_value::<IgnoredAny>()?;
                    }
                }
                Ok(Labels(labels))
            }
        }
        deserializer.deserialize_map(Wanted)
    }
}

/// The first of a list of texts: whether there are any is all that counts.
struct First(Vec<String>);

impl<'de> Deserialize<'de> for First {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct One;
        impl<'de> Visitor<'de> for One {
            type Value = First;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of texts")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<First, A::Error> {
                let first = no_longer("a finalizer", list.next_element()?, LONGEST_WORD)?;
                while list.next_element::<IgnoredAny>()?.is_some() {}
                Ok(First(first.into_iter().collect()))
            }
        }
        deserializer.deserialize_seq(One)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read(metadata: &Value, spec: &Value) -> Result<Node, serde_json::Error> {
        let node = json!({"metadata": metadata, "spec": spec, "status": {"images": [{"names": ["a"]}]}});
        let by_text = serde_json::from_str(&node.to_string());
        let by_value = serde_json::from_value(node);
        assert_eq!(by_text.as_ref().ok(), by_value.as_ref().ok());
        by_text
    }

    #[test]
    fn only_what_tells_whose_a_node_is_is_kept() {
        let node = read(
            &json!({"name": "n", "uid": "u", "resourceVersion": "7", "deletionTimestamp": "2026-01-01T00:00:00Z",
                "labels": {"metal3.io/uuid": "x", "kubernetes.io/hostname": "h", "other": "o"},
                "annotations": {"a": "b"}, "finalizers": ["one", "two"], "managedFields": [{}],
                "ownerReferences": [{}], "creationTimestamp": "2026-01-01T00:00:00Z"}),
            &json!({"providerID": "metal3://a/b/c", "podCIDR": "10.0.0.0/24"}),
        );
        let kept = serde_json::to_value(node.unwrap()).unwrap();
        let expected = json!({
            "metadata": {"name": "n", "uid": "u", "resourceVersion": "7", "deletionTimestamp": "2026-01-01T00:00:00Z",
                "labels": {"metal3.io/uuid": "x", "kubernetes.io/hostname": "h"}, "finalizers": ["one"]},
            "spec": {"providerID": "metal3://a/b/c"},
        });
        assert_eq!(kept, expected);
        for nothing in [json!({}), json!({"labels": null, "finalizers": null, "name": null})] {
            assert_eq!(read(&nothing, &json!({"providerID": null})).unwrap(), Node::default());
        }
    }

    #[test]
    fn what_is_longer_than_an_api_server_stores_is_not_taken() {
        let long = |bytes: usize| "x".repeat(bytes);
        assert!(read(&json!({"name": long(253)}), &json!({"providerID": long(2048)})).is_ok());
        let table = [
            (json!({"name": long(254)}), json!({})),
            (json!({"uid": long(254)}), json!({})),
            (json!({"resourceVersion": long(254)}), json!({})),
            (json!({"labels": {"metal3.io/uuid": long(254)}}), json!({})),
            (json!({"finalizers": [long(254)]}), json!({})),
            (json!({}), json!({"providerID": long(2049)})),
        ];
        for (metadata, spec) in table {
            let error = read(&metadata, &spec).unwrap_err().to_string();
            assert!(error.contains("more than 2") && error.len() < 100, "{error}");
        }
    }
}
