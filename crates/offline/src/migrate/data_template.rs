//! Metal3DataTemplate: what is accepted and should be checked.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{draft::Draft, names::is_legal, path::Path};

/// Lists what a person should check.
pub(super) fn check(draft: &mut Draft<'_>) {
    if draft.get("spec.clusterName").is_some() {
        draft.warn(&Path::of("spec.clusterName"), "deprecated: it only sets the label of the cluster", None);
    }
    let key = draft.text("spec.templateReference").to_owned();
    check_key(draft, &key);
    check_macs(draft);
    check_keys(draft);
}

/// A key that is no legal name cannot be a part of the names of data.
pub(super) fn check_key(draft: &mut Draft<'_>, key: &str) {
    if !key.is_empty() && !is_legal(key) {
        let message = format!("{key} is not a valid object name, so data is named after its template");
        draft.warn(
            &Path::of("spec.templateReference"),
            message,
            Some(key.to_lowercase()).filter(|lower| is_legal(lower)),
        );
    }
}

/// Placeholders such as `XX:XX:XX:XX:XX:XX`.
fn check_macs(draft: &mut Draft<'_>) {
    for list in ["ethernets", "bonds", "vlans"] {
        let path = Path::of("spec.networkData.links").key(list);
        let count = path.find(&draft.value).and_then(Value::as_array).map_or(0, Vec::len);
        for index in 0..count {
            let at = path.item(index).key("macAddress").key("string");
            let Some(mac) = at.find(&draft.value).and_then(Value::as_str).map(ToOwned::to_owned) else {
                continue;
            };
            if !is_mac(&mac) {
                draft.warn(&at, format!("{mac} is not a MAC address: rendering refuses it"), None);
            }
        }
    }
}

fn is_mac(text: &str) -> bool {
    let parts: Vec<&str> = text.split([':', '-']).collect();
    parts.len() == 6
        && parts.iter().all(|part| part.len() == 2 && part.chars().all(|c| c.is_ascii_hexdigit()))
}

/// One key in two lists: the later list wins.
fn check_keys(draft: &mut Draft<'_>) {
    let Some(lists) = draft.get("spec.metaData").and_then(Value::as_object).cloned() else { return };
    let mut seen: BTreeMap<String, &str> = BTreeMap::new();
    for (list, items) in &lists {
        for (index, item) in items.as_array().into_iter().flatten().enumerate() {
            let Some(key) = item.get("key").and_then(Value::as_str) else { continue };
            match seen.get(key).filter(|other| *other != list) {
                Some(other) => {
                    let at = Path::of("spec.metaData").key(list).item(index).key("key");
                    draft.warn(
                        &at,
                        format!("key {key} is in {other} too: one of the two values is lost"),
                        None,
                    );
                }
                None => {
                    seen.insert(key.to_owned(), list);
                }
            }
        }
    }
}
