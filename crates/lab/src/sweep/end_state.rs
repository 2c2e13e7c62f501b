//! What a run leaves, without what may differ between two good runs.
//!
//! Uids, times, versions and the random ends of names differ, and within a rack it does not matter which machine has
//! which host, index or address. What is left of each object is one line; a run's end is how often each line occurs.

use std::{collections::BTreeMap, sync::Arc};

use base64::{Engine, prelude::BASE64_STANDARD};
use capm3_apiserver::ApiServer;
use regex::Regex;
use serde_json::Value;

/// Members that show how often or when something was written.
const VOLATILE: [&str; 6] =
    ["resourceVersion", "generation", "observedGeneration", "managedFields", "lastUpdated", "index"];

/// What differs between two good runs, and what it is replaced by.
const MASKS: [(&str, &str); 11] = [
    // The claim takes the reservation off the host, so whoever comes after a crash cannot tell that there was one.
    ("AssociateBareMetalHostViaNodeReuseSuccess", "AssociateBareMetalHostSuccess"),
    ("\\b[0-9a-f]{16}([0-9a-f]{48})?\\b", "<digest>"),
    ("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "<uid>"),
    ("[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}(\\.[0-9]+)?Z", "<time>"),
    ("[0-9]{6,10}-[bcdfghjklmnpqrstvwxz2456789]{5}\\b", "<hash>"),
    ("-[bcdfghjklmnpqrstvwxz2456789]{5}\\b", "-*"),
    ("\\brack([123])-(worker|control-plane)-[0-9]+", "rack$1-$2"),
    ("\\b192\\.0\\.2\\.1/([123])-(worker|control-plane)-[0-9]+", "192.0.2.1/$1-$2"),
    ("52:54:00:aa:([0-9a-f]{2}):[0-9a-f]{2}", "52:54:00:aa:$1:*"),
    ("\\b(10[.-]0[.-][123])[.-][1-5][0-9]\\b", "$1.*"),
    ("\\b(net-rack[123]|n[123])-[0-9]+", "$1-*"),
];

/// How often each line occurs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EndState(BTreeMap<String, usize>);

/// Replaces what may differ.
#[derive(Debug)]
pub struct Mask(Vec<(Regex, &'static str)>);

impl Mask {
    /// The patterns, compiled once.
    pub fn new() -> Result<Self, regex::Error> {
        let compiled = MASKS.iter().map(|(pattern, by)| Ok((Regex::new(pattern)?, *by)));
        compiled.collect::<Result<Vec<_>, _>>().map(Self)
    }

    fn text(&self, text: &str) -> String {
        let masked =
            |text: String, (pattern, by): &(Regex, &str)| pattern.replace_all(&text, *by).into_owned();
        self.0.iter().fold(text.to_owned(), masked)
    }

    fn value(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => self.text(text).into(),
            Value::Array(list) => list.iter().map(|item| self.value(item)).collect(),
            Value::Object(map) => {
                let kept = map.iter().filter(|(key, _)| !VOLATILE.contains(&key.as_str()));
                let mut masked: Vec<(String, Value)> =
                    kept.map(|(key, value)| (self.text(key), self.member(key, value))).collect();
                // The order of members is that of writing.
                masked.sort_by(|(a, _), (b, _)| a.cmp(b));
                Value::Object(masked.into_iter().collect())
            }
            other => other.clone(),
        }
    }

    fn member(&self, key: &str, value: &Value) -> Value {
        let mut masked = self.value(value);
        // Ordered by what is masked.
        if let (Value::Array(list), "indexes") = (&mut masked, key) {
            list.sort_by_key(Value::to_string);
        }
        masked
    }

    /// An object as one line; `None` for what only shows what happened, and for what runs on Nodes, which scenarios
    /// judge themselves.
    fn line(&self, object: &Value) -> Option<String> {
        let kind = object.get("kind").and_then(Value::as_str).unwrap_or_default();
        if matches!(kind, "Event" | "CustomResourceDefinition" | "Pod" | "VolumeAttachment") {
            return None;
        }
        let mut object = object.clone();
        if kind == "Secret" {
            decode(&mut object);
        }
        if kind == "Metal3DataClaim" {
            forget_good_news(&mut object);
        }
        if kind == "Node" {
            forget_empty_taints(&mut object);
        }
        Some(self.value(&object).to_string())
    }
}

/// A claim that had to wait long enough to say so says afterwards that it is served; one that never had to says
/// nothing, which spares a write for each machine.
fn forget_good_news(claim: &mut Value) {
    let Some(status) = claim.get_mut("status").and_then(Value::as_object_mut) else { return };
    let Some(conditions) = status.get_mut("conditions").and_then(Value::as_array_mut) else { return };
    conditions.retain(|condition| condition.get("status").and_then(Value::as_str) != Some("True"));
    if conditions.is_empty() {
        status.remove("conditions");
    }
}

/// A Node whose only taint was removed has an empty list; one that never had a taint has none.
fn forget_empty_taints(node: &mut Value) {
    let Some(spec) = node.get_mut("spec").and_then(Value::as_object_mut) else { return };
    if spec.get("taints").and_then(Value::as_array).is_some_and(Vec::is_empty) {
        spec.remove("taints");
    }
}

/// Shows the contents of a Secret as text, so that they can be masked.
fn decode(secret: &mut Value) {
    let data = secret.get_mut("data").and_then(Value::as_object_mut);
    for value in data.into_iter().flat_map(|data| data.values_mut()) {
        let bytes = value.as_str().and_then(|text| BASE64_STANDARD.decode(text).ok());
        if let Some(text) = bytes.and_then(|bytes| String::from_utf8(bytes).ok()) {
            *value = text.into();
        }
    }
}

impl EndState {
    /// What is on a server and in one workload cluster of it.
    pub fn of(server: &ApiServer, workload: &str, mask: &Mask) -> Self {
        let mut objects = server.objects(None);
        objects.extend(server.objects(Some(workload)));
        Self::of_objects(&objects, mask)
    }

    fn of_objects(objects: &[Arc<Value>], mask: &Mask) -> Self {
        let mut lines = BTreeMap::new();
        for line in objects.iter().filter_map(|object| mask.line(object)) {
            *lines.entry(line).or_insert(0) += 1;
        }
        Self(lines)
    }

    /// How another end differs from this one, a line each.
    pub fn differences(&self, other: &Self) -> Vec<String> {
        let all: std::collections::BTreeSet<&String> = self.0.keys().chain(other.0.keys()).collect();
        let count = |state: &Self, line: &String| state.0.get(line).copied().unwrap_or(0);
        let differs = |line: &&String| count(self, line) != count(other, line);
        let line_of =
            |line: &String| format!("{} times instead of {}: {line}", count(other, line), count(self, line));
        all.into_iter().filter(differs).map(line_of).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn state(objects: &[Value]) -> EndState {
        let objects: Vec<Arc<Value>> = objects.iter().cloned().map(Arc::new).collect();
        EndState::of_objects(&objects, &Mask::new().unwrap())
    }

    fn machine(suffix: &str, host: u32, ready: bool) -> Value {
        json!({"kind": "Metal3Machine", "metadata": {"name": format!("workers-1-bcdfg-{suffix}"),
            "uid": format!("00000000-0000-4000-8000-00000000000{host}"), "resourceVersion": suffix,
            "annotations": {"metal3.io/BareMetalHost": format!("metal3/rack1-worker-{host}")}},
            "status": {"ready": ready, "renderedData": {"name": format!("net-rack1-{host}")},
                "addresses": [{"address": format!("10.0.1.1{host}")}]}})
    }

    #[test]
    fn machines_that_changed_places_within_a_rack_are_the_same_end() {
        let one = state(&[machine("xxxxx", 1, true), machine("zzzzz", 2, true)]);
        assert_eq!(one, state(&[machine("bbbbb", 2, true), machine("ccccc", 1, true)]));
    }

    #[test]
    fn one_machine_less_or_one_not_ready_is_another_end() {
        let good = state(&[machine("xxxxx", 1, true), machine("zzzzz", 2, true)]);
        assert_eq!(good.differences(&state(&[machine("xxxxx", 1, true)])).len(), 1);
        let worse = state(&[machine("xxxxx", 1, true), machine("zzzzz", 2, false)]);
        let differences = good.differences(&worse);
        assert!(differences.iter().any(|line| line.starts_with("1 times instead of 2")), "{differences:?}");
        assert!(differences.iter().any(|line| line.starts_with("1 times instead of 0")), "{differences:?}");
    }

    #[test]
    fn a_node_that_has_a_taint_no_more_ends_as_one_that_never_had_one() {
        let node = |spec: Value| state(&[json!({"kind": "Node", "metadata": {"name": "n"}, "spec": spec})]);
        assert_eq!(node(json!({})), node(json!({"taints": []})));
        assert_ne!(node(json!({})), node(json!({"taints": [{"key": "k"}]})));
    }

    #[test]
    fn a_claim_that_once_waited_ends_as_one_that_never_did_but_one_that_still_waits_does_not() {
        let claim =
            |status: Value| json!({"kind": "Metal3DataClaim", "metadata": {"name": "m"}, "status": status});
        let ready = |status: &str| claim(json!({"conditions": [{"type": "Ready", "status": status}]}));
        assert_eq!(state(&[claim(json!({}))]), state(&[ready("True")]));
        assert_ne!(state(&[claim(json!({}))]), state(&[ready("False")]));
    }
}
