//! Patches: takes a patch document and an object, gives the patched object. Whether the result may be stored is
//! decided by the update rules.

use std::collections::BTreeMap;

use json_patch::PatchOperation;
use serde_json::Value;

use crate::{
    decode::{self, Decoded},
    depth::{self, MAX_DEPTH},
    negotiate::{Format, PatchType},
    resource::Resource,
    status::{ApiError, ApiResult},
    strategic,
};

const FOR_BUILTINS: &str =
    "application/json-patch+json, application/merge-patch+json, application/strategic-merge-patch+json";
const FOR_CUSTOM: &str = "application/json-patch+json, application/merge-patch+json";

/// Operations in one JSON patch, as in kube-apiserver.
const MAX_OPERATIONS: usize = 10_000;
/// What the copies of one JSON patch may add up to.
const COPIED_BYTES: usize = 3 * 1024 * 1024;

/// A patch that was understood.
#[derive(Debug)]
pub(crate) enum Patch {
    Json(json_patch::Patch),
    Merge(Value),
    /// With the kind whose lists it knows how to merge.
    Strategic(String, Value),
}

impl Patch {
    /// Reads a patch body of the given type for a resource. Returns also the warnings for its caller.
    pub(crate) fn parse(
        kind: Option<PatchType>,
        resource: &Resource,
        body: &[u8],
    ) -> ApiResult<(Self, Vec<String>)> {
        let accepted = if resource.is_custom() { FOR_CUSTOM } else { FOR_BUILTINS };
        let Some(kind @ (PatchType::Json | PatchType::Merge | PatchType::Strategic)) = kind else {
            return Err(ApiError::UnsupportedMediaType(accepted));
        };
        if kind == PatchType::Strategic && resource.is_custom() {
            return Err(ApiError::UnsupportedMediaType(accepted));
        }
        let Decoded { value, duplicates } = decode::decode(body, Format::Json).map_err(undecodable)?;
        let prefix = if kind == PatchType::Json { "json patch " } else { "" };
        let mut noticed: Vec<String> =
            duplicates.iter().map(|path| format!("{prefix}duplicate field {path:?}")).collect();
        let patch = match kind {
            PatchType::Json => {
                noticed.extend(unknown_in_operations(&value));
                serde_json::from_value(value).map(Self::Json).map_err(undecodable)?
            }
            _ if !value.is_object() => {
                return Err(ApiError::bad_request("a merge patch must be a JSON object"));
            }
            PatchType::Strategic => Self::Strategic(resource.kind.clone(), value),
            _ => Self::Merge(value),
        };
        Ok((patch, noticed))
    }

    /// What a refusal shows: the patched object, or, where Kubernetes never has it as a text, the patch.
    pub(crate) fn show(&self, patched: &Value) -> String {
        match self {
            Self::Json(_) | Self::Merge(_) => patched.to_string(),
            Self::Strategic(_, patch) => go_text(patch),
        }
    }

    /// Applies the patch; the object is unchanged if it fails.
    pub(crate) fn apply(&self, object: &mut Value) -> ApiResult<()> {
        match self {
            Self::Json(patch) => apply_json(object, patch),
            Self::Merge(patch) => {
                json_patch::merge(object, patch);
                Ok(())
            }
            Self::Strategic(kind, patch) => strategic::apply(kind, object, patch),
        }
    }
}

/// A small patch can copy a large value again and again, or build a tower of values: both are bounded.
fn apply_json(object: &mut Value, patch: &json_patch::Patch) -> ApiResult<()> {
    if patch.len() > MAX_OPERATIONS {
        return Err(ApiError::BodyTooLarge);
    }
    let (mut patched, mut room) = (object.clone(), COPIED_BYTES);
    for operation in patch.iter() {
        let (path, value, is_copied) = match operation {
            PatchOperation::Add(it) => (&it.path, Some(&it.value), false),
            PatchOperation::Replace(it) => (&it.path, Some(&it.value), false),
            PatchOperation::Copy(it) => (&it.path, patched.pointer(it.from.as_str()), true),
            PatchOperation::Move(it) => (&it.path, patched.pointer(it.from.as_str()), true),
            PatchOperation::Remove(it) => (&it.path, None, false),
            PatchOperation::Test(it) => (&it.path, None, false),
        };
        let levels = MAX_DEPTH.checked_sub(path.count());
        if value.is_some_and(|value| !levels.is_some_and(|levels| depth::fits(value, levels))) {
            return Err(ApiError::too_deep());
        }
        if let Some(value) = value.filter(|_| is_copied) {
            room = room.checked_sub(value.to_string().len()).ok_or(ApiError::BodyTooLarge)?;
        }
        json_patch::patch(&mut patched, std::slice::from_ref(operation))
            .map_err(|_| ApiError::Unprocessable)?;
    }
    *object = patched;
    Ok(())
}

fn unknown_in_operations(patch: &Value) -> Vec<String> {
    let operations = patch.as_array().into_iter().flatten().enumerate();
    let fields = operations.flat_map(|(index, operation)| {
        operation.as_object().into_iter().flatten().map(move |(field, _)| (index, field))
    });
    fields
        .filter(|(_, field)| !matches!(field.as_str(), "op" | "path" | "from" | "value"))
        .map(|(index, field)| format!("json patch unknown field \"[{index}].{field}\""))
        .collect()
}

/// A value as Go prints it by default.
fn go_text(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(items) => format!("[{}]", items.iter().map(go_text).collect::<Vec<_>>().join(" ")),
        Value::Object(fields) => {
            let sorted: BTreeMap<&String, &Value> = fields.iter().collect();
            let shown: Vec<String> =
                sorted.into_iter().map(|(key, value)| format!("{key}:{}", go_text(value))).collect();
            format!("map[{}]", shown.join(" "))
        }
        scalar => scalar.to_string(),
    }
}

fn undecodable(error: impl std::fmt::Display) -> ApiError {
    ApiError::bad_request(format!("error decoding patch: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf =
            prop_oneof![Just(Value::Null), any::<i32>().prop_map(Value::from), "[a-c]".prop_map(Value::from)];
        leaf.prop_recursive(3, 20, 3, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
                proptest::collection::btree_map("[a-d]", inner, 0..3)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    #[test]
    fn values_are_shown_as_go_prints_them() {
        let value = json!({"b": ["x", true, null], "a": {"c": 1}});
        assert_eq!(go_text(&value), "map[a:map[c:1] b:[x true <nil>]]");
    }

    fn merged(mut object: Value, patch: &Value) -> Value {
        Patch::Merge(patch.clone()).apply(&mut object).unwrap();
        object
    }

    proptest! {
        #[test]
        fn merging_the_same_patch_again_changes_nothing(object in any_json(), patch in any_json()) {
            let once = merged(object, &patch);
            prop_assert_eq!(merged(once.clone(), &patch), once);
        }

        #[test]
        fn a_merge_patch_sets_what_it_names_and_removes_its_nulls(object in any_json(), key in "[a-d]", value in any::<i32>()) {
            prop_assert_eq!(&merged(object.clone(), &json!({&key: value}))[&key], &json!(value));
            let removed = merged(object, &json!({&key: null}));
            prop_assert!(removed.get(&key).is_none());
        }
    }

    fn json_patched(object: &Value, operations: Vec<Value>) -> Result<Value, u16> {
        let patch: json_patch::Patch = serde_json::from_value(json!(operations)).unwrap();
        let mut patched = object.clone();
        Patch::Json(patch).apply(&mut patched).map(|()| patched).map_err(|error| error.code())
    }

    #[test]
    fn a_json_patch_can_neither_copy_nor_nest_without_end() {
        let object = json!({"a": "b".repeat(1000), "c": {}});
        let copies = (0..5000).map(|index| json!({"op": "copy", "from": "/a", "path": format!("/x{index}")}));
        assert_eq!(json_patched(&object, copies.collect()), Err(413));
        let tower =
            (1..2000).map(|level| json!({"op": "add", "path": "/c".repeat(level), "value": {"c": {}}}));
        assert_eq!(json_patched(&object, tower.collect()), Err(400));
        let nest = (0..2000).map(|_| json!({"op": "copy", "from": "/c", "path": "/c/c"}));
        assert_eq!(json_patched(&object, nest.collect()), Err(400));
        let once = json_patched(&object, vec![json!({"op": "copy", "from": "/c", "path": "/d"})]).unwrap();
        assert_eq!(once["d"], json!({}));
    }

    #[test]
    fn a_json_patch_whose_test_fails_leaves_the_object_alone() {
        let patch: json_patch::Patch = serde_json::from_value(json!([
            {"op": "add", "path": "/b", "value": 2}, {"op": "test", "path": "/a", "value": 9}]))
        .unwrap();
        let mut object = json!({"a": 1});
        assert_eq!(Patch::Json(patch).apply(&mut object), Err(ApiError::Unprocessable));
        assert_eq!(object, json!({"a": 1}));
    }
}
