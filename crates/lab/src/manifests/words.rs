//! A server's refusal in the words of one who looks into a file: what was expected, and what is there.

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::Value;

use super::{rules::Code, served::nearest};

/// A field and what is wrong with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Complaint {
    pub field: String,
    pub message: String,
    /// Whether a rule of admission says so, and not the schema.
    pub is_of_admission: bool,
    /// The stable code of that rule.
    pub code: Option<Code>,
}

impl Complaint {
    /// What the server itself says.
    pub fn new(field: impl Into<String>, message: impl Into<String>) -> Self {
        Self { field: field.into(), message: message.into(), is_of_admission: false, code: None }
    }
}

/// Fields that strict decoding does not know, from the server's message.
pub(super) fn unknown_fields(message: &str) -> Vec<String> {
    let fields = message.split("unknown field \"").skip(1);
    fields.filter_map(|rest| rest.split_once('"')).map(|(field, _)| field.to_owned()).collect()
}

/// An unknown field, with those that its parent knows by the schema.
pub(super) fn of_unknown_field(field: &str, schema: Option<&Value>) -> Complaint {
    let (parent, name) = field.rsplit_once('.').unwrap_or(("", field));
    let known = schema.map(|schema| properties(schema, parent)).unwrap_or_default();
    let message = match nearest(name, known.iter().map(String::as_str)) {
        Some(meant) => format!("unknown field; did you mean {meant}?"),
        None if known.is_empty() => "unknown field".to_owned(),
        None => format!("unknown field; expected one of {}", known.join(", ")),
    };
    Complaint::new(field, message)
}

/// Names of the fields at a path of a schema.
fn properties(schema: &Value, path: &str) -> Vec<String> {
    let mut at = schema;
    for part in path.split('.').filter(|part| !part.is_empty()) {
        let (name, index) = part.split_once('[').unwrap_or((part, ""));
        let Some(inner) = at.pointer(&format!("/properties/{name}")) else { return Vec::new() };
        at = inner;
        if !index.is_empty() {
            let Some(items) = at.get("items") else { return Vec::new() };
            at = items;
        }
    }
    at.get("properties").and_then(Value::as_object).map(|p| p.keys().cloned().collect()).unwrap_or_default()
}

/// A cause that the server names, with the value that the document has at the field.
pub(super) fn of_cause(field: &str, message: &str, value: Option<&Value>) -> Complaint {
    let in_body = format!("{field} in body ");
    // Values of maps and lists are written in the syntax of Go.
    let message = message.replace(&in_body, "").replace("map[string]interface {}", "");
    let message = message.replace("[]interface {}", "");
    let expected = if message == "Required value" || message.starts_with("Required value: ") {
        message.replacen("Required value", "required, but missing", 1)
    } else if let Some((got, supported)) =
        message.strip_prefix("Unsupported value: ").and_then(|m| m.split_once(": supported values: "))
    {
        format!("expected one of {supported}, got {got}")
    } else if let Some((got, rest)) = message.strip_prefix("Invalid value: ").and_then(split_value) {
        let got = value.map_or_else(|| got.to_owned(), short);
        format!("{}, got {got}", expectation(rest))
    } else {
        message
    };
    Complaint::new(field, expected)
}

/// Divides `VALUE: COMPLAINT`, where the value may be quoted text with colons.
fn split_value(message: &str) -> Option<(&str, &str)> {
    if !message.starts_with('"') {
        return message.split_once(": ");
    }
    let mut is_escaped = false;
    let end = message.char_indices().skip(1).find_map(|(position, letter)| {
        let ends = letter == '"' && !is_escaped;
        is_escaped = letter == '\\' && !is_escaped;
        ends.then_some(position + 1)
    })?;
    let (value, rest) = message.split_at_checked(end)?;
    Some((value, rest.strip_prefix(": ")?))
}

/// What would have been right, from the words of schema validation.
fn expectation(complaint: &str) -> String {
    // Names are explained with examples and a long pattern, which the words before them say already.
    if let Some((rule, _)) = complaint.split_once(" (e.g. ") {
        return rule.to_owned();
    }
    // `must be of type X: "Y"` names what was found once more.
    if let Some(kind) = complaint.strip_prefix("must be of type ") {
        return format!("expected {}", kind.split_once(": ").map_or(kind, |(kind, _)| kind));
    }
    let table = [
        ("should be less than or equal to ", "expected at most "),
        ("should be greater than or equal to ", "expected at least "),
        ("should be less than ", "expected less than "),
        ("should be greater than ", "expected more than "),
        ("should match ", "expected text that matches "),
        ("should have ", "expected "),
        ("should be ", "expected "),
        ("must be ", "expected "),
    ];
    let found = table
        .into_iter()
        .find_map(|(theirs, ours)| Some(format!("{ours}{}", complaint.strip_prefix(theirs)?)));
    found.unwrap_or_else(|| complaint.to_owned())
}

/// A value in a line.
fn short(value: &Value) -> String {
    match value {
        Value::Array(items) => format!("a list of {}", items.len()),
        Value::Object(members) if members.is_empty() => "an empty object".to_owned(),
        Value::Object(members) => {
            let names: Vec<&str> = members.keys().map(String::as_str).collect();
            format!("an object with {}", names.join(", "))
        }
        scalar => scalar.to_string(),
    }
}

/// What is wrong with the values of a ConfigMap or Secret, which a server refuses without naming the key. The contents
/// of a Secret are not repeated.
pub(super) fn of_values(kind: &str, object: &Value) -> Vec<Complaint> {
    let lists: &[(&str, bool)] = match kind {
        "ConfigMap" => &[("data", false), ("binaryData", true)],
        "Secret" => &[("data", true), ("stringData", false)],
        _ => &[],
    };
    let mut complaints = Vec::new();
    for (list, is_base64) in lists {
        for (key, value) in object.get(list).and_then(Value::as_object).into_iter().flatten() {
            let message = match value {
                Value::Null => continue,
                Value::String(text) if !is_base64 || STANDARD.decode(text.trim()).is_ok() => continue,
                Value::String(_) if kind == "Secret" => "expected base64; plain text goes into stringData",
                Value::String(_) => "expected base64; plain text goes into data",
                _ => "expected text: write the value in quotes",
            };
            complaints.push(Complaint::new(format!("{list}[{key}]"), message));
        }
    }
    complaints
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn causes_say_what_was_expected_and_what_is_there() {
        let table = [
            ("spec.a", "Required value", None, "required, but missing"),
            ("spec.a", "Required value: name or id", None, "required, but missing: name or id"),
            (
                "spec.a",
                "Invalid value: \"string\": spec.a in body must be of type boolean: \"string\"",
                Some(json!("maybe")),
                "expected boolean, got \"maybe\"",
            ),
            (
                "spec.a",
                "Invalid value: \"object\": spec.a in body must be of type string: \"object\"",
                Some(json!({})),
                "expected string, got an empty object",
            ),
            (
                "spec.a",
                "Invalid value: \"object\": spec.a in body must be of type string: \"object\"",
                Some(json!({"name": "b", "key": "c"})),
                "expected string, got an object with name, key",
            ),
            (
                "spec.a",
                "Invalid value: 20000: spec.a in body should be less than or equal to 4096",
                Some(json!(20000)),
                "expected at most 4096, got 20000",
            ),
            (
                "spec.a",
                "Invalid value: 0: spec.a in body should be greater than or equal to 1",
                None,
                "expected at least 1, got 0",
            ),
            (
                "spec.a",
                "Invalid value: 0: spec.a in body should have at least 1 items",
                Some(json!([])),
                "expected at least 1 items, got a list of 0",
            ),
            (
                "spec.a",
                "Invalid value: \"x: \\\"y\": spec.a in body should match '^a$'",
                None,
                "expected text that matches '^a$', got \"x: \\\"y\"",
            ),
            (
                "spec.a",
                "Unsupported value: \"x\": supported values: \"p\", \"q\"",
                None,
                "expected one of \"p\", \"q\", got \"x\"",
            ),
            (
                "metadata.name",
                "Invalid value: \"A\": must be lower case (e.g. 'a', regex used is 'a')",
                Some(json!("A")),
                "must be lower case, got \"A\"",
            ),
            ("spec.a", "Duplicate value: \"x\"", None, "Duplicate value: \"x\""),
            (
                "spec.a[1]",
                "Duplicate value: map[string]interface {}{\"id\":\"eth0\"}",
                None,
                "Duplicate value: {\"id\":\"eth0\"}",
            ),
            (
                "metadata.name",
                "Invalid value: \"A\": a lowercase name",
                Some(json!("A")),
                "a lowercase name, got \"A\"",
            ),
        ];
        for (field, cause, value, expected) in table {
            assert_eq!(of_cause(field, cause, value.as_ref()).message, expected);
        }
    }

    #[test]
    fn unknown_fields_are_reported_with_those_that_are_known() {
        let schema = json!({"properties": {"spec": {"properties": {
            "pools": {"items": {"properties": {"start": {}, "end": {}}}}}}}});
        let message =
            "strict decoding error: unknown field \"spec.pools[0].strat\", unknown field \"spec.colour\"";
        let messages: Vec<String> = unknown_fields(message)
            .iter()
            .map(|field| of_unknown_field(field, Some(&schema)))
            .map(|c| format!("{}: {}", c.field, c.message))
            .collect();
        assert_eq!(
            messages,
            [
                "spec.pools[0].strat: unknown field; did you mean start?",
                "spec.colour: unknown field; expected one of pools",
            ]
        );
        assert_eq!(of_unknown_field("a.b", None).message, "unknown field");
    }
}
