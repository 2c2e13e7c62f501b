//! Takes the `openAPIV3Schema` of a CRD version, gives a compiled [`Schema`] or says what cannot be understood.

use serde_json::{Map, Value};
use thiserror::Error;

use super::{Additional, Bound, Format, Kind, ListKind, Pattern, Rules, Schema};
use crate::meta::str_at;

/// A schema the server refuses, with the path below the schema root.
#[derive(Debug, Error, PartialEq, Eq)]
pub(crate) enum CompileError {
    /// A node that is not an object.
    #[error("{0} must be an object")]
    NotAnObject(String),
    /// A type that does not exist.
    #[error(
        "{path}.type: Unsupported value: {found:?}: supported values: \"array\", \"boolean\", \"integer\", \"number\", \"object\", \"string\""
    )]
    UnknownType { path: String, found: String },
    /// A pattern that is not a regular expression.
    #[error(
        "{path}.pattern: Invalid value: {pattern:?}: must be a valid regular expression, but isn't: {cause}"
    )]
    Pattern { path: String, pattern: String, cause: String },
}

/// Compiles a schema; `path` is where it stands, for messages.
pub(crate) fn compile(schema: &Value, path: &str) -> Result<Schema, CompileError> {
    let node = schema.as_object().ok_or_else(|| CompileError::NotAnObject(path.to_owned()))?;
    let flag = |name: &str| node.get(name).and_then(Value::as_bool).unwrap_or_default();
    let int_or_string = flag("x-kubernetes-int-or-string") || str_at(schema, "format") == "int-or-string";
    Ok(Schema {
        kind: if int_or_string { None } else { kind(node, path)? },
        nullable: flag("nullable"),
        int_or_string,
        preserve_unknown: flag("x-kubernetes-preserve-unknown-fields"),
        embedded: flag("x-kubernetes-embedded-resource"),
        properties: properties(node, path)?,
        additional: additional(node, path)?,
        items: node
            .get("items")
            .map(|items| compile(items, &format!("{path}.items")))
            .transpose()?
            .map(Box::new),
        default: node.get("default").cloned(),
        list: list_kind(schema),
        rules: rules(node, path)?,
    })
}

fn kind(node: &Map<String, Value>, path: &str) -> Result<Option<Kind>, CompileError> {
    let Some(name) = node.get("type").and_then(Value::as_str).filter(|name| !name.is_empty()) else {
        return Ok(None);
    };
    let kind = match name {
        "object" => Kind::Object,
        "array" => Kind::Array,
        "string" => Kind::String,
        "integer" => Kind::Integer,
        "number" => Kind::Number,
        "boolean" => Kind::Boolean,
        other => {
            return Err(CompileError::UnknownType { path: path.to_owned(), found: other.to_owned() });
        }
    };
    Ok(Some(kind))
}

fn properties(
    node: &Map<String, Value>,
    path: &str,
) -> Result<std::collections::BTreeMap<String, Schema>, CompileError> {
    let properties = node.get("properties").and_then(Value::as_object);
    let compiled = |(name, schema): (&String, &Value)| {
        Ok((name.clone(), compile(schema, &format!("{path}.properties[{name}]"))?))
    };
    properties.into_iter().flatten().map(compiled).collect()
}

fn additional(node: &Map<String, Value>, path: &str) -> Result<Additional, CompileError> {
    match node.get("additionalProperties") {
        None | Some(Value::Null | Value::Bool(false)) => Ok(Additional::Unspecified),
        Some(Value::Bool(true)) => Ok(Additional::Any),
        Some(schema) => {
            let schema = compile(schema, &format!("{path}.additionalProperties"))?;
            Ok(Additional::Schema(Box::new(schema)))
        }
    }
}

fn list_kind(schema: &Value) -> ListKind {
    match str_at(schema, "x-kubernetes-list-type") {
        "set" => ListKind::Set,
        "map" => {
            let keys = schema.get("x-kubernetes-list-map-keys").and_then(Value::as_array);
            ListKind::Map(keys.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect())
        }
        _ => ListKind::Atomic,
    }
}

fn rules(node: &Map<String, Value>, path: &str) -> Result<Rules, CompileError> {
    let count = |name: &str| node.get(name).and_then(Value::as_u64);
    let many = |name: &str| schemas(node, name, path);
    Ok(Rules {
        required: strings(node.get("required")),
        allowed: node.get("enum").and_then(Value::as_array).cloned(),
        pattern: pattern(node, path)?,
        format: node.get("format").and_then(Value::as_str).and_then(Format::named),
        min_length: count("minLength"),
        max_length: count("maxLength"),
        minimum: bound(node, "minimum", "exclusiveMinimum"),
        maximum: bound(node, "maximum", "exclusiveMaximum"),
        multiple_of: node.get("multipleOf").and_then(Value::as_f64),
        min_items: count("minItems"),
        max_items: count("maxItems"),
        min_properties: count("minProperties"),
        max_properties: count("maxProperties"),
        all_of: many("allOf")?,
        any_of: many("anyOf")?,
        one_of: many("oneOf")?,
        not: node.get("not").map(|not| compile(not, &format!("{path}.not"))).transpose()?.map(Box::new),
    })
}

fn strings(list: Option<&Value>) -> Vec<String> {
    list.and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect()
}

fn schemas(node: &Map<String, Value>, name: &str, path: &str) -> Result<Vec<Schema>, CompileError> {
    let list = node.get(name).and_then(Value::as_array).into_iter().flatten();
    list.enumerate().map(|(index, schema)| compile(schema, &format!("{path}.{name}[{index}]"))).collect()
}

fn pattern(node: &Map<String, Value>, path: &str) -> Result<Option<Pattern>, CompileError> {
    let Some(source) = node.get("pattern").and_then(Value::as_str).filter(|it| !it.is_empty()) else {
        return Ok(None);
    };
    let refused = |error: regex::Error| CompileError::Pattern {
        path: path.to_owned(),
        pattern: source.to_owned(),
        cause: error.to_string(),
    };
    Pattern::new(source).map(Some).map_err(refused)
}

fn bound(node: &Map<String, Value>, limit: &str, exclusive: &str) -> Option<Bound> {
    let exclusive = node.get(exclusive).and_then(Value::as_bool).unwrap_or_default();
    node.get(limit).and_then(Value::as_f64).map(|limit| Bound { limit, exclusive })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_cannot_be_understood_is_named_with_its_path() {
        let table = [
            (json!({"properties": {"a": {"pattern": "("}}}), "s.properties[a].pattern"),
            (json!({"items": {"type": "text"}}), "s.items.type"),
            (json!({"not": 5}), "s.not must be an object"),
        ];
        for (schema, start) in table {
            let error = compile(&schema, "s").unwrap_err().to_string();
            assert!(error.starts_with(start), "{error}");
        }
    }
}
