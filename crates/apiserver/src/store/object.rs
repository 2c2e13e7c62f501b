//! One stored object: immutable, shared, kept as the bytes readers get.
//!
//! A parsed object takes more than ten times the memory of its text, and every revision that a watch may still ask
//! for is one of these: only a small [`ObjectSummary`] is kept beside the text.

use std::{ops::Range, sync::Arc};

use bytes::Bytes;
use serde::Serialize;
use serde_json::{Map, Value};

use super::summary::ObjectSummary;
use crate::{meta, resource::ResourceKey};

/// Room for the text of a usual object, so that writing it does not grow the buffer again and again.
const USUAL_TEXT: usize = 4096;

/// An object as of one revision, in the storage version.
#[derive(Debug)]
pub(crate) struct Stored {
    pub(crate) head: ObjectSummary,
    /// The whole object as text.
    pub(crate) json: Bytes,
    /// Where `metadata` stands in the text.
    metadata: Range<usize>,
    pub(crate) revision: u64,
}

impl Stored {
    /// Stamps the revision into the object.
    pub(crate) fn new(mut value: Value, revision: u64) -> Self {
        meta::set(&mut value, "resourceVersion", revision.to_string());
        Self { revision, ..Self::unsaved(&value) }
    }

    /// An object that was only tried: it has no revision.
    pub(crate) fn unsaved(value: &Value) -> Self {
        let (text, metadata) = text(value);
        // Copied, so that not more is kept than the text needs.
        Self { head: ObjectSummary::of(value), json: Bytes::copy_from_slice(&text), metadata, revision: 0 }
    }

    /// The whole object, parsed again.
    pub(crate) fn value(&self) -> Value {
        // What was serialised here can be parsed: the fallback is never seen.
        serde_json::from_slice(&self.json).unwrap_or_default()
    }

    /// The text of `metadata`; that of an empty one if there is none.
    pub(crate) fn metadata(&self) -> &[u8] {
        self.json.get(self.metadata.clone()).filter(|text| !text.is_empty()).unwrap_or(b"{}")
    }

    /// An object of nothing but `metadata`, parsed again.
    pub(crate) fn metadata_value(&self) -> Value {
        let metadata = serde_json::from_slice(self.metadata()).unwrap_or_default();
        Value::Object(Map::from_iter([("metadata".to_owned(), metadata)]))
    }
}

/// An object as text, and where its `metadata` stands there.
fn text(object: &Value) -> (Vec<u8>, Range<usize>) {
    let (mut text, mut metadata) = (Vec::with_capacity(USUAL_TEXT), 0..0);
    text.push(b'{');
    for (name, field) in object.as_object().into_iter().flatten() {
        if text.len() > 1 {
            text.push(b',');
        }
        write(&mut text, name);
        text.push(b':');
        let start = text.len();
        write(&mut text, field);
        if name == "metadata" {
            metadata = start..text.len();
        }
    }
    text.push(b'}');
    (text, metadata)
}

fn write(text: &mut Vec<u8>, value: &(impl Serialize + ?Sized)) {
    serde_json::to_writer(text, value).expect("a JSON value can be written to memory");
}

/// Where an object lives within a cluster; the namespace is empty for cluster-scoped objects.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ObjectKey {
    pub(crate) resource: ResourceKey,
    pub(crate) namespace: Arc<str>,
    pub(crate) name: Arc<str>,
}

impl ObjectKey {
    pub(crate) fn new(resource: &ResourceKey, namespace: &str, name: &str) -> Self {
        Self { resource: resource.clone(), namespace: namespace.into(), name: name.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_object_is_kept_as_its_text_with_the_metadata_found_in_it() {
        let object = json!({"apiVersion": "v1", "kind": "K", "metadata": {"name": "a", "labels": {"metadata": "\"x\""}},
            "spec": {"metadata": {"name": "inner"}}, "a\"b": [1, null]});
        let stored = Stored::new(object.clone(), 7);
        let mut expected = object;
        expected["metadata"]["resourceVersion"] = json!("7");
        assert_eq!(stored.json, serde_json::to_vec(&expected).unwrap());
        assert_eq!(stored.value(), expected);
        assert_eq!(stored.metadata(), expected["metadata"].to_string().as_bytes());
        assert_eq!(stored.metadata_value(), json!({"metadata": expected["metadata"]}));
        assert_eq!((&*stored.head.name, &*stored.head.api_version), ("a", "v1"));
    }

    #[test]
    fn an_object_without_metadata_has_an_empty_one() {
        assert_eq!(Stored::unsaved(&json!({"kind": "K"})).metadata(), b"{}");
        assert_eq!(Stored::unsaved(&json!({})).json, "{}");
    }
}
