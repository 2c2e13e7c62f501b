//! `ConversionReview`: objects in another version.
//!
//! An API server sends all objects of a list at once, so one object after the other is read and written: the memory
//! that it takes beside the two texts is that of one object.

use serde::{Deserialize, Serialize};
use serde_json::{Value, value::RawValue};

use super::{Malformed, check_kind};
use crate::{conversion, kinds::text};

/// Both versions have the same members.
const VERSIONS: [&str; 2] = ["apiextensions.k8s.io/v1", "apiextensions.k8s.io/v1beta1"];

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Review<'a> {
    #[serde(default)]
    api_version: String,
    #[serde(default)]
    kind: String,
    #[serde(borrow)]
    request: Option<Request<'a>>,
}

#[derive(Deserialize)]
struct Request<'a> {
    #[serde(default)]
    uid: String,
    #[serde(default, rename = "desiredAPIVersion")]
    desired: String,
    #[serde(borrow)]
    objects: Option<Vec<&'a RawValue>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Answer {
    api_version: String,
    kind: String,
    response: Response,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Response {
    uid: String,
    converted_objects: Vec<Box<RawValue>>,
    result: Outcome,
}

#[derive(Serialize)]
struct Outcome {
    metadata: serde_json::Map<String, Value>,
    status: &'static str,
    #[serde(skip_serializing_if = "String::is_empty")]
    message: String,
}

/// Converts every object of a review. The first one that cannot be converted fails the review, which names it.
pub(super) fn answer(body: &[u8]) -> Result<Vec<u8>, Malformed> {
    let review: Review<'_> = serde_json::from_slice(body).map_err(Malformed::Unreadable)?;
    check_kind(
        "ConversionReview of apiextensions.k8s.io/v1",
        &VERSIONS,
        (&review.kind, &review.api_version),
    )?;
    let request = review.request.filter(|it| !it.uid.is_empty()).ok_or(Malformed::NoRequest)?;
    let objects = request.objects.unwrap_or_default();
    let converted: Result<Vec<_>, _> = objects.iter().map(|it| convert(it, &request.desired)).collect();
    let (converted_objects, status, message) = match converted {
        Ok(objects) => (objects, "Success", String::new()),
        Err(message) => (Vec::new(), "Failure", message),
    };
    let result = Outcome { metadata: serde_json::Map::new(), status, message };
    let response = Response { uid: request.uid, converted_objects, result };
    let answer = Answer { api_version: review.api_version, kind: review.kind, response };
    serde_json::to_vec(&answer).map_err(Malformed::Unwritable)
}

fn convert(object: &RawValue, desired: &str) -> Result<Box<RawValue>, String> {
    let object: Value =
        serde_json::from_str(object.get()).map_err(|error| format!("an object cannot be read: {error}"))?;
    let name = name(&object);
    let named = |problem: String| format!("{name}: {problem}");
    let converted = conversion::convert(object, desired).map_err(named)?;
    serde_json::value::to_raw_value(&converted).map_err(|error| named(error.to_string()))
}

/// An object as messages name it.
fn name(object: &Value) -> String {
    let (kind, namespace) = (text(object, "/kind"), text(object, "/metadata/namespace"));
    let kind = if kind.is_empty() { "object" } else { kind };
    match (namespace, text(object, "/metadata/name")) {
        (_, "") => format!("{kind} without a name"),
        ("", name) => format!("{kind} {name}"),
        (namespace, name) => format!("{kind} {namespace}/{name}"),
    }
}
