//! `AdmissionReview`: what an API server asks before it stores an object.

use base64::{Engine, prelude::BASE64_STANDARD};
use capm3_api::ApiKind;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{Malformed, check_kind};
use crate::{
    AdmissionAnswer, Denial,
    kinds::{group_version, text},
};

/// Both versions have the same members.
const VERSIONS: [&str; 2] = ["admission.k8s.io/v1", "admission.k8s.io/v1beta1"];

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Review {
    #[serde(default)]
    api_version: String,
    #[serde(default)]
    kind: String,
    request: Option<Request>,
}

/// What is asked, as far as it matters here.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Request {
    uid: String,
    operation: String,
    sub_resource: Option<String>,
    object: Value,
    old_object: Value,
}

/// The answer to a request.
#[derive(Default)]
pub(super) struct Outcome {
    denial: Option<Denial>,
    warnings: Vec<String>,
    /// Operations of a JSON patch; none if nothing is to be changed.
    patch: Vec<u8>,
}

impl From<Denial> for Outcome {
    fn from(denial: Denial) -> Self {
        Self { denial: Some(denial), ..Self::default() }
    }
}

/// Reads a review, asks, and writes the review that answers it.
pub(super) fn answer(body: &[u8], ask: impl Fn(&Request) -> Outcome) -> Result<Vec<u8>, Malformed> {
    let review: Review = serde_json::from_slice(body).map_err(Malformed::Unreadable)?;
    check_kind("AdmissionReview of admission.k8s.io/v1", &VERSIONS, (&review.kind, &review.api_version))?;
    let request = review.request.filter(|it| !it.uid.is_empty()).ok_or(Malformed::NoRequest)?;
    let outcome = if is_judged(&request) { ask(&request) } else { Outcome::default() };
    let answer = json!({
        "apiVersion": review.api_version,
        "kind": review.kind,
        "response": response(request.uid, outcome),
    });
    serde_json::to_vec(&answer).map_err(Malformed::Unwritable)
}

/// Webhooks are registered for whole objects that are created or updated; whatever else comes passes.
fn is_judged(request: &Request) -> bool {
    let is_whole = request.sub_resource.as_deref().unwrap_or_default().is_empty();
    is_whole && matches!(request.operation.as_str(), "CREATE" | "UPDATE")
}

/// Fills in an object; the answer is a patch.
pub(super) fn fill_in(kind: &ApiKind, request: &Request) -> Outcome {
    if let Err(denial) = check(kind, "object", &request.object) {
        return (*denial).into();
    }
    let mut filled = request.object.clone();
    if let Err(denial) = crate::fill_in(&mut filled) {
        return (*denial).into();
    }
    let patch = json_patch::diff(&request.object, &filled);
    if patch.is_empty() {
        return Outcome::default();
    }
    match serde_json::to_vec(&patch) {
        Ok(patch) => Outcome { patch, ..Outcome::default() },
        Err(error) => Denial::bad_request(format!("the patch cannot be written: {error}")).into(),
    }
}

/// Judges an object.
pub(super) fn validate(kind: &ApiKind, request: &Request) -> Outcome {
    let old = (request.operation == "UPDATE").then_some(&request.old_object);
    let checked = check(kind, "object", &request.object);
    let checked = checked.and_then(|()| old.map_or(Ok(()), |old| check(kind, "oldObject", old)));
    if let Err(denial) = checked {
        return (*denial).into();
    }
    let AdmissionAnswer { denial, warnings } = crate::judge(old, &request.object);
    Outcome { denial, warnings, patch: Vec::new() }
}

/// Whether a member of the request is an object of the kind that the path names.
fn check(kind: &ApiKind, member: &str, object: &Value) -> Result<(), Box<Denial>> {
    let expected = kind.kind;
    if object.is_null() {
        return Err(Box::new(Denial::bad_request(format!("{member}: expected a {expected} but got nil"))));
    }
    let (found, (group, _)) = (text(object, "/kind"), group_version(object));
    if found == expected && group == kind.group {
        return Ok(());
    }
    let found = if found.is_empty() { "something else" } else { found };
    let found = if group.is_empty() { found.to_owned() } else { format!("{found} of {group}") };
    let message = format!("{member}: expected a {expected} of {} but got {found}", kind.group);
    Err(Box::new(Denial::bad_request(message)))
}

fn response(uid: String, outcome: Outcome) -> Value {
    let mut response = Map::new();
    response.insert("uid".to_owned(), uid.into());
    response.insert("allowed".to_owned(), outcome.denial.is_none().into());
    if let Some(denial) = outcome.denial {
        response.insert("status".to_owned(), status(denial));
    }
    if !outcome.patch.is_empty() {
        response.insert("patchType".to_owned(), "JSONPatch".into());
        response.insert("patch".to_owned(), BASE64_STANDARD.encode(outcome.patch).into());
    }
    if !outcome.warnings.is_empty() {
        response.insert("warnings".to_owned(), outcome.warnings.into());
    }
    Value::Object(response)
}

fn status(denial: Denial) -> Value {
    let Denial { code, reason, message, details, .. } = denial;
    let mut status =
        json!({"metadata": {}, "status": "Failure", "message": message, "reason": reason, "code": code});
    if let (Some(members), false) = (status.as_object_mut(), details.is_null()) {
        members.insert("details".to_owned(), details);
    }
    status
}
