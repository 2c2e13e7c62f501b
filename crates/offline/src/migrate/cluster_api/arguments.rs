//! Extra arguments of components, which v1beta2 gives as a list.

use serde_json::{Value, json};

use super::super::{draft::Draft, path::Path};

/// A map from names to values becomes a list of both, by name.
pub(super) fn listed(draft: &mut Draft<'_>, path: &Path) {
    let Some(Value::Object(map)) = path.find(&draft.value).cloned() else { return };
    let mut arguments: Vec<(String, Value)> = map.into_iter().collect();
    arguments.sort_by(|left, right| left.0.cmp(&right.0));
    let list = arguments.into_iter().map(|(name, value)| json!({"name": name, "value": value}));
    let list = list.collect();
    draft.replace(path, Value::Array(list), "a list of names and values in v1beta2");
}
