//! What a conversion kept in an annotation of an object that was read in v1beta1, because v1beta1 cannot show it.
//!
//! The provider's kinds get it back, by the rule of the conversion itself: what the reader changed stays. The annotation
//! goes, for in v1beta2 nothing reads it. Where it cannot be read, or where a document says that it is of v1beta2 and the
//! annotation holds more, the user must decide; then it stays.
//!
//! The walk along the schema comes first. Converting the whole document instead would report no single change, and would take a
//! misspelt field for a change that was made in v1beta1.

use capm3_api::{conversion, v1beta2, vocabulary::annotation::CONVERSION_DATA};
use serde_json::Value;

use super::{draft::Draft, path::Path};

const KEPT: &str = "restored from the conversion annotation, because v1beta1 lacks it";
const READ: &str = "its fields are in the document already, and v1beta2 does not use it";
const WAY_OUT: &str =
    "read the object from its server as v1beta2, or remove the annotation and what it holds";

/// Gives one of the provider's kinds, which has the form of v1beta2 by now, what the annotation kept of it. Says whether
/// something came back.
pub(super) fn restore(draft: &mut Draft<'_>) -> bool {
    let at = annotation();
    let Some(text) = at.find(&draft.value).cloned() else { return false };
    let read = stored(draft, &text)
        .and_then(|_| conversion::restore(draft.value.clone()).map_err(|error| error.to_string()));
    let restored = match read {
        Ok(restored) => restored,
        Err(why) => {
            draft.error(&at, why, Some(WAY_OUT.to_owned()));
            return false;
        }
    };
    let differences = differences(&draft.value, &restored);
    if draft.written("apiVersion") == v1beta2::API_VERSION && !differences.is_empty() {
        let paths: Vec<String> = differences.iter().map(|(path, _)| path.to_string()).collect();
        let message = format!(
            "the document says that it is of v1beta2, but the annotation of a conversion says otherwise of {}",
            paths.join(", ")
        );
        let proposal = "apiVersion of v1beta1 if it was read so, or remove the annotation";
        draft.error(&at, message, Some(proposal.to_owned()));
        return false;
    }
    let is_changed = !differences.is_empty();
    for (path, value) in differences {
        apply(draft, &path, value);
    }
    forget(draft, &at);
    is_changed
}

/// Checks the annotation of a kind of Cluster API, whose conversion is not ours: it is removed if the document
/// has every field that it holds.
pub(super) fn compare(draft: &mut Draft<'_>) {
    let at = annotation();
    let Some(text) = at.find(&draft.value).cloned() else { return };
    let stored = match stored(draft, &text) {
        Ok(stored) => stored,
        Err(why) => return draft.error(&at, why, Some(WAY_OUT.to_owned())),
    };
    let mut missing = Vec::new();
    if let Some(spec) = stored.get("spec") {
        not_in_document(draft.get("spec"), spec, &Path::of("spec"), &mut missing);
    }
    if missing.is_empty() {
        return forget(draft, &at);
    }
    let message =
        format!("has fields that are not in the document and are not restored: {}", missing.join(", "));
    draft.error(&at, message, Some(WAY_OUT.to_owned()));
}

fn annotation() -> Path {
    Path::of("metadata.annotations").key(CONVERSION_DATA)
}

/// The stored object, or why it is unknown.
fn stored(draft: &Draft<'_>, text: &Value) -> Result<Value, String> {
    let parsed = text.as_str().and_then(|text| serde_json::from_str::<Value>(text).ok());
    let stored = parsed.filter(Value::is_object).ok_or("is not a JSON object")?;
    let version = |text: &str| text.rsplit('/').next().unwrap_or_default().to_owned();
    let of = version(stored.get("apiVersion").and_then(Value::as_str).unwrap_or(v1beta2::API_VERSION));
    let read_as = version(draft.written("apiVersion"));
    if of != v1beta2::VERSION {
        return Err(format!("holds an object of {of}, not of v1beta2"));
    }
    if read_as.starts_with("v1alpha") {
        return Err(format!("was written for a reader of {read_as}, when v1beta2 was not stored yet"));
    }
    Ok(stored)
}

fn forget(draft: &mut Draft<'_>, at: &Path) {
    draft.remove(at, READ);
    draft.drop_empty(&Path::of("metadata.annotations"));
}

fn apply(draft: &mut Draft<'_>, path: &Path, value: Option<Value>) {
    match (value, path.find(&draft.value)) {
        (Some(value), Some(_)) => draft.replace(path, value, KEPT),
        (Some(value), None) => draft.add(path, value, KEPT),
        (None, _) => {
            draft.remove(path, KEPT);
        }
    }
}

/// Where two objects differ below their specs, and what the second one has there.
fn differences(before: &Value, after: &Value) -> Vec<(Path, Option<Value>)> {
    let mut found = Vec::new();
    let spec = Path::of("spec");
    differ(before.get("spec"), after.get("spec"), &spec, &mut found);
    found
}

fn differ(
    before: Option<&Value>,
    after: Option<&Value>,
    path: &Path,
    found: &mut Vec<(Path, Option<Value>)>,
) {
    match (before, after) {
        _ if before == after => {}
        (Some(Value::Object(old)), Some(Value::Object(new))) => {
            for key in old.keys().chain(new.keys().filter(|key| !old.contains_key(*key))) {
                differ(old.get(key), new.get(key), &path.key(key), found);
            }
        }
        (Some(Value::Array(old)), Some(Value::Array(new))) if old.len() == new.len() => {
            for (index, (old, new)) in old.iter().zip(new).enumerate() {
                differ(Some(old), Some(new), &path.item(index), found);
            }
        }
        _ => found.push((path.clone(), after.cloned())),
    }
}

/// Fields of the stored object that are not in the document; values that mean "not set" do not count.
fn not_in_document(written: Option<&Value>, stored: &Value, path: &Path, missing: &mut Vec<String>) {
    match (written, stored) {
        (_, Value::Null | Value::Bool(false)) => {}
        (None, Value::String(text)) if text.is_empty() => {}
        (None, Value::Number(number)) if number.as_i64() == Some(0) => {}
        (None, Value::Array(items)) if items.is_empty() => {}
        (None | Some(Value::Object(_)), Value::Object(map)) => {
            for (key, stored) in map {
                not_in_document(
                    written.and_then(|written| written.get(key)),
                    stored,
                    &path.key(key),
                    missing,
                );
            }
        }
        (Some(Value::Array(written)), Value::Array(items)) if written.len() == items.len() => {
            for (index, (written, item)) in written.iter().zip(items).enumerate() {
                not_in_document(Some(written), item, &path.item(index), missing);
            }
        }
        (None, _) | (_, Value::Array(_)) => missing.push(path.to_string()),
        _ => {}
    }
}

#[cfg(test)]
#[path = "kept_tests.rs"]
mod tests;
