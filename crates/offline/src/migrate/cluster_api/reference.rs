//! References, which v1beta2 gives by group and kind instead of by version.

use serde_json::{Value, json};

use super::super::{draft::Draft, path::Path};

/// Members of a reference that v1beta2 does not have.
const UNUSED: [&str; 3] = ["fieldPath", "resourceVersion", "uid"];

/// `apiVersion: group/version` becomes `apiGroup: group`.
pub(super) fn by_group(draft: &mut Draft<'_>, path: &Path) {
    let Some(Value::String(version)) = path.key("apiVersion").find(&draft.value).cloned() else {
        return within_namespace(draft, path);
    };
    let group = version.split_once('/').map(|(group, _)| group).unwrap_or_default().to_owned();
    let (old, new) = (path.key("apiVersion"), path.key("apiGroup"));
    match new.find(&draft.value).cloned() {
        Some(given) if given == group.as_str() => {
            draft.remove(&old, "apiGroup says it");
        }
        Some(given) => {
            let message = format!("apiVersion is of group {group}, but apiGroup is {given}");
            draft.error(&old, message, Some("keep apiGroup alone".to_owned()));
        }
        None => {
            draft.note(
                &old,
                format!("apiVersion: {version}"),
                format!("apiGroup: {group}"),
                "references are by group in v1beta2",
            );
            draft.shift(&old, &new);
            if let Some(value) = new.find_mut(&mut draft.value) {
                *value = json!(group);
            }
        }
    }
    within_namespace(draft, path);
}

/// A reference to a template keeps its version, which must be one that is served.
pub(super) fn to_template(draft: &mut Draft<'_>, path: &Path) {
    let version = path.key("apiVersion");
    if version.find(&draft.value).is_some_and(|given| given == "infrastructure.cluster.x-k8s.io/v1beta1") {
        draft.replace(
            &version,
            json!("infrastructure.cluster.x-k8s.io/v1beta2"),
            "the version that is stored",
        );
    }
    within_namespace(draft, path);
}

/// A reference of v1beta2 is within the namespace of its object.
fn within_namespace(draft: &mut Draft<'_>, path: &Path) {
    let at = path.key("namespace");
    let own = draft.text("metadata.namespace").to_owned();
    match at.find(&draft.value).and_then(Value::as_str).map(ToOwned::to_owned) {
        Some(other) if !own.is_empty() && other != own => {
            let message = format!(
                "refers to namespace {other}, but the object is in {own}; v1beta2 does not support that"
            );
            draft.error(
                &at,
                message,
                Some(format!("move one of the two, then leave namespace: {other} out")),
            );
        }
        Some(_) => {
            draft.remove(&at, "references are within the namespace of their object in v1beta2");
        }
        None => {}
    }
    for member in UNUSED {
        draft.remove(&path.key(member), "not a part of a reference in v1beta2");
    }
}
