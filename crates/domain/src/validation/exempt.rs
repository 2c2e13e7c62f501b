//! Updates that are never refused, because refusing them would hold an object for ever.

use serde_json::{Map, Value};

/// Members of metadata that say nothing about what the author wants.
const BOOKKEEPING: [&str; 4] = ["finalizers", "managedFields", "resourceVersion", "generation"];

/// Whether an update touches an object that is being deleted, or does nothing but take finalizers away.
pub(super) fn is_exempt(old: &Value, new: &Value) -> bool {
    is_deleting(old) || is_deleting(new) || only_removes_finalizers(old, new)
}

fn metadata(object: &Value) -> Option<&Map<String, Value>> {
    object.get("metadata").and_then(Value::as_object)
}

fn is_deleting(object: &Value) -> bool {
    metadata(object).and_then(|it| it.get("deletionTimestamp")).is_some_and(|it| !it.is_null())
}

fn finalizers(object: &Value) -> impl Iterator<Item = &Value> {
    let list = metadata(object).and_then(|it| it.get("finalizers")).and_then(Value::as_array);
    list.into_iter().flatten()
}

fn only_removes_finalizers(old: &Value, new: &Value) -> bool {
    let fewer = finalizers(new).count() < finalizers(old).count();
    fewer && finalizers(new).all(|kept| finalizers(old).any(|had| had == kept)) && same_beyond(old, new)
}

/// Whether two objects differ in bookkeeping only.
fn same_beyond(old: &Value, new: &Value) -> bool {
    let rest = |object: &Value| {
        let mut rest = object.as_object().cloned().unwrap_or_default();
        if let Some(metadata) = rest.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.retain(|member, _| !BOOKKEEPING.contains(&member.as_str()));
        }
        rest
    };
    rest(old) == rest(new)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn taking_finalizers_away_and_touching_what_is_going_is_exempt() {
        let object = |finalizers: &[&str], spec: &str, going: bool| {
            let mut object = json!({"metadata": {"name": "a", "finalizers": finalizers}, "spec": spec});
            if going {
                object["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
            }
            object
        };
        let table = [
            (object(&["f", "g"], "x", false), object(&["g"], "x", false), true),
            (object(&["f"], "x", false), object(&[], "x", false), true),
            (object(&["f"], "x", false), object(&[], "y", false), false),
            (object(&["f"], "x", false), object(&["f"], "x", false), false),
            (object(&["f"], "x", false), object(&["g"], "x", false), false),
            (object(&["f"], "x", false), object(&["f", "g"], "x", false), false),
            (object(&["f", "g"], "x", false), object(&["h"], "x", false), false),
            (object(&["f"], "x", true), object(&["f"], "y", true), true),
        ];
        for (old, new, exempt) in table {
            assert_eq!(is_exempt(&old, &new), exempt, "{old} -> {new}");
        }
    }
}
