//! Warnings for callers of a deprecated version of a custom resource.

use serde_json::Value;

use crate::{crd::flag, discovery::rank, meta::str_at};

/// The warning of a version: the author's own words, or those of Kubernetes. None if it is not deprecated.
pub(crate) fn text(spec: &Value, version: &Value) -> Option<String> {
    if !flag(version, "deprecated") {
        return None;
    }
    let own = str_at(version, "deprecationWarning");
    if !own.is_empty() {
        return Some(own.to_owned());
    }
    let name = str_at(version, "name");
    let (group, kind) = (str_at(spec, "group"), spec.get("names").map_or("", |names| str_at(names, "kind")));
    let others = spec.get("versions").and_then(Value::as_array).into_iter().flatten();
    let newer = others
        .filter(|other| flag(other, "served") && !flag(other, "deprecated"))
        .map(|other| str_at(other, "name"))
        .filter(|other| rank(other) > rank(name))
        .max_by_key(|other| rank(other));
    let advice = newer.map(|newer| format!("; use {group}/{newer} {kind}")).unwrap_or_default();
    Some(format!("{group}/{name} {kind} is deprecated{advice}"))
}
