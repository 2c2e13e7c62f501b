//! Takes out of answers what no two servers have in common. Versions and uids of objects are numbered by their first
//! appearance in a case: that two answers show the same one, or another one, is compared.

use std::collections::BTreeMap;

use anyhow::Result;
use regex::Regex;
use serde_json::{Map, Value, json};

use crate::mask::{Rule, Rules, TIMES, UID};

/// What is replaced within a text. Names that are drawn begin with `drawn-` in the cases.
const RULES: &[Rule] = &[
    TIMES,
    (r"(ResourceVersion in record \()\d+", "${1}<version>"),
    (r"(drawn-)[a-z0-9]{5}\b", "${1}<suffix>"),
];

/// The masks of one case:
///
/// | what | why |
/// |---|---|
/// | `metadata.uid`, `uid` | drawn by the server; numbered |
/// | `resourceVersion` of an object | a counter of the whole server; numbered |
/// | `resourceVersion` of a list or a bookmark | moves with objects that are not in the list |
/// | `managedFields` | the embedded server does not keep them |
/// | `storageVersionHash`, order of resources in discovery | say nothing to a client |
/// | descriptions of columns | the real server's own prose |
/// | `continue` | each server's own notation |
/// | times and ages | two servers are not asked at the same second |
/// | generated names | drawn by the server |
pub struct Mask {
    uids: BTreeMap<String, usize>,
    versions: BTreeMap<String, usize>,
    rules: Rules,
    age: Regex,
    uid: Regex,
}

impl Mask {
    pub fn new() -> Result<Self> {
        Ok(Self {
            uids: BTreeMap::new(),
            versions: BTreeMap::new(),
            rules: Rules::new(RULES)?,
            age: Regex::new(r"^\d+s$")?,
            uid: Regex::new(UID)?,
        })
    }

    pub fn apply(&mut self, answer: &Value) -> Value {
        match answer {
            Value::Object(map) => Value::Object(self.object(map)),
            Value::Array(items) => Value::Array(items.iter().map(|item| self.apply(item)).collect()),
            Value::String(text) => json!(self.text(text)),
            other => other.clone(),
        }
    }

    fn object(&mut self, map: &Map<String, Value>) -> Map<String, Value> {
        let text = |name: &str| map.get(name).and_then(Value::as_str).unwrap_or_default();
        let is_list = map.contains_key("items") || map.contains_key("rows");
        let moves = is_list || text("type") == "BOOKMARK" || text("kind") == "Status";
        let mut masked = Map::new();
        for (key, value) in map {
            let value = match (key.as_str(), value) {
                ("managedFields" | "storageVersionHash", _) => continue,
                ("columnDefinitions", Value::Array(columns)) => columns.iter().map(without_prose).collect(),
                ("resources", Value::Array(resources)) => self.apply(&by_name(resources)),
                ("resourceVersion", Value::String(version)) => {
                    json!(numbered(&mut self.versions, "version", version))
                }
                ("continue", Value::String(token)) if !token.is_empty() => json!("<continue>"),
                ("metadata" | "object", value) if moves => self.apply(&without_version(value)),
                (_, value) => self.apply(value),
            };
            masked.insert(key.clone(), value);
        }
        masked
    }

    fn text(&mut self, text: &str) -> String {
        if self.age.is_match(text) {
            return "<age>".to_owned();
        }
        let text = self.rules.apply(text);
        let uids = &mut self.uids;
        let number = |found: &regex::Captures<'_>| {
            numbered(uids, "uid", found.get(0).map(|m| m.as_str()).unwrap_or_default())
        };
        self.uid.replace_all(&text, number).into_owned()
    }
}

fn numbered(seen: &mut BTreeMap<String, usize>, what: &str, value: &str) -> String {
    let next = seen.len() + 1;
    let number = seen.entry(value.to_owned()).or_insert(next);
    format!("<{what} {number}>")
}

/// A version that moves with the server is there or is not; which one it is says nothing.
fn without_version(value: &Value) -> Value {
    let mut value = value.clone();
    for pointer in ["/resourceVersion", "/metadata/resourceVersion"] {
        if let Some(version) = value.pointer_mut(pointer) {
            *version = json!({"isEmpty": version.as_str().is_none_or(str::is_empty)});
        }
    }
    value
}

fn without_prose(column: &Value) -> Value {
    let mut column = column.clone();
    if let Some(column) = column.as_object_mut() {
        column.remove("description");
    }
    column
}

fn by_name(resources: &[Value]) -> Value {
    let mut sorted = resources.to_vec();
    sorted.sort_by_key(|resource| resource.get("name").map(Value::to_string));
    Value::Array(sorted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_versions_and_uids_stay_equal_and_others_do_not() {
        let mut mask = Mask::new().unwrap();
        let object = |version: &str| {
            json!({"metadata": {"uid": "0a0a0a0a-1b1b-2c2c-3d3d-4e4e4e4e4e4e", "resourceVersion": version,
                "creationTimestamp": "2026-01-01T00:00:00Z", "name": "drawn-x7k2p"}})
        };
        let shown = |version: &str| {
            json!({"metadata": {"uid": "<uid 1>", "resourceVersion": version,
                "creationTimestamp": "<time>", "name": "drawn-<suffix>"}})
        };
        assert_eq!(mask.apply(&object("7")), shown("<version 1>"));
        assert_eq!(mask.apply(&object("9")), shown("<version 2>"));
        assert_eq!(mask.apply(&object("7")), shown("<version 1>"));
    }

    #[test]
    fn the_version_of_a_list_only_has_to_be_there() {
        let mut mask = Mask::new().unwrap();
        let list = json!({"metadata": {"resourceVersion": "99", "continue": "abc"}, "items": []});
        let shown = json!({"metadata": {"resourceVersion": {"isEmpty": false}, "continue": "<continue>"}, "items": []});
        assert_eq!(mask.apply(&list), shown);
    }
}
