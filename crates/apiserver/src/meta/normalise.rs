//! Brings `metadata` into the form Kubernetes stores: known fields of the right type, no nulls, no empty maps or
//! lists, no managed fields (server-side apply is not served yet). Judges types only, not contents.

use serde_json::{Map, Value};
use thiserror::Error;

/// A field that cannot be decoded at all.
#[derive(Debug, Error, PartialEq, Eq)]
pub(crate) enum NormaliseError {
    /// The body is not an object.
    #[error("the request body must be an object")]
    NotAnObject,
    /// As a Go decoder says it that reads the metadata of a custom resource by itself.
    #[error("json: cannot unmarshal {found} into Go struct field ObjectMeta.{field} of type {wanted}")]
    WrongType { field: String, found: &'static str, wanted: &'static str },
}

impl NormaliseError {
    /// As a Go decoder says it that reads the whole object, which it does with built-in kinds.
    pub(crate) fn within_object(&self) -> String {
        self.to_string().replace("ObjectMeta.", "ObjectMeta.metadata.")
    }
}

/// Tidies `object.metadata` in place.
pub(crate) fn normalise(object: &mut Value) -> Result<(), NormaliseError> {
    let root = object.as_object_mut().ok_or(NormaliseError::NotAnObject)?;
    let metadata = root.entry("metadata").or_insert(Value::Null);
    match metadata {
        Value::Null => *metadata = Value::Object(Map::new()),
        Value::Object(fields) => return normalise_fields(fields),
        other => return Err(wrong("", other, "v1.ObjectMeta")),
    }
    Ok(())
}

fn normalise_fields(fields: &mut Map<String, Value>) -> Result<(), NormaliseError> {
    let mut error = None;
    fields.retain(|field, value| match keep(field, value) {
        Ok(keep) => keep,
        Err(wrong) => {
            error.get_or_insert(wrong);
            false
        }
    });
    error.map_or(Ok(()), Err)
}

fn keep(field: &str, value: &mut Value) -> Result<bool, NormaliseError> {
    if value.is_null() {
        return Ok(false);
    }
    match field {
        "name" | "generateName" | "namespace" | "uid" | "resourceVersion" | "creationTimestamp"
        | "deletionTimestamp" => {
            let text = value.as_str().ok_or_else(|| wrong(field, value, "string"))?;
            Ok(!text.is_empty())
        }
        "generation" | "deletionGracePeriodSeconds" => {
            value.as_i64().map(|_| true).ok_or_else(|| wrong(field, value, "int64"))
        }
        "labels" | "annotations" => {
            let Value::Object(entries) = value else {
                return Err(wrong(field, value, "map[string]string"));
            };
            // Go reads a null in a map of strings as the empty string.
            entries.values_mut().filter(|entry| entry.is_null()).for_each(|entry| *entry = "".into());
            let odd = entries.values().find(|entry| !entry.is_string());
            odd.map_or(Ok(!entries.is_empty()), |odd| Err(wrong(field, odd, "string")))
        }
        "finalizers" => {
            let Value::Array(items) = value else {
                return Err(wrong(field, value, "[]string"));
            };
            let odd = items.iter().find(|item| !item.is_string());
            odd.map_or(Ok(!items.is_empty()), |odd| Err(wrong(field, odd, "string")))
        }
        "ownerReferences" => {
            let Value::Array(items) = value else {
                return Err(wrong(field, value, "[]v1.OwnerReference"));
            };
            items.iter_mut().try_for_each(normalise_owner)?;
            Ok(!items.is_empty())
        }
        _ => Ok(false),
    }
}

fn normalise_owner(owner: &mut Value) -> Result<(), NormaliseError> {
    let Value::Object(fields) = owner else {
        return Err(wrong("ownerReferences", owner, "v1.OwnerReference"));
    };
    let mut error = None;
    fields.retain(|field, value| {
        let (fits, wanted) = match field.as_str() {
            "apiVersion" | "kind" | "name" | "uid" => (value.is_string(), "string"),
            "controller" | "blockOwnerDeletion" => (value.is_boolean(), "bool"),
            _ => return false,
        };
        if !fits && !value.is_null() {
            error.get_or_insert_with(|| wrong(&format!("ownerReferences.{field}"), value, wanted));
        }
        fits
    });
    error.map_or(Ok(()), Err)
}

fn wrong(field: &str, found: &Value, wanted: &'static str) -> NormaliseError {
    NormaliseError::WrongType { field: field.to_owned(), found: go_name(found), wanted }
}

/// What a Go decoder calls a value.
pub(crate) fn go_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// Drops null fields of objects at any depth, as decoding into Go structs does for kinds without a schema.
pub(crate) fn drop_nulls(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, field| !field.is_null());
            fields.values_mut().for_each(drop_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(drop_nulls),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn empty_null_and_unknown_fields_vanish() {
        let mut object = json!({"metadata": {"name": "a", "labels": {}, "annotations": {"k": null}, "finalizers": [],
            "creationTimestamp": null, "managedFields": [{}], "selfLink": "x", "ownerReferences": []}});
        normalise(&mut object).unwrap();
        assert_eq!(object, json!({"metadata": {"name": "a", "annotations": {"k": ""}}}));
    }

    #[test]
    fn wrong_types_are_named() {
        for (metadata, field) in [
            (json!({"labels": {"a": 1}}), "labels"),
            (json!({"name": 1}), "name"),
            (json!({"finalizers": "x"}), "finalizers"),
            (json!({"ownerReferences": [{"uid": 5}]}), "ownerReferences.uid"),
        ] {
            let error = normalise(&mut json!({"metadata": metadata})).unwrap_err();
            assert!(error.to_string().contains(field), "{error}");
        }
        assert_eq!(normalise(&mut json!([])), Err(NormaliseError::NotAnObject));
    }
}
