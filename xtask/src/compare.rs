//! Where a real server and the embedded one differ, once what cannot be equal is masked.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// Masked objects or answers by name.
pub type Objects = BTreeMap<String, Value>;

/// One line a difference: object, path, what the real server has, what the embedded one has.
pub fn differences(real: &Objects, embedded: &Objects) -> Vec<String> {
    let mut found = Vec::new();
    for name in real.keys().chain(embedded.keys()).collect::<BTreeSet<_>>() {
        match (real.get(name), embedded.get(name)) {
            (Some(real), Some(embedded)) => walk(name, "", Some(real), Some(embedded), &mut found),
            (real, _) => {
                let only = if real.is_some() { "real" } else { "embedded" };
                found.push(format!("  {name}: only on the {only} server"));
            }
        }
    }
    found
}

fn walk(name: &str, path: &str, real: Option<&Value>, embedded: Option<&Value>, found: &mut Vec<String>) {
    match (real, embedded) {
        (Some(Value::Object(a)), Some(Value::Object(b))) => {
            for key in a.keys().chain(b.keys()).collect::<BTreeSet<_>>() {
                walk(name, &format!("{path}.{key}"), a.get(key), b.get(key), found);
            }
        }
        (Some(Value::Array(a)), Some(Value::Array(b))) => {
            for at in 0..a.len().max(b.len()) {
                walk(name, &format!("{path}[{at}]"), a.get(at), b.get(at), found);
            }
        }
        (a, b) if a == b => {}
        (a, b) => found.push(format!("  {name}: {path}: real {}, embedded {}", shown(a), shown(b))),
    }
}

fn shown(value: Option<&Value>) -> String {
    value.map_or_else(|| "has none".to_owned(), Value::to_string)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_difference_is_reported_with_object_and_path() {
        let objects = |entries: &[(&str, Value)]| {
            entries.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect::<Objects>()
        };
        let real = objects(&[("A/1", json!({"spec": {"a": [1, 2], "b": 1}})), ("A/2", json!({}))]);
        let embedded = objects(&[("A/1", json!({"spec": {"a": [1], "b": 2}})), ("A/3", json!({}))]);
        assert_eq!(
            differences(&real, &embedded),
            [
                "  A/1: .spec.a[1]: real 2, embedded has none",
                "  A/1: .spec.b: real 1, embedded 2",
                "  A/2: only on the real server",
                "  A/3: only on the embedded server",
            ]
        );
        assert!(differences(&real, &real).is_empty());
    }
}
