//! A document as the object that the controllers read.

use capm3_api::{conversion, metadata::group_of, v1beta2};
use capm3_engine::{
    Object,
    manifests::{Document, Problem},
};
use serde_json::Value;

/// The object in the version in which the controllers read it, with the namespace that it lives in.
pub fn object<K: Object>(document: &Document) -> Result<K, Problem> {
    let value = value(document)?;
    K::deserialize(&value).map_err(|error| {
        let fails = |value: &Value| K::deserialize(value).err().map(|e| e.to_string());
        document.problem(&culprit(&value, &fails), format!("cannot be read: {error}"))
    })
}

/// The same as JSON.
pub fn value(document: &Document) -> Result<Value, Problem> {
    let mut value = stored(document)?;
    if let Some(metadata) = value.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.insert("namespace".to_owned(), Value::String(document.key().namespace));
    }
    Ok(value)
}

/// Whether a document is of a kind, in any version.
pub fn is_of<K: Object>(document: &Document) -> bool {
    document.kind() == K::kind(&()) && group_of(document.api_version()) == K::group(&())
}

/// The path of the deepest value without which something else or nothing is wrong with the whole.
fn culprit(whole: &Value, fails: &dyn Fn(&Value) -> Option<String>) -> String {
    let wrong = fails(whole);
    let (mut path, mut pointer) = (String::new(), String::new());
    while let Some((step, token)) = whole.pointer(&pointer).and_then(|at| {
        steps(at).into_iter().find(|(_, token)| fails(&without(whole, &pointer, token)) != wrong)
    }) {
        path.push_str(if path.is_empty() { step.trim_start_matches('.') } else { &step });
        pointer = format!("{pointer}/{token}");
    }
    path
}

/// The members or items of a value, each as a step of a path and as a token of a pointer.
fn steps(value: &Value) -> Vec<(String, String)> {
    let escaped = |key: &String| key.replace('~', "~0").replace('/', "~1");
    match value {
        Value::Object(members) => members.keys().map(|key| (format!(".{key}"), escaped(key))).collect(),
        Value::Array(items) => (0..items.len()).map(|i| (format!("[{i}]"), i.to_string())).collect(),
        _ => Vec::new(),
    }
}

fn without(whole: &Value, pointer: &str, token: &str) -> Value {
    let mut whole = whole.clone();
    match whole.pointer_mut(pointer) {
        Some(Value::Object(members)) => {
            members.remove(&token.replace("~1", "/").replace("~0", "~"));
        }
        Some(Value::Array(items)) => {
            token.parse().ok().filter(|index| *index < items.len()).map(|index: usize| items.remove(index));
        }
        _ => {}
    }
    whole
}

/// What is wrong with a document whose object another one has brought already.
pub fn twice(document: &Document, first: &Document) -> Problem {
    let place = format!("{}:{}", first.file, first.line());
    document.problem("", format!("is defined twice, also at {place}; remove one of them"))
}

fn stored(document: &Document) -> Result<Value, Problem> {
    let value = document.value.clone();
    if group_of(document.api_version()) != v1beta2::GROUP {
        return Ok(value);
    }
    let converted = conversion::convert(value, v1beta2::API_VERSION);
    converted.map_err(|error| {
        document.problem("apiVersion", format!("{error}; `capm3 migrate` brings older documents to v1beta2"))
    })
}
