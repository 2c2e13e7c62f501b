//! One walk that brings an object into the form its schema describes: unknown fields go, nulls that are not
//! allowed go, defaults come where their parent exists. Never fails: what has the wrong type is left for `validate`.

use serde_json::{Map, Value};

use super::{Additional, Schema, is_type_or_object_meta, path::Path};

/// Normalises a whole object; unknown fields are listed in `unknown` if it is given.
pub(super) fn normalise(schema: &Schema, object: &mut Value, mut unknown: Option<&mut Vec<String>>) {
    if let Value::Object(fields) = object {
        walk_object(schema, fields, &Path::Root, true, &mut unknown);
    }
}

type Unknown<'u> = Option<&'u mut Vec<String>>;

fn walk(schema: &Schema, value: &mut Value, path: &Path<'_>, unknown: &mut Unknown<'_>) {
    match value {
        Value::Object(fields) => walk_object(schema, fields, path, schema.embedded, unknown),
        Value::Array(items) => {
            let Some(schema) = &schema.items else { return };
            for (index, item) in items.iter_mut().enumerate() {
                if item.is_null()
                    && !schema.nullable
                    && let Some(default) = &schema.default
                {
                    *item = default.clone();
                }
                walk(schema, item, &path.index(index), unknown);
            }
        }
        _ => {}
    }
}

fn walk_object(
    schema: &Schema,
    fields: &mut Map<String, Value>,
    path: &Path<'_>,
    is_object: bool,
    unknown: &mut Unknown<'_>,
) {
    fields.retain(|name, value| {
        if is_object && is_type_or_object_meta(name) {
            return true;
        }
        match schema.child(name) {
            Child::Known(child) => !value.is_null() || child.nullable,
            Child::Free => true,
            Child::Unknown => {
                if let Some(unknown) = unknown {
                    unknown.push(path.field(name).text());
                }
                false
            }
        }
    });
    for (name, child) in &schema.properties {
        if let Some(default) = &child.default
            && !(is_object && is_type_or_object_meta(name))
            && !fields.contains_key(name)
        {
            fields.insert(name.clone(), default.clone());
        }
    }
    for (name, value) in fields.iter_mut() {
        if is_object && is_type_or_object_meta(name) {
            continue;
        }
        if let Child::Known(child) = schema.child(name) {
            walk(child, value, &path.field(name), unknown);
        }
    }
}

/// What a schema says about one field.
pub(super) enum Child<'a> {
    Known(&'a Schema),
    /// Allowed without a schema.
    Free,
    Unknown,
}

impl Schema {
    pub(super) fn child(&self, name: &str) -> Child<'_> {
        if let Some(child) = self.properties.get(name) {
            return Child::Known(child);
        }
        match &self.additional {
            Additional::Schema(child) => Child::Known(child),
            Additional::Any => Child::Free,
            Additional::Unspecified if self.preserve_unknown => Child::Free,
            Additional::Unspecified => Child::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::compile;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    fn schema() -> Value {
        json!({"type": "object", "properties": {
            "spec": {"type": "object", "properties": {
                "size": {"type": "integer", "default": 3},
                "maybe": {"type": "string", "nullable": true, "default": "d"},
                "plain": {"type": "string"},
                "nested": {"type": "object", "properties": {"on": {"type": "boolean", "default": true}}},
                "filled": {"type": "object", "default": {}, "properties": {"x": {"type": "string", "default": "y"}}},
                "list": {"type": "array", "items": {"type": "object", "properties": {"a": {"type": "string", "default": "b"}}}},
                "map": {"type": "object", "additionalProperties": {"type": "object", "properties": {"v": {"type": "string"}}}},
                "open": {"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {
                    "known": {"type": "object", "properties": {"k": {"type": "string"}}}}},
                "embedded": {"type": "object", "x-kubernetes-embedded-resource": true, "properties": {}},
            }},
        }})
    }

    fn normalised(mut object: Value) -> Value {
        compile(&schema(), "").unwrap().normalise(&mut object);
        object
    }

    #[test]
    fn unknown_fields_are_pruned_and_defaults_come_where_the_parent_exists() {
        let table = [
            (json!({}), json!({})),
            (json!({"spec": {}}), json!({"spec": {"size": 3, "maybe": "d", "filled": {"x": "y"}}})),
            (
                json!({"spec": {"size": null, "maybe": null, "plain": null, "bogus": 1, "nested": {}}, "top": 1}),
                json!({"spec": {"size": 3, "maybe": null, "nested": {"on": true}, "filled": {"x": "y"}}}),
            ),
            (
                json!({"spec": {"size": 1, "maybe": "m", "filled": {"x": "z"}, "list": [{}, {"q": 1}], "map": {"k": {"v": "1", "w": 2}}}}),
                json!({"spec": {"size": 1, "maybe": "m", "filled": {"x": "z"}, "list": [{"a": "b"}, {"a": "b"}], "map": {"k": {"v": "1"}}}}),
            ),
            (
                json!({"spec": {"size": 1, "maybe": "m", "filled": {"x": "z"}, "open": {"any": {"thing": null}, "known": {"k": "1", "l": 2}}}}),
                json!({"spec": {"size": 1, "maybe": "m", "filled": {"x": "z"}, "open": {"any": {"thing": null}, "known": {"k": "1"}}}}),
            ),
            (
                json!({"spec": {"size": 1, "maybe": "m", "filled": {"x": "z"}, "embedded": {"apiVersion": "v1", "kind": "K", "metadata": {"name": "n"}, "spec": 1}}}),
                json!({"spec": {"size": 1, "maybe": "m", "filled": {"x": "z"}, "embedded": {"apiVersion": "v1", "kind": "K", "metadata": {"name": "n"}}}}),
            ),
        ];
        for (object, expected) in table {
            assert_eq!(normalised(object.clone()), expected, "{object}");
        }
    }

    #[test]
    fn type_and_object_metadata_are_never_pruned_from_the_root() {
        let object = json!({"apiVersion": "v1", "kind": "K", "metadata": {"name": "n"}});
        assert_eq!(normalised(object.clone()), object);
    }

    #[test]
    fn a_strict_walk_names_every_unknown_field() {
        let mut object = json!({"spec": {"bogus": 1, "list": [{"q": 1}]}, "top": 1});
        let unknown = compile(&schema(), "").unwrap().normalise_strictly(&mut object);
        assert_eq!(unknown, ["top", "spec.bogus", "spec.list[0].q"]);
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i32>().prop_map(Value::from),
            "[a-z]{0,3}".prop_map(Value::from)
        ];
        let key = proptest::sample::select(vec![
            "spec", "size", "maybe", "nested", "on", "filled", "x", "list", "a", "map", "open", "known", "k",
            "z",
        ]);
        leaf.prop_recursive(4, 40, 4, move |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
                proptest::collection::btree_map(key.clone().prop_map(str::to_owned), inner, 0..4)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn normalising_twice_is_normalising_once(spec in any_json()) {
            let once = normalised(json!({"spec": spec}));
            prop_assert_eq!(normalised(once.clone()), once);
        }
    }
}
