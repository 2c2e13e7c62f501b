//! What is different in a server after the provider has taken over, member by member, against a list of what may be.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use capm3_api::v1beta2;
use capm3_lab::Lab;
use serde_json::{Map, Value};

use crate::namespace::file_text;

/// Members that every write changes.
const OF_THE_SERVER: [&str; 3] = ["resourceVersion", "generation", "managedFields"];

/// Members by which items of lists are distinguished.
const KEYS: [&str; 5] = ["type", "uid", "name", "index", "key"];

/// Every object by kind and name, in the version in which it is stored now.
pub fn objects(lab: &Lab) -> BTreeMap<String, Value> {
    let workload = lab.server().objects(Some("metal3/my-cluster"));
    let all: Vec<Arc<Value>> = lab.server().objects(None).into_iter().chain(workload).collect();
    let mut objects = BTreeMap::new();
    for object in all {
        let (kind, api) = (word(&object, "/kind"), word(&object, "/apiVersion"));
        if ["Event", "Namespace", "CustomResourceDefinition"].contains(&kind.as_str()) {
            continue;
        }
        let mut object = object.as_ref().clone();
        if api == "infrastructure.cluster.x-k8s.io/v1beta1" {
            object = capm3_admission::convert(object, v1beta2::API_VERSION).unwrap();
        }
        if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.retain(|member, _| !OF_THE_SERVER.contains(&member.as_str()));
        }
        objects.insert(format!("{kind} {}", word(&object, "/metadata/name")), object);
    }
    objects
}

fn word(object: &Value, pointer: &str) -> String {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// Every difference, a line each: `Kind name .path: before -> after`.
pub fn changes(before: &BTreeMap<String, Value>, after: &BTreeMap<String, Value>) -> Vec<String> {
    let mut found = Vec::new();
    for name in before.keys().chain(after.keys()).collect::<BTreeSet<_>>() {
        match (before.get(name), after.get(name)) {
            (Some(_), None) => found.push(format!("{name}: is gone")),
            (None, Some(_)) => found.push(format!("{name}: is new")),
            (old, new) => differ(name, "", old, new, &mut found),
        }
    }
    found
}

fn differ(name: &str, path: &str, old: Option<&Value>, new: Option<&Value>, found: &mut Vec<String>) {
    match (old, new) {
        _ if old == new => {}
        (Some(Value::Object(old)), Some(Value::Object(new))) => {
            for member in old.keys().chain(new.keys()).collect::<BTreeSet<_>>() {
                differ(name, &format!("{path}.{member}"), old.get(member), new.get(member), found);
            }
        }
        (Some(Value::Object(only)), None) | (None, Some(Value::Object(only))) if !only.is_empty() => {
            let (with, empty) = (Value::Object(only.clone()), Value::Object(Map::new()));
            let (old, new) = if old.is_some() { (&with, &empty) } else { (&empty, &with) };
            differ(name, path, Some(old), Some(new), found);
        }
        (Some(Value::Array(_)) | None, Some(Value::Array(_)) | None) => {
            let (old, new) = (items(old), items(new));
            for key in old.keys().chain(new.keys()).collect::<BTreeSet<_>>() {
                differ(name, &format!("{path}[{key}]"), old.get(key).copied(), new.get(key).copied(), found);
            }
        }
        _ => {
            let shown = |value: Option<&Value>| value.map_or("nothing".to_owned(), Value::to_string);
            found.push(format!("{name} {path}: {} -> {}", shown(old), shown(new)));
        }
    }
}

/// The items of a list by what tells them apart, or by their place.
fn items(list: Option<&Value>) -> BTreeMap<String, &Value> {
    let list = list.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let key = |item: &Value| {
        let key = KEYS.into_iter().find_map(|key| item.get(key))?;
        Some(key.as_str().map_or_else(|| key.to_string(), str::to_owned))
    };
    let by_key: Option<BTreeMap<String, &Value>> = list.iter().map(|item| Some((key(item)?, item))).collect();
    match by_key {
        Some(by_key) if by_key.len() == list.len() => by_key,
        _ if list.iter().all(Value::is_string) => list.iter().map(|item| (item.to_string(), item)).collect(),
        _ => list.iter().enumerate().map(|(at, item)| (at.to_string(), item)).collect(),
    }
}

/// Asserts that there is no change but those that a file lists, and that each of those is there.
pub fn assert_permitted(file: &str, changes: &[String]) {
    let list = file_text(&format!("permitted/{file}.txt"));
    let patterns: Vec<&str> =
        list.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
    assert!(!patterns.is_empty(), "{file} permits nothing");
    let is_permitted = |change: &&String| patterns.iter().any(|pattern| like(change, pattern));
    let others: Vec<&String> = changes.iter().filter(|change| !is_permitted(change)).collect();
    let others: String = others.iter().map(|change| format!("{change}\n")).collect();
    assert!(others.is_empty(), "{file}: changes that nobody has permitted:\n{others}");
    let is_unused = |pattern: &&&str| !changes.iter().any(|change| like(change, pattern));
    let unused: Vec<&&str> = patterns.iter().filter(is_unused).collect();
    assert!(unused.is_empty(), "{file}: permitted, but nothing is changed so: {unused:#?}");
}

/// Whether a text is like a pattern in which `*` stands for any text.
fn like(text: &str, pattern: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return text == pattern };
    let Some(text) = text.strip_prefix(first) else { return false };
    (0..=text.len()).any(|at| text.get(at..).is_some_and(|tail| like(tail, rest)))
}
