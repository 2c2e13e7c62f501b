//! What an object means: two objects with one meaning are the same to every reader of that version.

use serde_json::{Map, Value};

/// Maps of which every entry counts, also one that is empty.
const MAPS: [&str; 7] =
    ["failureDomains", "indexes", "parameters", "matchLabels", "attributes", "annotations", "capacity"];

/// The value without members that are null, empty text, zero, false, an empty list or an empty object: in one version
/// or the other they cannot be distinguished from absent members. Values of bond parameters are kept as they are.
pub fn of(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            Value::Object(members.iter().filter_map(|(name, it)| member(name, it)).collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(of).collect()),
        other => other.clone(),
    }
}

fn member(name: &str, value: &Value) -> Option<(String, Value)> {
    let meant = match (name, value) {
        ("value" | "parameters", value) if name == "value" || value.is_object() => value.clone(),
        (_, Value::Object(entries)) if MAPS.contains(&name) => {
            Value::Object(entries.iter().map(|(key, entry)| (key.clone(), of(entry))).collect::<Map<_, _>>())
        }
        (_, value) => of(value),
    };
    (!is_nothing(&meant)).then(|| (name.to_owned(), meant))
}

fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::Number(number) => number.as_i64() == Some(0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        Value::Bool(true) => false,
    }
}

/// Changes every object in the value, innermost first.
pub fn each_object(value: &mut Value, change: &impl Fn(&mut Map<String, Value>)) {
    match value {
        Value::Object(members) => {
            members.values_mut().for_each(|member| each_object(member, change));
            change(members);
        }
        Value::Array(items) => items.iter_mut().for_each(|item| each_object(item, change)),
        _ => {}
    }
}

/// Sorts a list of objects by members.
pub fn sort(list: Option<&mut Value>, keys: &[&str]) {
    if let Some(Value::Array(items)) = list {
        items.sort_by_key(|item| {
            let key = |key: &&str| match &item[*key] {
                Value::Number(number) => format!("{:012}", number.as_i64().unwrap_or_default()),
                Value::String(text) => text.clone(),
                _ => String::new(),
            };
            keys.iter().map(key).collect::<Vec<String>>()
        });
    }
}
