//! Patches: takes a patch document and an object, gives the patched object. Whether the result may be stored is
//! decided by the update rules.

use serde_json::Value;

use crate::{
    negotiate::PatchType,
    resource::Resource,
    status::{ApiError, ApiResult},
};

const FOR_BUILTINS: &str =
    "application/json-patch+json, application/merge-patch+json, application/strategic-merge-patch+json";
const FOR_CUSTOM: &str = "application/json-patch+json, application/merge-patch+json";

/// A patch that was understood.
#[derive(Debug)]
pub(crate) enum Patch {
    Json(json_patch::Patch),
    Merge(Value),
}

impl Patch {
    /// Reads a patch body of the given type for a resource.
    pub(crate) fn parse(kind: Option<PatchType>, resource: &Resource, body: &[u8]) -> ApiResult<Self> {
        let accepted = if resource.is_custom() { FOR_CUSTOM } else { FOR_BUILTINS };
        match kind {
            Some(PatchType::Json) => serde_json::from_slice(body).map(Self::Json).map_err(undecodable),
            Some(PatchType::Merge) => merge(body),
            Some(PatchType::Strategic) if !resource.is_custom() => strategic(body),
            Some(PatchType::Strategic | PatchType::Apply) | None => {
                Err(ApiError::UnsupportedMediaType(accepted))
            }
        }
    }

    /// Applies the patch; the object is unchanged if it fails.
    pub(crate) fn apply(&self, object: &mut Value) -> ApiResult<()> {
        match self {
            Self::Json(patch) => json_patch::patch(object, patch).map_err(|_| ApiError::Unprocessable),
            Self::Merge(patch) => {
                json_patch::merge(object, patch);
                Ok(())
            }
        }
    }
}

fn merge(body: &[u8]) -> ApiResult<Patch> {
    let patch: Value = serde_json::from_slice(body).map_err(undecodable)?;
    if patch.is_object() {
        Ok(Patch::Merge(patch))
    } else {
        Err(ApiError::bad_request("a merge patch must be a JSON object"))
    }
}

/// The seam for strategic merge patches: until lists are merged by key, they are replaced as a merge patch does.
fn strategic(body: &[u8]) -> ApiResult<Patch> {
    merge(body)
}

fn undecodable(error: serde_json::Error) -> ApiError {
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
