//! Three-way merge of JSON: what the older version could not show comes back, what its reader changed stays.

use std::collections::BTreeMap;

use serde_json::Value;

use super::json::Object;

/// Members that distinguish the items of a list, the first that all of them have.
const KEYS: [&str; 8] = ["name", "id", "key", "type", "failureDomain", "index", "network", "address"];

/// Merges members: `base` is what a reader of the older version was shown, in the newer version; `stored` is what it
/// was made from; `found` is what came back.
pub(super) fn members(base: &Object, stored: &Object, found: &Object) -> Object {
    let mut names: Vec<&String> = stored.keys().collect();
    names.extend(found.keys().filter(|name| !stored.contains_key(*name)));
    let merged =
        |name: &String| Some((name.clone(), member(base.get(name), stored.get(name), found.get(name))?));
    names.into_iter().filter_map(merged).collect()
}

fn member(base: Option<&Value>, stored: Option<&Value>, found: Option<&Value>) -> Option<Value> {
    if base == found {
        return stored.cloned();
    }
    match (stored, found) {
        (Some(Value::Object(stored)), Some(Value::Object(found))) => {
            let nothing = Object::new();
            let base = base.and_then(Value::as_object).unwrap_or(&nothing);
            Some(Value::Object(members(base, stored, found)))
        }
        (Some(Value::Array(stored)), Some(Value::Array(found))) => {
            let base = base.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
            Some(Value::Array(items(base, stored, found).unwrap_or_else(|| found.clone())))
        }
        _ => found.cloned(),
    }
}

/// Items are merged one by one, in the order in which they came back, if they can be distinguished.
fn items(base: &[Value], stored: &[Value], found: &[Value]) -> Option<Vec<Value>> {
    let key = KEYS.iter().find(|key| found.iter().all(|item| item.get(**key).is_some()))?;
    let (base, stored) = (by_key(base, key)?, by_key(stored, key)?);
    by_key(found, key)?;
    let merged = |item: &Value| {
        let text = item.get(*key).map(Value::to_string).unwrap_or_default();
        member(base.get(&text).copied(), stored.get(&text).copied(), Some(item))
    };
    Some(found.iter().filter_map(merged).collect())
}

/// None if two items have one key or one has none.
fn by_key<'a>(items: &'a [Value], key: &str) -> Option<BTreeMap<String, &'a Value>> {
    let mut map = BTreeMap::new();
    for item in items {
        if map.insert(item.get(key)?.to_string(), item).is_some() {
            return None;
        }
    }
    Some(map)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn merge(base: Value, stored: Value, found: Value) -> Value {
        let of = |value: Value| value.as_object().unwrap().clone();
        Value::Object(members(&of(base), &of(stored), &of(found)))
    }

    #[test]
    fn what_was_not_shown_comes_back() {
        let merged = merge(json!({"a": 1}), json!({"a": 1, "new": {"x": 2}}), json!({"a": 1}));
        assert_eq!(merged, json!({"a": 1, "new": {"x": 2}}));
    }

    #[test]
    fn what_was_changed_added_or_removed_stays_so() {
        let merged = merge(
            json!({"a": 1, "gone": 1, "deep": {"b": 1}}),
            json!({"a": 1, "gone": 1, "deep": {"b": 1, "hidden": 5}}),
            json!({"a": 2, "added": 3, "deep": {"b": 4}}),
        );
        assert_eq!(merged, json!({"a": 2, "added": 3, "deep": {"b": 4, "hidden": 5}}));
    }

    #[test]
    fn the_key_distinguishes_items_of_a_list() {
        let merged = merge(
            json!({"list": [{"name": "a"}, {"name": "b"}]}),
            json!({"list": [{"name": "a", "hidden": 1}, {"name": "b", "hidden": 2}]}),
            json!({"list": [{"name": "c"}, {"name": "b"}]}),
        );
        assert_eq!(merged, json!({"list": [{"name": "c"}, {"name": "b", "hidden": 2}]}));
    }

    #[test]
    fn a_list_without_keys_is_what_came_back() {
        let merged = merge(json!({"l": [1, 2]}), json!({"l": [1, 2]}), json!({"l": [2]}));
        assert_eq!(merged, json!({"l": [2]}));
    }
}
