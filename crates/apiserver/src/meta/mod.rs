//! Reading and writing `metadata` of an untyped object. Total: an absent or odd field reads as absent.

pub(crate) mod normalise;
pub(crate) mod validate;

use serde_json::{Map, Value};

/// Finalizer that makes the garbage collector remove dependents first.
pub(crate) const FOREGROUND: &str = "foregroundDeletion";
/// Finalizer that makes the garbage collector leave dependents alone.
pub(crate) const ORPHAN: &str = "orphan";

/// `metadata`, or an empty map.
pub(crate) fn of(object: &Value) -> Option<&Map<String, Value>> {
    object.get("metadata").and_then(Value::as_object)
}

/// `metadata` for writing; it is put there if it is missing. `None` only if `object` is not an object.
pub(crate) fn of_mut(object: &mut Value) -> Option<&mut Map<String, Value>> {
    let metadata = object.as_object_mut()?.entry("metadata").or_insert_with(|| Value::Object(Map::new()));
    if !metadata.is_object() {
        *metadata = Value::Object(Map::new());
    }
    metadata.as_object_mut()
}

/// A text field, empty when absent.
pub(crate) fn text<'a>(object: &'a Value, field: &str) -> &'a str {
    of(object).and_then(|metadata| metadata.get(field)).and_then(Value::as_str).unwrap_or_default()
}

/// Sets a field of `metadata`.
pub(crate) fn set(object: &mut Value, field: &str, value: impl Into<Value>) {
    if let Some(metadata) = of_mut(object) {
        metadata.insert(field.to_owned(), value.into());
    }
}

/// Removes a field of `metadata`, keeping the order of the others.
pub(crate) fn remove(object: &mut Value, field: &str) {
    if let Some(metadata) = of_mut(object) {
        metadata.shift_remove(field);
    }
}

pub(crate) fn name(object: &Value) -> &str {
    text(object, "name")
}

pub(crate) fn namespace(object: &Value) -> &str {
    text(object, "namespace")
}

pub(crate) fn uid(object: &Value) -> &str {
    text(object, "uid")
}

/// The resource version in a request; `None` when absent, empty or `0`, which all mean "any".
pub(crate) fn resource_version(object: &Value) -> Option<&str> {
    Some(text(object, "resourceVersion")).filter(|version| !matches!(*version, "" | "0"))
}

pub(crate) fn generation(object: &Value) -> i64 {
    of(object).and_then(|metadata| metadata.get("generation")).and_then(Value::as_i64).unwrap_or_default()
}

pub(crate) fn is_deleting(object: &Value) -> bool {
    !text(object, "deletionTimestamp").is_empty()
}

/// Finalizers in their order.
pub(crate) fn finalizers(object: &Value) -> impl Iterator<Item = &str> {
    let list = of(object).and_then(|metadata| metadata.get("finalizers")).and_then(Value::as_array);
    list.into_iter().flatten().filter_map(Value::as_str)
}

pub(crate) fn has_finalizer(object: &Value, finalizer: &str) -> bool {
    finalizers(object).any(|it| it == finalizer)
}

/// Replaces the finalizers; an empty list is no field at all, as Kubernetes writes it.
pub(crate) fn set_finalizers(object: &mut Value, finalizers: Vec<String>) {
    if finalizers.is_empty() {
        remove(object, "finalizers");
    } else {
        set(object, "finalizers", finalizers);
    }
}

/// A text field of any object, empty when absent.
pub(crate) fn str_at<'a>(value: &'a Value, field: &str) -> &'a str {
    value.get(field).and_then(Value::as_str).unwrap_or_default()
}

/// The group of an `apiVersion`, empty for core.
pub(crate) fn group_of(api_version: &str) -> &str {
    api_version.split_once('/').map_or("", |(group, _)| group)
}
