//! What the schema of a version fills in, as an API server does when it reads an object from its storage.

use serde_json::{Map, Value};

/// Fills in the defaults of a schema; what is of another type than the schema says stays as it is.
pub(super) fn fill_in(value: &mut Value, schema: &Value) {
    match value {
        Value::Object(members) => fill_in_members(members, schema),
        Value::Array(items) => {
            let Some(of_items) = schema.get("items") else { return };
            items.iter_mut().for_each(|item| fill_in(item, of_items));
        }
        _ => {}
    }
}

fn fill_in_members(members: &mut Map<String, Value>, schema: &Value) {
    if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
        for (name, schema) in properties {
            if let Some(default) = schema.get("default")
                && members.get(name).is_none_or(Value::is_null)
            {
                members.insert(name.clone(), default.clone());
            }
            if let Some(member) = members.get_mut(name) {
                fill_in(member, schema);
            }
        }
    } else if let Some(schema) = schema.get("additionalProperties") {
        members.values_mut().for_each(|member| fill_in(member, schema));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn absent_members_are_filled_in_at_every_depth_and_given_ones_stay() {
        let item = json!({"properties": {"step": {"default": 1}, "deep": {"properties": {"kind": {"default": "IPPool"}}}}});
        let schema = json!({"properties": {"list": {"items": item}, "map": {"additionalProperties": item}}});
        let mut object = json!({
            "list": [{"step": 5}, {"step": null, "deep": {}}, "odd"],
            "map": {"a": {"deep": {"kind": "X"}}},
        });
        fill_in(&mut object, &schema);
        assert_eq!(
            object,
            json!({
                "list": [{"step": 5}, {"step": 1, "deep": {"kind": "IPPool"}}, "odd"],
                "map": {"a": {"deep": {"kind": "X"}, "step": 1}},
            })
        );
    }
}
