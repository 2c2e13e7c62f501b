//! What the server itself does to a body before it is judged: type checks, scope, and the habits of single kinds.

use serde_json::{Value, json};

use super::Place;
use crate::{
    meta, openapi,
    resource::Special,
    status::{ApiError, ApiResult},
};

/// The body must be of the kind and version its path names. Built-in kinds may leave both out.
pub(crate) fn check_type(place: &Place, object: &mut Value) -> ApiResult<()> {
    let Some(fields) = object.as_object_mut() else {
        return Err(ApiError::bad_request("the request body must be a JSON object"));
    };
    let (kind, version) = (&place.resource.kind, &place.version.api_version);
    if !place.resource.is_custom() {
        for (field, value) in [("apiVersion", version), ("kind", kind)] {
            if fields.get(field).is_none_or(|found| found.as_str().is_some_and(str::is_empty)) {
                fields.insert(field.to_owned(), json!(value));
            }
        }
    }
    let found = |field: &str| fields.get(field).and_then(Value::as_str).unwrap_or_default();
    if found("kind").is_empty() {
        return Err(ApiError::bad_request("Object 'Kind' is missing in the request body"));
    }
    if found("apiVersion") != version {
        let message = format!(
            "the API version in the data ({}) does not match the expected API version ({version})",
            found("apiVersion")
        );
        return Err(ApiError::bad_request(message));
    }
    if found("kind") != kind {
        let message =
            format!("{} in version {:?} cannot be handled as a {kind}", found("kind"), place.version.name);
        return Err(ApiError::bad_request(message));
    }
    Ok(())
}

/// The namespace comes from the path; a different one in the body is a mistake.
pub(super) fn scope(place: &Place, object: &mut Value) -> ApiResult<()> {
    if !place.resource.namespaced {
        meta::remove(object, "namespace");
        return Ok(());
    }
    let found = meta::namespace(object);
    if !found.is_empty() && found != &*place.namespace {
        return Err(ApiError::bad_request(
            "the namespace of the provided object does not match the namespace sent on the request",
        ));
    }
    meta::set(object, "namespace", &*place.namespace);
    Ok(())
}

/// Fields of `metadata` that do not exist.
pub(super) fn unknown_metadata(object: &Value) -> Vec<String> {
    let fields = meta::of(object).into_iter().flatten();
    let unknown = fields.filter(|(name, _)| !openapi::is_metadata_field(name));
    unknown.map(|(name, _)| format!("metadata.{name}")).collect()
}

/// Takes fields away that a built-in kind does not have, as far as its fields are known, and gives their names.
pub(super) fn drop_unknown(place: &Place, object: &mut Value) -> Vec<String> {
    let group = meta::group_of(&place.version.api_version);
    let (Some(known), Some(fields)) =
        (openapi::known_fields(group, &place.resource.kind), object.as_object_mut())
    else {
        return Vec::new();
    };
    let is_known = |name: &str| matches!(name, "apiVersion" | "kind" | "metadata") || known.contains(&name);
    let unknown: Vec<String> = fields.keys().filter(|name| !is_known(name)).cloned().collect();
    fields.retain(|name, _| is_known(name));
    unknown
}

/// Whether a create keeps the status of the body.
pub(super) fn drops_status_on_create(place: &Place) -> bool {
    place.version.has_status && place.resource.special != Special::Node
}
