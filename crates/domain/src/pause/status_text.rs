//! A host's status as text, in the very form that its operator reads it back.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

/// The status without hardware as compact JSON with sorted keys. Members that the operator's type always has are
/// filled in, those it leaves out when empty are left out, and characters that are special in HTML are escaped.
///
/// ```
/// let text = capm3_domain::pause::status_text(&serde_json::json!({"errorMessage": "a<b", "hardware": {}}));
/// assert!(text.starts_with(r#"{"errorCount":0,"errorMessage":"a\u003cb","goodCredentials":{},"#), "{text}");
/// ```
pub fn status_text(status: &Value) -> String {
    let mut status = status.as_object().cloned().unwrap_or_default();
    status.remove("hardware");
    if status.get("errorType").and_then(Value::as_str) == Some("") {
        status.remove("errorType");
    }
    let operation = json!({"start": null, "end": null});
    fill(
        &mut status,
        &json!({
            "errorCount": 0, "errorMessage": "", "goodCredentials": {}, "triedCredentials": {},
            "operationHistory": {"register": operation, "inspect": operation, "provision": operation,
                "deprovision": operation},
            "operationalStatus": "", "poweredOn": false, "provisioningFailCount": 0,
            "provisioning": {"ID": "", "image": {"url": ""}, "state": ""},
        }),
    );
    escaped(&sorted(&Value::Object(status)).to_string())
}

/// Puts in what is missing, at every depth.
fn fill(target: &mut Map<String, Value>, defaults: &Value) {
    for (key, default) in defaults.as_object().into_iter().flatten() {
        let slot = target.entry(key.clone()).or_insert_with(|| default.clone());
        // Null stands for absent, except where null is what the type writes.
        if slot.is_null() {
            slot.clone_from(default);
        }
        if let Some(inner) = slot.as_object_mut() {
            fill(inner, default);
        }
    }
}

/// Keys in order, whatever order the map keeps.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let members: BTreeMap<_, _> = members.iter().map(|(key, member)| (key, sorted(member))).collect();
            members.into_iter().map(|(key, member)| (key.clone(), member)).collect::<Map<_, _>>().into()
        }
        Value::Array(items) => items.iter().map(sorted).collect(),
        other => other.clone(),
    }
}

/// These characters can only stand inside strings, so they can be replaced in the text as a whole.
fn escaped(text: &str) -> String {
    let special = [
        ('<', "\\u003c"),
        ('>', "\\u003e"),
        ('&', "\\u0026"),
        ('\u{2028}', "\\u2028"),
        ('\u{2029}', "\\u2029"),
    ];
    special.iter().fold(text.to_owned(), |text, (character, escape)| text.replace(*character, escape))
}
