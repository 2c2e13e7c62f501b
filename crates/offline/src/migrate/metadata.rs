//! Metadata, which the schemas of the kinds leave open: the members that every object has.

use std::sync::OnceLock;

use serde_json::{Value, json};

use super::{draft::Draft, path::Path, shape::Schema, walk::walk};

/// Brings the metadata of an object to the names and forms that an API server knows.
pub(super) fn check(draft: &mut Draft<'_>, prune: bool) {
    walk(draft, &Path::of("metadata"), Schema::new(schema()), prune);
}

/// What Kubernetes takes as metadata.
fn schema() -> &'static Value {
    static SCHEMA: OnceLock<Value> = OnceLock::new();
    SCHEMA.get_or_init(|| {
        let (text, flag, number) = (json!({"type": "string"}), json!({"type": "boolean"}), json!({"type": "integer", "format": "int64"}));
        let texts = json!({"type": "object", "additionalProperties": text});
        let owner = json!({"type": "object", "properties": {
            "apiVersion": text, "kind": text, "name": text, "uid": text, "controller": flag, "blockOwnerDeletion": flag,
        }});
        json!({"type": "object", "properties": {
            "name": text,
            "generateName": text,
            "namespace": text,
            "labels": texts,
            "annotations": texts,
            "ownerReferences": {"type": "array", "items": owner},
            "finalizers": {"type": "array", "items": text},
            "uid": text,
            "resourceVersion": text,
            "generation": number,
            "creationTimestamp": text,
            "deletionTimestamp": text,
            "deletionGracePeriodSeconds": number,
            "selfLink": text,
            "managedFields": {"type": "array", "items": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
        }})
    })
}
