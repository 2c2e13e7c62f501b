//! Namespaces: what a new one looks like, and how one goes away: first its content, then itself.

use serde_json::{Value, json};

use crate::{
    meta,
    resource::ResourceKey,
    store::{Change, object::ObjectKey},
    write::{Policy, Writer},
};

/// The finalizer in `spec` that stands for "has content".
const CONTENT: &str = "kubernetes";

pub(crate) fn is_namespace(object: &Value) -> bool {
    meta::str_at(object, "kind") == "Namespace" && meta::str_at(object, "apiVersion") == "v1"
}

/// Namespaces the server cannot do without.
pub(crate) fn is_protected(name: &str) -> bool {
    matches!(name, "default" | "kube-system" | "kube-public")
}

/// Fills in what every namespace has.
pub(crate) fn prepare(object: &mut Value) {
    let name = meta::name(object).to_owned();
    if let Some(metadata) = meta::of_mut(object) {
        let labels = metadata.entry("labels").or_insert_with(|| json!({}));
        if let Some(labels) = labels.as_object_mut() {
            labels.insert("kubernetes.io/metadata.name".to_owned(), json!(name));
        }
    }
    if let Some(fields) = object.as_object_mut() {
        fields.insert("spec".to_owned(), json!({"finalizers": [CONTENT]}));
        fields.insert("status".to_owned(), json!({"phase": "Active"}));
    }
}

/// Whether a namespace waits for its content to go; false for every other object.
pub(crate) fn is_held(object: &Value) -> bool {
    let finalizers = object.get("spec").and_then(|spec| spec.get("finalizers")).and_then(Value::as_array);
    is_namespace(object) && finalizers.is_some_and(|finalizers| !finalizers.is_empty())
}

/// Shows that a namespace goes away; leaves every other object alone.
pub(crate) fn set_terminating(object: &mut Value) {
    if is_namespace(object)
        && let Some(fields) = object.as_object_mut()
    {
        fields.insert("status".to_owned(), json!({"phase": "Terminating"}));
    }
}

/// Reacts to a write: empties a namespace that began to terminate, finishes one that became empty.
pub(crate) fn react(writer: &mut Writer<'_>, change: &Change) {
    let namespaces = ResourceKey::new("", "namespaces");
    if change.key.resource == namespaces {
        if change.new.as_ref().is_some_and(|new| new.head.is_deleting && is_held(&new.value())) {
            empty(writer, &change.key.name);
            finish(writer, &change.key);
        }
    } else if change.new.is_none() && !change.key.namespace.is_empty() {
        let key = ObjectKey::new(&namespaces, "", &change.key.namespace);
        let terminating = writer.store().get(&key).is_some_and(|it| it.head.is_deleting);
        if terminating {
            finish(writer, &key);
        }
    }
}

fn empty(writer: &mut Writer<'_>, namespace: &str) {
    let content: Vec<ObjectKey> = writer
        .store()
        .tables()
        .flat_map(|table| {
            table
                .objects
                .iter(Some(namespace))
                .map(|(namespace, name, _)| ObjectKey::new(&table.resource.key, namespace, name))
        })
        .collect();
    for key in content {
        writer.collect(&key, Some(Policy::Background));
    }
}

fn finish(writer: &mut Writer<'_>, key: &ObjectKey) {
    if writer.store().tables().any(|table| table.objects.has_namespace(&key.name)) {
        return;
    }
    writer.rewrite(key, |namespace| {
        if let Some(spec) = namespace.get_mut("spec").and_then(Value::as_object_mut) {
            spec.shift_remove("finalizers");
        }
    });
}
