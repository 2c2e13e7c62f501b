//! What became of objects between two looks at the same server.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::stage::text;

/// Objects by kind and name.
pub type ByName = BTreeMap<String, Value>;

/// Objects without what every write changes.
pub fn by_name(objects: Vec<Value>) -> ByName {
    let one = |mut object: Value| {
        if let Some(metadata) = object.pointer_mut("/metadata").and_then(Value::as_object_mut) {
            metadata.remove("resourceVersion");
            metadata.remove("managedFields");
        }
        (format!("{} {}", text(&object, "/kind"), text(&object, "/metadata/name")), object)
    };
    objects.into_iter().map(one).collect()
}

/// One line for each object that is not the same in both.
pub fn differing(before: &ByName, after: &ByName) -> Vec<String> {
    let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let shown = |object: Option<&Value>| object.map_or_else(|| "nothing".to_owned(), Value::to_string);
    let differ = names.into_iter().filter(|name| before.get(*name) != after.get(*name));
    differ
        .map(|name| format!("  {name}: {}\n    then {}", shown(before.get(name)), shown(after.get(name))))
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_object_that_was_only_written_again_is_the_same() {
        let object = |version: &str, replicas: i32| {
            let metadata = json!({"name": "a", "resourceVersion": version});
            by_name(vec![json!({"kind": "Thing", "metadata": metadata, "spec": {"replicas": replicas}})])
        };
        assert!(differing(&object("1", 3), &object("2", 3)).is_empty());
        let changed = differing(&object("1", 3), &object("2", 4));
        assert!(
            changed[0].starts_with("  Thing a: ") && changed[0].contains("\"replicas\":4"),
            "{changed:?}"
        );
        let gone = differing(&object("1", 3), &ByName::new());
        assert!(gone[0].ends_with("then nothing"), "{gone:?}");
    }
}
