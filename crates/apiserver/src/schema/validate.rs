//! Judges a normalised object against its schema, in Kubernetes' wording. Changes nothing.

use serde_json::{Map, Number, Value};

use super::{Kind, Schema, is_type_or_object_meta, normalise::Child, path::Path};
use crate::{
    field::{FieldError, quote, show},
    meta::str_at,
};

/// Everything that is wrong with a whole object. What an update leaves as it was is not judged again: a schema that
/// became stricter must not lock the objects that are already there.
pub(super) fn validate(schema: &Schema, object: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let value = Compared { new: object, old };
    check(schema, value, &Path::Root, true, &mut errors);
    errors
}

/// A value and, in an update, the one that stood in its place.
#[derive(Clone, Copy)]
pub(super) struct Compared<'a> {
    pub(super) new: &'a Value,
    pub(super) old: Option<&'a Value>,
}

pub(super) fn check(
    schema: &Schema,
    value: Compared<'_>,
    path: &Path<'_>,
    is_root: bool,
    errors: &mut Vec<FieldError>,
) {
    let Compared { new, old } = value;
    if old == Some(new) || (new.is_null() && schema.nullable) {
        return;
    }
    let value = new;
    if let Some(error) = schema.type_error(value, path) {
        errors.push(error);
        return;
    }
    schema.rules.check(value, path, errors);
    match value {
        Value::String(text) => schema.rules.check_text(text, path, errors),
        Value::Number(number) => schema.rules.check_number(number, path, errors),
        Value::Array(items) => schema.check_items(items, old, path, errors),
        Value::Object(fields) => schema.check_fields(fields, old, path, is_root, errors),
        Value::Null | Value::Bool(_) => {}
    }
}

/// `spec.size in body ...`, the way Kubernetes begins most complaints.
pub(super) fn body(path: &Path<'_>, complaint: &str) -> String {
    format!("{} in body {complaint}", path.text())
}

pub(super) fn invalid(path: &Path<'_>, shown: &str, complaint: &str) -> FieldError {
    FieldError::invalid(path.text(), shown, &body(path, complaint))
}

fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn is_whole(number: &Number) -> bool {
    !number.is_f64() || number.as_f64().is_some_and(|float| float.fract() == 0.0)
}

impl Schema {
    fn type_error(&self, value: &Value, path: &Path<'_>) -> Option<FieldError> {
        let (fits, wanted) = match self.kind {
            None if self.int_or_string => {
                (value.is_string() || value.as_number().is_some_and(is_whole), "integer,string")
            }
            None => (!value.is_null() || self.preserve_unknown, "object"),
            Some(Kind::Object) => (value.is_object(), "object"),
            Some(Kind::Array) => (value.is_array(), "array"),
            Some(Kind::String) => (value.is_string(), "string"),
            Some(Kind::Integer) => (value.as_number().is_some_and(is_whole), "integer"),
            Some(Kind::Number) => (value.is_number(), "number"),
            Some(Kind::Boolean) => (value.is_boolean(), "boolean"),
        };
        if fits {
            return None;
        }
        let found = quote(type_name(value));
        Some(FieldError::type_invalid(
            path.text(),
            &found,
            &body(path, &format!("must be of type {wanted}: {found}")),
        ))
    }

    fn check_fields(
        &self,
        fields: &Map<String, Value>,
        old: Option<&Value>,
        path: &Path<'_>,
        is_root: bool,
        errors: &mut Vec<FieldError>,
    ) {
        let rules = &self.rules;
        let count = fields.len() as u64;
        if let Some(min) = rules.min_properties.filter(|min| count < *min) {
            errors.push(invalid(path, &min.to_string(), &format!("should have at least {min} properties")));
        }
        if let Some(max) = rules.max_properties.filter(|max| count > *max) {
            errors.push(invalid(path, &max.to_string(), &format!("should have at most {max} properties")));
        }
        for name in rules.required.iter().filter(|name| !fields.contains_key(name.as_str())) {
            errors.push(FieldError::required(path.field(name).text(), ""));
        }
        if self.embedded {
            check_embedded(fields, path, errors);
        }
        for (name, value) in fields {
            if (is_root || self.embedded) && is_type_or_object_meta(name) {
                continue;
            }
            if let Child::Known(child) = self.child(name) {
                let value = Compared { new: value, old: old.and_then(|old| old.get(name)) };
                check(child, value, &path.field(name), false, errors);
            }
        }
    }

    fn check_items(
        &self,
        items: &[Value],
        old: Option<&Value>,
        path: &Path<'_>,
        errors: &mut Vec<FieldError>,
    ) {
        let count = items.len() as u64;
        if let Some(min) = self.rules.min_items.filter(|min| count < *min) {
            errors.push(invalid(path, &count.to_string(), &format!("should have at least {min} items")));
        }
        if let Some(max) = self.rules.max_items.filter(|max| count > *max) {
            errors.push(FieldError::too_many(path.text(), count, max));
        }
        if let Some(schema) = &self.items {
            let counterparts = self.by_identity(old);
            for (index, item) in items.iter().enumerate() {
                let old = (!counterparts.is_empty()).then(|| counterparts.get(&self.identity(item)).copied());
                let value = Compared { new: item, old: old.flatten() };
                check(schema, value, &path.index(index), false, errors);
            }
        }
        self.check_unique(items, path, errors);
    }
}

fn check_embedded(fields: &Map<String, Value>, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    for name in ["apiVersion", "kind"] {
        if fields.get(name).and_then(Value::as_str).unwrap_or_default().is_empty() {
            errors.push(FieldError::required(path.field(name).text(), "must not be empty"));
        }
    }
    if let Some(metadata) = fields.get("metadata").filter(|metadata| !metadata.is_object()) {
        let path = path.field("metadata").text();
        errors.push(FieldError::invalid(path, &show(metadata), "must be an object"));
    } else if let Some(name) =
        fields.get("metadata").map(|metadata| str_at(metadata, "name")).filter(|it| !it.is_empty())
        && let Some(complaint) = crate::names::subdomain(name)
    {
        errors.push(FieldError::invalid(
            path.field("metadata").field("name").text(),
            &quote(name),
            &complaint,
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::super::compile;
    use serde_json::{Value, json};

    /// Validates `value` as `spec` of an object whose `spec` has `schema`.
    fn complaints(schema: Value, value: Value) -> Vec<String> {
        let schema = compile(&json!({"type": "object", "properties": {"spec": schema}}), "").unwrap();
        schema.validate(&json!({"spec": value}), None).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn each_rule_complains_in_the_words_of_kubernetes() {
        let table = [
            (
                json!({"type": "string"}),
                json!(5),
                "spec: Invalid value: \"integer\": spec in body must be of type string: \"integer\"",
            ),
            (
                json!({"type": "integer"}),
                json!("5"),
                "spec: Invalid value: \"string\": spec in body must be of type integer: \"string\"",
            ),
            (
                json!({"type": "integer"}),
                json!(1.5),
                "spec: Invalid value: \"number\": spec in body must be of type integer: \"number\"",
            ),
            (
                json!({"type": "string"}),
                json!(null),
                "spec: Invalid value: \"null\": spec in body must be of type string: \"null\"",
            ),
            (json!({"type": "object", "required": ["a"]}), json!({}), "spec.a: Required value"),
            (
                json!({"type": "string", "enum": ["a", "b"]}),
                json!("c"),
                "spec: Unsupported value: \"c\": supported values: \"a\", \"b\"",
            ),
            (
                json!({"type": "string", "pattern": "^a$"}),
                json!("b"),
                "spec: Invalid value: \"b\": spec in body should match '^a$'",
            ),
            (
                json!({"type": "string", "minLength": 2}),
                json!("ä"),
                "spec: Invalid value: \"ä\": spec in body should be at least 2 chars long",
            ),
            (
                json!({"type": "string", "maxLength": 2}),
                json!("abc"),
                "spec: Too long: may not be more than 2 bytes",
            ),
            (
                json!({"type": "integer", "minimum": 1}),
                json!(0),
                "spec: Invalid value: 0: spec in body should be greater than or equal to 1",
            ),
            (
                json!({"type": "integer", "maximum": 9}),
                json!(10),
                "spec: Invalid value: 10: spec in body should be less than or equal to 9",
            ),
            (
                json!({"type": "number", "minimum": 1, "exclusiveMinimum": true}),
                json!(1),
                "spec: Invalid value: 1: spec in body should be greater than 1",
            ),
            (
                json!({"type": "number", "maximum": 1, "exclusiveMaximum": true}),
                json!(1.0),
                "spec: Invalid value: 1.0: spec in body should be less than 1",
            ),
            (
                json!({"type": "integer", "multipleOf": 4}),
                json!(6),
                "spec: Invalid value: 6: spec in body should be a multiple of 4",
            ),
            (
                json!({"type": "array", "minItems": 1}),
                json!([]),
                "spec: Invalid value: 0: spec in body should have at least 1 items",
            ),
            (
                json!({"type": "array", "maxItems": 1}),
                json!([1, 2]),
                "spec: Too many: 2: must have at most 1 item",
            ),
            (
                json!({"type": "object", "minProperties": 1}),
                json!({}),
                "spec: Invalid value: 1: spec in body should have at least 1 properties",
            ),
            (
                json!({"type": "string", "format": "date-time"}),
                json!("x"),
                "spec: Invalid value: \"x\": spec in body must be of type date-time: \"x\"",
            ),
            (
                json!({"x-kubernetes-int-or-string": true}),
                json!(true),
                "spec: Invalid value: \"boolean\": spec in body must be of type integer,string: \"boolean\"",
            ),
            (
                json!({"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}}),
                json!(["a", "a"]),
                "spec[1]: Duplicate value: \"a\"",
            ),
            (
                json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["n"], "items": {"type": "object"}}),
                json!([{"n": "a", "v": 1}, {"n": "a", "v": 2}]),
                "spec[1]: Duplicate value: map[string]interface {}{\"n\":\"a\"}",
            ),
            (
                json!({"type": "object", "oneOf": [{"required": ["a"]}, {"required": ["b"]}]}),
                json!({}),
                "spec: Invalid value: \"\": \"spec\" must validate one and only one schema (oneOf). Found none valid",
            ),
            (
                json!({"type": "object", "anyOf": [{"required": ["a"]}]}),
                json!({}),
                "spec: Invalid value: \"\": \"spec\" must validate at least one schema (anyOf)",
            ),
            (
                json!({"type": "object", "not": {"required": ["a"]}}),
                json!({"a": 1}),
                "spec: Invalid value: \"\": \"spec\" must not validate the schema (not)",
            ),
        ];
        for (schema, value, expected) in table {
            assert_eq!(complaints(schema.clone(), value.clone()), [expected], "{schema} on {value}");
        }
    }

    #[test]
    fn what_fits_is_not_complained_about() {
        let table = [
            (json!({"type": "integer"}), json!(1.0)),
            (json!({"type": "number"}), json!(1)),
            (json!({"type": "string", "nullable": true, "enum": ["a"]}), json!(null)),
            (json!({"x-kubernetes-int-or-string": true}), json!("50%")),
            (json!({"x-kubernetes-preserve-unknown-fields": true}), json!([{"any": "thing"}])),
            (json!({"type": "object", "oneOf": [{"required": ["a"]}, {"required": ["b"]}]}), json!({"a": 1})),
            (json!({"type": "integer", "allOf": [{"minimum": 1}, {"maximum": 3}]}), json!(2)),
        ];
        for (schema, value) in table {
            assert_eq!(
                complaints(schema.clone(), value.clone()),
                Vec::<String>::new(),
                "{schema} on {value}"
            );
        }
    }

    #[test]
    fn what_an_update_leaves_alone_is_not_judged_again() {
        let list = json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["n"],
            "items": {"type": "object", "properties": {"n": {"type": "string"}, "v": {"type": "integer", "maximum": 5}}}});
        let spec = json!({"type": "object", "required": ["must"], "properties": {"must": {"type": "string"},
            "size": {"type": "integer", "maximum": 5}, "other": {"type": "string"}, "list": list}});
        let schema = compile(&json!({"type": "object", "properties": {"spec": spec}}), "").unwrap();
        let old = json!({"spec": {"size": 9, "list": [{"n": "a", "v": 9}]}});
        let table = [
            (old.clone(), vec![]),
            (json!({"spec": {"size": 9, "other": "x"}}), vec!["spec.must"]),
            (json!({"spec": {"size": 8, "must": "x"}}), vec!["spec.size"]),
            (json!({"spec": {"must": "x", "list": [{"n": "b", "v": 1}, {"n": "a", "v": 9}]}}), vec![]),
            (json!({"spec": {"must": "x", "list": [{"n": "b", "v": 9}]}}), vec!["spec.list[0].v"]),
        ];
        for (new, paths) in table {
            let errors = schema.validate(&new, Some(&old));
            assert_eq!(errors.iter().map(|error| error.path.as_str()).collect::<Vec<_>>(), paths, "{new}");
        }
    }

    #[test]
    fn paths_lead_through_lists_and_maps() {
        let schema = json!({"type": "object", "additionalProperties": {"type": "array", "items": {"type": "object", "required": ["x"]}}});
        assert_eq!(complaints(schema, json!({"k": [{"x": 1}, {}]})), ["spec.k[1].x: Required value"]);
    }
}
