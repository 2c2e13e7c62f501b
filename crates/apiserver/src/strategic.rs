//! Strategic merge patches of built-in kinds: maps merge as in a merge patch, lists merge by key or as sets where the
//! kind says so, and directives (`$patch`, `$setElementOrder/…`, `$deleteFromPrimitiveList/…`, `$retainKeys`) steer it.

use serde_json::{Map, Value};

use crate::status::{ApiError, ApiResult};

const DIRECTIVE: &str = "$patch";
const RETAIN: &str = "$retainKeys";
const DELETE_PREFIX: &str = "$deleteFromPrimitiveList/";
const ORDER_PREFIX: &str = "$setElementOrder/";

/// How a list takes a patch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Merge {
    Replace,
    Set,
    ByKey(&'static str),
}

/// Lists that are not simply replaced: kind (empty for all), path, and how they merge.
const LISTS: [(&str, &str, Merge); 24] = [
    ("", "metadata.ownerReferences", Merge::ByKey("uid")),
    ("", "metadata.finalizers", Merge::Set),
    ("", "status.conditions", Merge::ByKey("type")),
    ("Node", "spec.podCIDRs", Merge::Set),
    ("Node", "status.addresses", Merge::ByKey("type")),
    ("Pod", "spec.containers", Merge::ByKey("name")),
    ("Pod", "spec.containers.env", Merge::ByKey("name")),
    ("Pod", "spec.containers.ports", Merge::ByKey("containerPort")),
    ("Pod", "spec.containers.volumeMounts", Merge::ByKey("mountPath")),
    ("Pod", "spec.containers.volumeDevices", Merge::ByKey("devicePath")),
    ("Pod", "spec.initContainers", Merge::ByKey("name")),
    ("Pod", "spec.initContainers.env", Merge::ByKey("name")),
    ("Pod", "spec.initContainers.ports", Merge::ByKey("containerPort")),
    ("Pod", "spec.initContainers.volumeMounts", Merge::ByKey("mountPath")),
    ("Pod", "spec.ephemeralContainers", Merge::ByKey("name")),
    ("Pod", "spec.volumes", Merge::ByKey("name")),
    ("Pod", "spec.hostAliases", Merge::ByKey("ip")),
    ("Pod", "spec.imagePullSecrets", Merge::ByKey("name")),
    ("Pod", "spec.topologySpreadConstraints", Merge::ByKey("topologyKey")),
    ("Pod", "status.podIPs", Merge::ByKey("ip")),
    ("Pod", "status.hostIPs", Merge::ByKey("ip")),
    ("Service", "spec.ports", Merge::ByKey("port")),
    ("ServiceAccount", "secrets", Merge::ByKey("name")),
    ("ServiceAccount", "imagePullSecrets", Merge::ByKey("name")),
];

fn merge_of(kind: &str, path: &str) -> Merge {
    let fits = |(of, list, _): &&(&str, &str, Merge)| (of.is_empty() || *of == kind) && *list == path;
    LISTS.iter().find(fits).map_or(Merge::Replace, |(_, _, merge)| *merge)
}

/// Applies a patch to an object of a built-in kind; the object is unchanged if it fails.
pub(crate) fn apply(kind: &str, object: &mut Value, patch: &Value) -> ApiResult<()> {
    let (Some(fields), Some(patch)) = (object.as_object(), patch.as_object()) else {
        return Err(ApiError::bad_request("a strategic merge patch must be a JSON object"));
    };
    let mut patched = fields.clone();
    merge_map(kind, "", &mut patched, patch)?;
    *object = Value::Object(patched);
    Ok(())
}

fn merge_map(
    kind: &str,
    path: &str,
    fields: &mut Map<String, Value>,
    patch: &Map<String, Value>,
) -> ApiResult<()> {
    match patch.get(DIRECTIVE).map(|directive| directive.as_str()) {
        None | Some(Some("merge")) => {}
        Some(Some("replace")) => fields.clear(),
        Some(Some("delete")) => {
            fields.clear();
            return Ok(());
        }
        Some(_) => return Err(ApiError::bad_request("Unknown patch type found in the patch")),
    }
    for (name, value) in patch.iter().filter(|(name, _)| !name.starts_with('$')) {
        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        merge_field(kind, &path, fields, name, value)?;
    }
    for (name, value) in patch {
        if let Some(list) = name.strip_prefix(DELETE_PREFIX) {
            remove_items(fields.get_mut(list), value);
        } else if let Some(list) = name.strip_prefix(ORDER_PREFIX) {
            let path = format!("{path}.{list}");
            order_items(fields.get_mut(list), value, merge_of(kind, path.trim_start_matches('.')));
        }
    }
    if let Some(kept) = patch.get(RETAIN).and_then(Value::as_array) {
        fields.retain(|name, _| kept.iter().any(|it| it.as_str() == Some(name)));
    }
    Ok(())
}

fn merge_field(
    kind: &str,
    path: &str,
    fields: &mut Map<String, Value>,
    name: &str,
    value: &Value,
) -> ApiResult<()> {
    match value {
        Value::Null => {
            fields.shift_remove(name);
        }
        Value::Object(patch) => {
            let mut inner = match fields.get_mut(name) {
                Some(Value::Object(inner)) => std::mem::take(inner),
                _ => Map::new(),
            };
            merge_map(kind, path, &mut inner, patch)?;
            fields.insert(name.to_owned(), Value::Object(inner));
        }
        Value::Array(patch) => {
            let mut items = match fields.get_mut(name) {
                Some(Value::Array(items)) => std::mem::take(items),
                _ => Vec::new(),
            };
            match merge_of(kind, path) {
                Merge::Replace => items.clone_from(patch),
                Merge::Set => add_items(&mut items, patch),
                Merge::ByKey(key) => merge_items(kind, path, key, &mut items, patch)?,
            }
            fields.insert(name.to_owned(), Value::Array(items));
        }
        scalar => {
            fields.insert(name.to_owned(), scalar.clone());
        }
    }
    Ok(())
}

fn add_items(items: &mut Vec<Value>, patch: &[Value]) {
    for item in patch {
        if !items.contains(item) {
            items.push(item.clone());
        }
    }
}

fn merge_items(
    kind: &str,
    path: &str,
    key: &'static str,
    items: &mut Vec<Value>,
    patch: &[Value],
) -> ApiResult<()> {
    let is = |item: &Value, directive: &str| item.get(DIRECTIVE).and_then(Value::as_str) == Some(directive);
    if patch.iter().any(|item| is(item, "replace")) {
        items.clear();
    }
    for item in patch.iter().filter(|item| !is(item, "replace")) {
        let id = item.get(key).ok_or_else(|| {
            ApiError::BadRequest(format!("an item of {path} does not contain its merge key {key}"))
        })?;
        let position = items.iter().position(|it| it.get(key) == Some(id));
        if is(item, "delete") {
            items.retain(|it| it.get(key) != Some(id));
            continue;
        }
        let mut merged = match position.and_then(|at| items.get(at)) {
            Some(Value::Object(fields)) => fields.clone(),
            _ => Map::new(),
        };
        if let Some(patch) = item.as_object() {
            merge_map(kind, path, &mut merged, patch)?;
        }
        match position.and_then(|at| items.get_mut(at)) {
            Some(place) => *place = Value::Object(merged),
            None => items.push(Value::Object(merged)),
        }
    }
    Ok(())
}

fn remove_items(list: Option<&mut Value>, removed: &Value) {
    if let (Some(Value::Array(items)), Some(removed)) = (list, removed.as_array()) {
        items.retain(|item| !removed.contains(item));
    }
}

/// Puts the items that are named into the named order; those that are not named stay where they are.
fn order_items(list: Option<&mut Value>, order: &Value, merge: Merge) {
    let (Some(Value::Array(items)), Some(order)) = (list, order.as_array()) else {
        return;
    };
    let rank = |item: &Value| {
        order.iter().position(|it| match merge {
            Merge::ByKey(key) => it.get(key).is_some() && it.get(key) == item.get(key),
            Merge::Set | Merge::Replace => it == item,
        })
    };
    let mut named: Vec<Value> = items.iter().filter(|item| rank(item).is_some()).cloned().collect();
    named.sort_by_key(|item| rank(item));
    let mut named = named.into_iter();
    for place in items.iter_mut().filter(|item| rank(item).is_some()) {
        if let Some(item) = named.next() {
            *place = item;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn patched(kind: &str, mut object: Value, patch: Value) -> Value {
        apply(kind, &mut object, &patch).unwrap();
        object
    }

    #[test]
    fn lists_merge_by_their_key_or_as_sets() {
        let table = [
            (
                "Node",
                json!({"status": {"conditions": [{"type": "Ready", "status": "False", "reason": "r"}, {"type": "Disk", "status": "x"}]}}),
                json!({"status": {"$setElementOrder/conditions": [{"type": "Ready"}], "conditions": [{"type": "Ready", "status": "True"}]}}),
                json!({"status": {"conditions": [{"type": "Ready", "status": "True", "reason": "r"}, {"type": "Disk", "status": "x"}]}}),
            ),
            (
                "Secret",
                json!({"metadata": {"ownerReferences": [{"uid": "1", "name": "a"}, {"uid": "2", "name": "b"}]}}),
                json!({"metadata": {"ownerReferences": [{"uid": "1", "$patch": "delete"}, {"uid": "3", "name": "c"}]}}),
                json!({"metadata": {"ownerReferences": [{"uid": "2", "name": "b"}, {"uid": "3", "name": "c"}]}}),
            ),
            (
                "Secret",
                json!({"metadata": {"finalizers": ["a", "b"]}}),
                json!({"metadata": {"$deleteFromPrimitiveList/finalizers": ["a"], "$setElementOrder/finalizers": ["c", "b"], "finalizers": ["c"]}}),
                json!({"metadata": {"finalizers": ["c", "b"]}}),
            ),
            (
                "Node",
                json!({"spec": {"taints": [{"key": "a"}]}}),
                json!({"spec": {"taints": [{"key": "b"}]}}),
                json!({"spec": {"taints": [{"key": "b"}]}}),
            ),
            (
                "Service",
                json!({"spec": {"ports": [{"port": 80, "name": "a"}]}}),
                json!({"spec": {"ports": [{"$patch": "replace"}, {"port": 81}]}}),
                json!({"spec": {"ports": [{"port": 81}]}}),
            ),
        ];
        for (kind, object, patch, expected) in table {
            assert_eq!(patched(kind, object, patch.clone()), expected, "{patch}");
        }
    }

    #[test]
    fn maps_merge_and_obey_directives() {
        let table = [
            (json!({"data": {"a": null, "c": "3"}}), json!({"data": {"b": "2", "c": "3"}})),
            (json!({"data": {"$patch": "replace", "c": "3"}}), json!({"data": {"c": "3"}})),
            (json!({"data": {"$patch": "delete"}}), json!({"data": {}})),
            (json!({"data": {"$retainKeys": ["a"], "a": "9"}}), json!({"data": {"a": "9"}})),
        ];
        for (patch, expected) in table {
            let object = json!({"data": {"a": "1", "b": "2"}});
            assert_eq!(patched("ConfigMap", object, patch.clone()), expected, "{patch}");
        }
    }

    #[test]
    fn a_patch_that_cannot_be_applied_changes_nothing() {
        let object = json!({"metadata": {"ownerReferences": [{"uid": "1"}]}});
        for patch in [
            json!({"metadata": {"x": 1, "ownerReferences": [{"name": "a"}]}}),
            json!({"metadata": {"$patch": "sideways"}}),
            json!([]),
        ] {
            let mut same = object.clone();
            assert!(apply("Secret", &mut same, &patch).is_err(), "{patch}");
            assert_eq!(same, object);
        }
    }

    proptest! {
        #[test]
        fn applying_the_same_patch_again_changes_nothing(a in "[a-c]", b in "[a-c]", c in "[a-c]", value in any::<i32>()) {
            let object = json!({"status": {"conditions": [{"type": a, "status": "x"}]}, "metadata": {"finalizers": [a]}});
            let patch = json!({"status": {"conditions": [{"type": b, "status": value}, {"type": c}]}, "metadata": {"finalizers": [b, c]}});
            let once = patched("Node", object, patch.clone());
            prop_assert_eq!(patched("Node", once.clone(), patch), once);
        }
    }
}
