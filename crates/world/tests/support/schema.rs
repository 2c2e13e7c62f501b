//! Judges objects by the schemas of their CRDs: what a real API server would refuse or drop.

use serde_json::{Map, Value};

/// Every complaint about every object of a kind.
pub fn complaints(crd: &Value, objects: &[Value]) -> Vec<String> {
    let schema = &crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
    let mut found = Vec::new();
    for object in objects {
        let mut object = object.clone();
        object["metadata"] = Value::Object(Map::new());
        judge(schema, &object, crd["spec"]["names"]["kind"].as_str().unwrap(), &mut found);
    }
    found
}

fn judge(schema: &Value, value: &Value, path: &str, found: &mut Vec<String>) {
    let mut complain = |what: String| found.push(format!("{path}: {what}"));
    let fits = match schema["type"].as_str() {
        Some("object") => value.is_object(),
        Some("array") => value.is_array(),
        Some("string") => value.is_string(),
        Some("integer") => value.is_i64(),
        Some("number") => value.is_number(),
        Some("boolean") => value.is_boolean(),
        _ => true,
    };
    if !fits {
        return complain(format!("{value} is not a {}", schema["type"]));
    }
    if schema["enum"].as_array().is_some_and(|allowed| !allowed.contains(value)) {
        complain(format!("{value} is not among {}", schema["enum"]));
    }
    let size = match value {
        Value::Object(map) => Some((map.len(), "minProperties", "maxProperties")),
        Value::Array(list) => Some((list.len(), "minItems", "maxItems")),
        Value::String(text) => Some((text.chars().count(), "minLength", "maxLength")),
        _ => None,
    };
    if let Some((size, least, most)) = size {
        let bound = |word: &str| schema[word].as_u64().map(|b| b as usize);
        if bound(least).is_some_and(|b| size < b) || bound(most).is_some_and(|b| size > b) {
            complain(format!("{size} is out of bounds"));
        }
    }
    if let (Some(pattern), Some(text)) = (schema["pattern"].as_str(), value.as_str())
        && !regex::Regex::new(pattern).unwrap().is_match(text)
    {
        complain(format!("{text} does not match {pattern}"));
    }
    if let Some(map) = value.as_object() {
        judge_members(schema, map, path, found);
    }
    for (at, item) in value.as_array().into_iter().flatten().enumerate() {
        judge(&schema["items"], item, &format!("{path}[{at}]"), found);
    }
}

fn judge_members(schema: &Value, map: &Map<String, Value>, path: &str, found: &mut Vec<String>) {
    for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        if !map.contains_key(name) {
            found.push(format!("{path}: {name} is missing"));
        }
    }
    for (name, value) in map {
        let inner = format!("{path}.{name}");
        let values = &schema["additionalProperties"];
        match schema["properties"].get(name) {
            Some(known) => judge(known, value, &inner, found),
            None if values.is_object() => judge(values, value, &inner, found),
            None if schema["x-kubernetes-preserve-unknown-fields"] == true
                || path.matches('.').count() == 0 && name == "metadata" => {}
            None => found.push(format!("{inner}: would be dropped")),
        }
    }
}
