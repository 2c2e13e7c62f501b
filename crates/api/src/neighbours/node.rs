//! Node of a workload cluster as the provider reads it.
//!
//! The cluster is a tenant's, and so is every word of it: only what shows whose a Node is enters memory, and nothing that
//! is longer than an API server would store. Of all labels only a digest is kept, which shows when they must be read again.

use std::{borrow::Cow, collections::BTreeMap, fmt};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::core::ObjectMeta;
use serde::{
    Deserialize, Deserializer, Serialize,
    de::{Error, IgnoredAny, MapAccess, SeqAccess, Visitor},
};

use crate::vocabulary::{annotation, label};

/// Longest name, uid, version or label. Names have at most 253 characters, the others less.
const LONGEST_WORD: usize = 253;

/// Longest provider ID: two names of ours and a namespace, and room for those of others.
const LONGEST_ID: usize = 2048;

/// A Node.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "ReadNode")]
pub struct Node {
    /// Name, uid, version, deletion, the first finalizer and the labels that show whose the Node is.
    pub metadata: ObjectMeta,
    /// Provider ID.
    pub spec: NodeSpec,
    /// Another one whenever a label or the record of synced labels is another; see [`digest_of_labels`].
    #[serde(skip_serializing)]
    pub labels_digest: u64,
    /// Whether it has a record of synced labels.
    #[serde(skip_serializing)]
    pub has_sync_record: bool,
}

crate::kind::kind!(Node, "", "v1", "Node", "nodes", cluster);

#[derive(Default, Deserialize)]
#[serde(default)]
struct ReadNode {
    metadata: ReadMetadata,
    spec: NodeSpec,
}

impl From<ReadNode> for Node {
    fn from(read: ReadNode) -> Self {
        let ReadMetadata { metadata, labels_digest, has_sync_record } = read.metadata;
        Self { metadata, spec: read.spec, labels_digest, has_sync_record }
    }
}

/// A Node with all of its labels, annotations and taints. It is read for one decision and never kept.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct WholeNode {
    /// Object metadata.
    #[serde(deserialize_with = "crate::metadata::without_managed_fields")]
    pub metadata: ObjectMeta,
    /// Provider ID and taints.
    pub spec: WholeNodeSpec,
}

/// Provider ID and taints of a Node.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct WholeNodeSpec {
    /// Provider ID of the machine on which the node runs.
    #[serde(rename = "providerID", skip_serializing_if = "Option::is_none")]
    pub provider_id: Option<String>,
    /// Taints as the server has them: a patch writes all of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub taints: Option<Vec<serde_json::Value>>,
}

crate::kind::kind!(WholeNode, "", "v1", "Node", "nodes", cluster);

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
    annotations: Option<SyncRecord>,
    finalizers: Option<First>,
}

#[derive(Default)]
struct ReadMetadata {
    metadata: ObjectMeta,
    labels_digest: u64,
    has_sync_record: bool,
}

impl<'de> Deserialize<'de> for ReadMetadata {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let read = NodeMetadata::deserialize(deserializer)?;
        let (labels, of_labels) = read.labels.map_or((None, 0), |labels| (Some(labels.known), labels.digest));
        let metadata = ObjectMeta {
            name: no_longer("metadata.name", read.name, LONGEST_WORD)?,
            uid: no_longer("metadata.uid", read.uid, LONGEST_WORD)?,
            resource_version: no_longer("metadata.resourceVersion", read.resource_version, LONGEST_WORD)?,
            deletion_timestamp: read.deletion_timestamp,
            labels,
            finalizers: read.finalizers.map(|first| first.0),
            ..ObjectMeta::default()
        };
        let of_record = read.annotations.and_then(|record| record.0);
        let labels_digest = of_labels ^ of_record.unwrap_or_default();
        Ok(Self { metadata, labels_digest, has_sync_record: of_record.is_some() })
    }
}

/// A number that changes with any of the labels and with the record of those that were synced (annotation
/// [`SYNCED_LABELS`](annotation::SYNCED_LABELS)).
pub fn digest_of_labels(labels: &BTreeMap<String, String>, record: Option<&str>) -> u64 {
    let of_record = record.map_or(0, |record| digest_of(annotation::SYNCED_LABELS, record));
    labels.iter().fold(of_record, |all, (key, value)| all ^ digest_of(key, value))
}

/// FNV-1a of a key and its value.
fn digest_of(key: &str, value: &str) -> u64 {
    let bytes = key.bytes().chain([0]).chain(value.bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// The labels that show whose a Node is, and the digest of all.
struct Labels {
    known: BTreeMap<String, String>,
    digest: u64,
}

/// Text that is not copied where it need not be.
#[derive(Deserialize)]
struct Word<'a>(#[serde(borrow)] Cow<'a, str>);

/// The digest of the annotation that names the labels which were synced, if there is one.
struct SyncRecord(Option<u64>);

impl<'de> Deserialize<'de> for SyncRecord {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Wanted;
        impl<'de> Visitor<'de> for Wanted {
            type Value = SyncRecord;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("annotations")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<SyncRecord, A::Error> {
                let mut digest = None;
                while let Some(Word(name)) = map.next_key()? {
                    if name == annotation::SYNCED_LABELS {
                        let value: Option<Word<'_>> = map.next_value()?;
                        digest = value.map(|value| digest_of(&name, &value.0));
                    } else {
                        map.next_value::<IgnoredAny>()?;
                    }
                }
                Ok(SyncRecord(digest))
            }
        }
        deserializer.deserialize_map(Wanted)
    }
}

impl<'de> Deserialize<'de> for Labels {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Wanted;
        impl<'de> Visitor<'de> for Wanted {
            type Value = Labels;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("labels")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Labels, A::Error> {
                let mut labels = Labels { known: BTreeMap::new(), digest: 0 };
                while let Some(Word(name)) = map.next_key()? {
                    let Some(Word(value)) = map.next_value::<Option<Word<'_>>>()? else { continue };
                    labels.digest ^= digest_of(&name, &value);
                    if [label::NODE_UUID, label::NODE_HOSTNAME].contains(&&*name) {
                        let value = no_longer("a label", Some(value.into_owned()), LONGEST_WORD)?;
                        labels.known.extend(value.map(|value| (name.into_owned(), value)));
                    }
                }
                Ok(labels)
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
    fn the_digest_tells_of_every_label_and_of_the_record_of_synced_ones_and_of_nothing_else() {
        let digest = |metadata: Value| read(&metadata, &json!({})).unwrap().labels_digest;
        let labels = json!({"a": "1", "kubernetes.io/hostname": "h"});
        let record = json!({"capm3.metal3.io/synced-labels": "a", "other": "o"});
        let plain = digest(json!({"labels": labels}));
        assert_eq!(digest(json!({})), 0);
        assert_ne!(plain, 0);
        assert_eq!(plain, digest(json!({"labels": labels, "annotations": {"other": "o"}})));
        let others = [
            json!({"labels": {"a": "2", "kubernetes.io/hostname": "h"}}),
            json!({"labels": {"b": "1", "kubernetes.io/hostname": "h"}}),
            json!({"labels": {"a": "1"}}),
            json!({"labels": labels, "annotations": record}),
        ];
        for other in others {
            assert_ne!(plain, digest(other.clone()), "{other}");
        }
        let map = serde_json::from_value(labels.clone()).unwrap();
        assert_eq!(plain, digest_of_labels(&map, None));
        let recorded = digest(json!({"labels": labels, "annotations": record}));
        assert_eq!(recorded, digest_of_labels(&map, Some("a")));
        let table = [
            (record, true),
            (json!({"capm3.metal3.io/synced-labels": ""}), true),
            (json!({"other": "o"}), false),
        ];
        for (annotations, expected) in table {
            let node = read(&json!({"annotations": annotations}), &json!({})).unwrap();
            assert_eq!(node.has_sync_record, expected, "{annotations}");
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
