//! Merge patches computed from "as it is" and "as it should be".

use serde_json::{Map, Value};

/// The JSON merge patch (RFC 7386) that turns `old` into `new`; `None` when they are equal. Lists are replaced as a
/// whole, as that format demands.
pub fn merge_diff(old: &Value, new: &Value) -> Option<Value> {
    let (Value::Object(old), Value::Object(new)) = (old, new) else {
        return (old != new).then(|| new.clone());
    };
    let mut patch = Map::new();
    for (key, value) in new {
        match old.get(key) {
            None if value.is_null() => {}
            None => {
                patch.insert(key.clone(), value.clone());
            }
            Some(before) => {
                if let Some(inner) = merge_diff(before, value) {
                    patch.insert(key.clone(), inner);
                }
            }
        }
    }
    for key in old.keys().filter(|key| !new.contains_key(*key)) {
        patch.insert(key.clone(), Value::Null);
    }
    (!patch.is_empty()).then_some(Value::Object(patch))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn only_what_differs_is_in_the_patch() {
        let old = json!({"a": 1, "b": {"c": 2, "d": 3}, "l": [1, 2], "gone": true});
        let new = json!({"a": 1, "b": {"c": 2, "d": 4}, "l": [1], "new": {}});
        assert_eq!(merge_diff(&old, &new), Some(json!({"b": {"d": 4}, "l": [1], "new": {}, "gone": null})));
        assert_eq!(merge_diff(&old, &old), None);
    }

    fn tree() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![any::<bool>().prop_map(Value::from), (0..5i64).prop_map(Value::from)];
        leaf.prop_recursive(3, 12, 3, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..3).prop_map(Value::Array),
                prop::collection::btree_map("[abc]", inner, 0..3)
                    .prop_map(|m| Value::Object(m.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn applying_the_patch_to_the_old_gives_the_new(old in tree(), new in tree()) {
            let mut result = old.clone();
            if let Some(patch) = merge_diff(&old, &new) {
                json_patch::merge(&mut result, &patch);
            }
            prop_assert_eq!(result, new);
        }
    }
}
