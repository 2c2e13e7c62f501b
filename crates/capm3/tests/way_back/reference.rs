//! The CRDs of the reference implementation, made again from the facts that are known of them.

use std::path::Path;

use serde_json::{Map, Value, json};

use crate::facts::{self, Facts, Words};

/// The CRD of a kind.
pub fn crd(plural: &str) -> Value {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../api/tests/facts/{plural}.txt"));
    let facts = facts::read(&std::fs::read_to_string(file).unwrap());
    let names = &facts["names"];
    let kind = names.iter().find(|(_, value)| *value == "yes").unwrap().0;
    let group = &names["type"];
    let versions: Vec<Value> = facts
        .keys()
        .filter_map(|key| key.strip_suffix(" itself"))
        .map(|name| version(name, &facts[&format!("{name} itself")], &facts))
        .collect();
    assert!(!versions.is_empty(), "{plural}");
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.{group}")},
        "spec": {"group": group, "scope": names["scope"], "names": {"plural": plural, "kind": kind}, "versions": versions}})
}

fn version(name: &str, itself: &Words, facts: &Facts) -> Value {
    let mut schema = json!({});
    let prefix = format!("{name} ");
    for (path, words) in facts {
        if let Some(path) = path.strip_prefix(&prefix).filter(|path| path.is_empty() || path.starts_with('.'))
        {
            put(&mut schema, path, words);
        }
    }
    let mut version = json!({"name": name, "served": true, "storage": itself["storage"] == "True",
        "schema": {"openAPIV3Schema": schema}});
    if itself["subresources"].contains("status") {
        version["subresources"] = json!({"status": {}});
    }
    version
}

/// Puts the words of one field into the schema.
fn put(root: &mut Value, path: &str, words: &Words) {
    let mut at = root;
    let steps = steps(path);
    for (number, step) in steps.iter().enumerate() {
        let is_last = number + 1 == steps.len();
        at = match *step {
            "[]" => &mut at["items"],
            "{}" => &mut at["additionalProperties"],
            name => {
                if is_last && words.contains_key("required") {
                    let required = at["required"].as_array().cloned().unwrap_or_default();
                    at["required"] = required.into_iter().chain([json!(name)]).collect();
                }
                &mut at["properties"][name]
            }
        };
    }
    let members = words.iter().filter_map(|(word, value)| Some((member(word)?, value_of(value))));
    let members: Map<String, Value> = members
        .filter(|(_, value)| *value != json!("-"))
        .map(|(name, value)| (name.to_owned(), value))
        .collect();
    match at {
        Value::Object(there) => there.extend(members),
        nothing => *nothing = Value::Object(members),
    }
}

/// `.a.b[].c{}` in steps.
fn steps(path: &str) -> Vec<&str> {
    let mut steps = Vec::new();
    for part in path.split('.').skip(1) {
        let name = part.find(['[', '{']).map_or(part, |end| &part[..end]);
        steps.push(name);
        let mut rest = &part[name.len()..];
        while rest.len() >= 2 {
            let (step, more) = rest.split_at(2);
            steps.push(step);
            rest = more;
        }
    }
    steps
}

/// The member of a schema that a word of the facts stands for.
fn member(word: &str) -> Option<&str> {
    match word {
        "required" => None,
        "list-type" => Some("x-kubernetes-list-type"),
        "list-map-keys" => Some("x-kubernetes-list-map-keys"),
        "map-type" => Some("x-kubernetes-map-type"),
        "preserve-unknown-fields" => Some("x-kubernetes-preserve-unknown-fields"),
        other => Some(other),
    }
}

/// A value as the files write it.
fn value_of(text: &str) -> Value {
    match text {
        "True" => json!(true),
        "False" => json!(false),
        _ if text.starts_with('[') => serde_json::from_str(&text.replace('\'', "\"")).unwrap(),
        _ if text.starts_with('\'') => json!(text.trim_matches('\'').replace("\\\\", "\\")),
        _ => text.parse::<i64>().map_or_else(|_| json!(text), |number| json!(number)),
    }
}
