//! Values of a document as cloud-init's Python takes them: what counts as empty, and how a value reads as
//! text.

use serde_json::Value;

/// Whether Python takes the value for true: null, false, 0, and empty texts, lists and objects are not.
pub(super) fn truthy(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(truth) => *truth,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(members) => !members.is_empty(),
    }
}

/// The value as Python's `str()` writes it.
pub(super) fn text(value: &Value) -> String {
    match value {
        Value::Null => "None".to_owned(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        Value::Array(items) => format!("[{}]", items.iter().map(quoted).collect::<Vec<_>>().join(", ")),
        Value::Object(members) => {
            let members: Vec<_> = members
                .iter()
                .map(|(key, member)| format!("{}: {}", quoted(&key.as_str().into()), quoted(member)))
                .collect();
            format!("{{{}}}", members.join(", "))
        }
    }
}

/// The value inside a list or object, where texts have quotes.
fn quoted(value: &Value) -> String {
    match value {
        Value::String(text) if text.contains('\'') => format!("\"{text}\""),
        Value::String(text) => format!("'{text}'"),
        other => text(other),
    }
}

/// Text as a number where it has digits only, the form in which files are read back.
pub(super) fn digits(text: &str) -> Value {
    let number = text.parse::<u64>().ok().filter(|_| text.bytes().all(|byte| byte.is_ascii_digit()));
    number.map_or_else(|| Value::String(text.to_owned()), Value::from)
}

/// A value as [`digits`] of its text.
pub(super) fn plain(value: &Value) -> Value {
    digits(&text(value))
}
