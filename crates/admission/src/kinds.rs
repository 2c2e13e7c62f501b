//! Which objects are the provider's, and under which names its webhooks are registered.

use capm3_api::{ipam, v1beta2};
use serde_json::Value;

/// The text of a member; empty if there is none.
pub(crate) fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// Group and version of an object.
pub(crate) fn group_version(object: &Value) -> (&str, &str) {
    text(object, "/apiVersion").split_once('/').unwrap_or_default()
}

/// Whether objects of this group are judged here.
pub fn is_ours(group: &str) -> bool {
    group == v1beta2::GROUP || group == ipam::GROUP
}

/// The name under which the validating webhook of a kind is registered; refusals carry it.
pub fn validator_name(group: &str, kind: &str) -> String {
    format!("validation.{}.{group}", kind.to_lowercase())
}

/// The name under which the defaulting webhook of a kind is registered.
pub fn defaulter_name(group: &str, kind: &str) -> String {
    format!("default.{}.{group}", kind.to_lowercase())
}
