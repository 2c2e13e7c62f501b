//! Failure domains of a cluster.

use serde_json::{Map, Value, json};

use super::super::{draft::Draft, path::Path};

/// A map from names to domains becomes a list of domains with names, by name.
pub(super) fn failure_domains(draft: &mut Draft<'_>, path: &Path) {
    let Some(Value::Object(map)) = path.find(&draft.value) else { return };
    let mut domains: Vec<(String, Value)> = map.clone().into_iter().collect();
    domains.sort_by(|left, right| left.0.cmp(&right.0));
    let named = domains.into_iter().map(|(name, domain)| {
        let mut item = Map::from_iter([("name".to_owned(), json!(name))]);
        item.extend(domain.as_object().cloned().unwrap_or_default());
        Value::Object(item)
    });
    let list = named.collect();
    draft.replace(path, Value::Array(list), "a list of domains with names in v1beta2");
}
