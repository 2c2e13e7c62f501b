//! A short notation for schemas, and the types all kinds share.

use serde_json::{Map, Value, json};

pub(super) const OBJECT_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
pub(super) const LIST_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta";
const OWNER_REFERENCE: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.OwnerReference";

/// The two fields that say what an object is, in the words of Kubernetes.
pub(super) const TYPE_META: [(&str, &str); 2] = [
    (
        "apiVersion",
        "APIVersion defines the versioned schema of this representation of an object. Servers should convert \
         recognized schemas to the latest internal value, and may reject unrecognized values. More info: \
         https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources",
    ),
    (
        "kind",
        "Kind is a string value representing the REST resource this object represents. Servers may infer this from \
         the endpoint the client submits requests to. Cannot be updated. In CamelCase. More info: \
         https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds",
    ),
];

/// What every kind says of its metadata.
pub(super) const METADATA: &str = "Standard object's metadata. More info: \
    https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata";

/// A field: its name, its type in short, and what it means.
///
/// Types are `string`, `integer`, `boolean`, `time`, `object` (anything), `map` (of strings), `&Type` (a reference),
/// or any of these after `[]`.
pub(super) type Field = (&'static str, &'static str, &'static str);

const OBJECT_META_FIELDS: &[Field] = &[
    ("name", "string", "Unique within the namespace; cannot be changed."),
    ("generateName", "string", "A prefix from which the server makes a unique name if there is none."),
    ("namespace", "string", "The space in which the name is unique; cannot be changed."),
    ("labels", "map", "Keys and values to select objects by."),
    ("annotations", "map", "Keys and values for tools to keep arbitrary data in."),
    (
        "finalizers",
        "[]string",
        "Who must agree before the object is removed; while one is left, a deletion waits.",
    ),
    (
        "ownerReferences",
        "[]&OwnerReference",
        "Objects this one depends on; when all are gone, it is collected.",
    ),
    ("uid", "string", "Unique in time and space; set by the server."),
    ("resourceVersion", "string", "Changes with every write; opaque to clients."),
    ("generation", "integer", "Counts changes of the desired state."),
    ("creationTimestamp", "time", "When the object was created; set by the server."),
    ("deletionTimestamp", "time", "When the object was asked to go; set by the server."),
    ("deletionGracePeriodSeconds", "integer", "How long the object may take to end in an orderly way."),
    ("managedFields", "[]object", "Who set which fields."),
    ("selfLink", "string", "No longer filled in."),
];

const OWNER_FIELDS: &[Field] = &[
    ("apiVersion", "string", "Group and version of the owner."),
    ("kind", "string", "Kind of the owner."),
    ("name", "string", "Name of the owner."),
    ("uid", "string", "Uid of the owner."),
    ("controller", "boolean", "Whether this owner manages the object."),
    ("blockOwnerDeletion", "boolean", "Whether a foreground deletion of the owner waits for this object."),
];

const LIST_META_FIELDS: &[Field] = &[
    ("continue", "string", "Where the next page starts."),
    ("remainingItemCount", "integer", "How many objects follow this page."),
    ("resourceVersion", "string", "The state of the collection that is shown."),
    ("selfLink", "string", "No longer filled in."),
];

/// The schemas every document contains.
pub(super) fn shared() -> Map<String, Value> {
    Map::from_iter([
        (OBJECT_META.to_owned(), object("What all stored objects have.", OBJECT_META_FIELDS)),
        (LIST_META.to_owned(), object("What all lists have.", LIST_META_FIELDS)),
        (OWNER_REFERENCE.to_owned(), object("An object that owns another.", OWNER_FIELDS)),
    ])
}

/// Whether `metadata` may have this field.
pub(crate) fn is_metadata_field(name: &str) -> bool {
    OBJECT_META_FIELDS.iter().any(|(known, _, _)| *known == name)
}

/// A schema with these fields.
pub(super) fn object(description: &str, fields: &[Field]) -> Value {
    let properties: Map<String, Value> =
        fields.iter().map(|(name, kind, text)| ((*name).to_owned(), field(kind, text))).collect();
    json!({"type": "object", "description": description, "properties": properties})
}

fn field(kind: &str, description: &str) -> Value {
    if let Some(item) = kind.strip_prefix("[]") {
        return json!({"type": "array", "description": description, "items": field(item, "")});
    }
    if let Some(name) = kind.strip_prefix('&') {
        return reference(&full_name(name), description);
    }
    let mut schema = match kind {
        "map" => json!({"type": "object", "additionalProperties": {"type": "string"}}),
        "time" => json!({"type": "string", "format": "date-time"}),
        "object" => json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true}),
        scalar => json!({"type": scalar}),
    };
    if let Some(fields) = schema.as_object_mut().filter(|_| !description.is_empty()) {
        fields.insert("description".to_owned(), description.into());
    }
    schema
}

/// A reference that keeps its own description.
pub(super) fn reference(name: &str, description: &str) -> Value {
    json!({"allOf": [{"$ref": format!("#/components/schemas/{name}")}], "description": description})
}

/// Types of the core group are named by their last word, others in full.
pub(super) fn full_name(name: &str) -> String {
    match name {
        "OwnerReference" => OWNER_REFERENCE.to_owned(),
        name => format!("io.k8s.api.core.v1.{name}"),
    }
}
