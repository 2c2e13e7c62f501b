//! The rules for the contents of `metadata`, on create and between an old and a new object.

use serde_json::Value;

use super::{finalizers, is_deleting, of, text};
use crate::{
    field::{FieldError, quote, show},
    names,
};

/// All annotations of one object together.
const MAX_ANNOTATION_BYTES: usize = 256 * 1024;

/// What is wrong with the metadata of one object by itself.
pub(crate) fn object_meta(object: &Value, is_namespace: bool) -> Vec<FieldError> {
    let mut errors = Vec::new();
    name(object, is_namespace, &mut errors);
    labels(object, &mut errors);
    annotations(object, &mut errors);
    owner_references(object, &mut errors);
    for finalizer in finalizers(object) {
        if let Some(complaint) = names::qualified(finalizer) {
            errors.push(FieldError::invalid("metadata.finalizers", &quote(finalizer), &complaint));
        }
    }
    errors
}

fn name(object: &Value, is_namespace: bool, errors: &mut Vec<FieldError>) {
    let (name, prefix) = (text(object, "name"), text(object, "generateName"));
    if name.is_empty() {
        let field = if prefix.is_empty() { "metadata.name" } else { "metadata.generateName" };
        errors.push(FieldError::required(field, "name or generateName is required"));
        return;
    }
    let complaint = if is_namespace { names::label(name) } else { names::subdomain(name) };
    if let Some(complaint) = complaint {
        errors.push(FieldError::invalid("metadata.name", &quote(name), &complaint));
    }
}

fn labels(object: &Value, errors: &mut Vec<FieldError>) {
    for (key, value) in entries(object, "labels") {
        if let Some(complaint) = names::qualified(key) {
            errors.push(FieldError::invalid("metadata.labels", &quote(key), &complaint));
        }
        if let Some(complaint) = names::label_value(value) {
            errors.push(FieldError::invalid("metadata.labels", &quote(value), &complaint));
        }
    }
}

fn annotations(object: &Value, errors: &mut Vec<FieldError>) {
    let mut bytes = 0;
    for (key, value) in entries(object, "annotations") {
        bytes += key.len() + value.len();
        if let Some(complaint) = names::qualified(&key.to_lowercase()) {
            errors.push(FieldError::invalid("metadata.annotations", &quote(key), &complaint));
        }
    }
    if bytes > MAX_ANNOTATION_BYTES {
        errors.push(FieldError::too_long("metadata.annotations", MAX_ANNOTATION_BYTES as u64));
    }
}

fn entries<'a>(object: &'a Value, field: &str) -> impl Iterator<Item = (&'a String, &'a str)> {
    let map = of(object).and_then(|metadata| metadata.get(field)).and_then(Value::as_object);
    map.into_iter().flatten().filter_map(|(key, value)| value.as_str().map(|value| (key, value)))
}

fn owner_references(object: &Value, errors: &mut Vec<FieldError>) {
    let list = of(object).and_then(|metadata| metadata.get("ownerReferences")).and_then(Value::as_array);
    let mut controller: Option<&str> = None;
    for reference in list.into_iter().flatten() {
        for field in ["apiVersion", "kind", "name", "uid"] {
            if super::str_at(reference, field).is_empty() {
                let detail =
                    if field == "apiVersion" { "version must not be empty" } else { "must not be empty" };
                errors.push(FieldError::invalid(format!("metadata.ownerReferences.{field}"), "\"\"", detail));
            }
        }
        if reference.get("controller").and_then(Value::as_bool).unwrap_or_default() {
            let kind = super::str_at(reference, "kind");
            if let Some(first) = controller.replace(kind) {
                let detail = format!(
                    "Only one reference can have Controller set to true. Found \"true\" in references for {first} and {kind}"
                );
                errors.push(FieldError::invalid("metadata.ownerReferences", &show(reference), &detail));
            }
        }
    }
}

/// What an update may not change. Fields that the server restores silently are restored before this is asked.
pub(crate) fn object_meta_update(new: &Value, old: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for field in ["name", "namespace", "uid", "creationTimestamp", "deletionTimestamp"] {
        if text(new, field) != text(old, field) {
            errors.push(FieldError::immutable(format!("metadata.{field}"), &quote(text(new, field))));
        }
    }
    if is_deleting(old) {
        let before: Vec<&str> = finalizers(old).collect();
        let added: Vec<String> = finalizers(new).filter(|it| !before.contains(it)).map(quote).collect();
        if !added.is_empty() {
            let detail = format!(
                "no new finalizers can be added if the object is being deleted, found new finalizers []string{{{}}}",
                added.join(", ")
            );
            errors.push(FieldError::forbidden("metadata.finalizers", &detail));
        }
    }
    errors
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn complaints(metadata: Value) -> Vec<String> {
        object_meta(&json!({"metadata": metadata}), false).iter().map(|error| error.path.clone()).collect()
    }

    #[test]
    fn each_part_of_metadata_is_judged() {
        let table = [
            (json!({"name": "a"}), vec![]),
            (json!({}), vec!["metadata.name"]),
            (json!({"name": "A"}), vec!["metadata.name"]),
            (json!({"name": "a", "labels": {"a b": "c d"}}), vec!["metadata.labels", "metadata.labels"]),
            (json!({"name": "a", "annotations": {"A/b": "any text at all"}}), vec![]),
            (json!({"name": "a", "annotations": {"a b": ""}}), vec!["metadata.annotations"]),
            (json!({"name": "a", "finalizers": ["a b"]}), vec!["metadata.finalizers"]),
            (
                json!({"name": "a", "ownerReferences": [{"apiVersion": "v1", "kind": "K", "name": "n"}]}),
                vec!["metadata.ownerReferences.uid"],
            ),
        ];
        for (metadata, paths) in table {
            assert_eq!(complaints(metadata.clone()), paths, "{metadata}");
        }
    }

    #[test]
    fn two_controllers_are_one_too_many() {
        let owner = |name: &str| json!({"apiVersion": "v1", "kind": "K", "name": name, "uid": name, "controller": true});
        assert_eq!(
            complaints(json!({"name": "a", "ownerReferences": [owner("x"), owner("y")]})),
            ["metadata.ownerReferences"]
        );
    }

    #[test]
    fn a_deleting_object_may_lose_finalizers_but_not_gain_them() {
        let object = |finalizers: Value| json!({"metadata": {"name": "a", "deletionTimestamp": "t", "finalizers": finalizers}});
        let old = object(json!(["x/a", "x/b"]));
        assert_eq!(object_meta_update(&object(json!(["x/b"])), &old), []);
        let errors = object_meta_update(&object(json!(["x/a", "x/c"])), &old);
        assert_eq!(
            errors[0].to_string(),
            "metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new \
             finalizers []string{\"x/c\"}"
        );
    }
}
