//! Goes through a document of one of the provider's kinds, member by member along the schema of v1beta2, and brings
//! each to the name and the form that the schema knows. What it does not know is the user's to decide.

use serde_json::{Value, json};

use super::{
    draft::{Draft, UNSET},
    forms,
    path::Path,
    scalar,
    shape::Schema,
    tables::{DROPPED, RENAMED, Renamed},
};
use crate::nearest::nearest;

/// Brings the value at this path, and everything in it, to the schema's form.
pub(super) fn walk(draft: &mut Draft<'_>, path: &Path, schema: Schema<'_>, prune: bool) {
    forms::apply(draft, path);
    scalar::settle(draft, path, schema);
    match path.find(&draft.value) {
        Some(Value::Object(_)) if schema.expects("object") => members(draft, path, schema, prune),
        Some(Value::Array(items)) if schema.expects("array") => {
            let (count, item) = (items.len(), schema.items());
            for index in 0..count {
                item.into_iter().for_each(|item| walk(draft, &path.item(index), item, prune));
            }
        }
        Some(Value::Null) | None => {}
        Some(other) => {
            if let Some(expected) = mismatch(schema, other) {
                let found = forms::of(other);
                draft.error(path, format!("is {found} where {expected} is expected"), None);
            }
        }
    }
}

/// What the schema wants instead, where the value has another form. Whether a number is in its bounds is for `lint` and
/// for the API server to say.
fn mismatch(schema: Schema<'_>, value: &Value) -> Option<&'static str> {
    if schema.expects("object") && !value.is_object() {
        return Some("an object");
    }
    if schema.expects("array") && !value.is_array() {
        return Some("a list");
    }
    let wants_one = ["string", "integer", "number", "boolean"].iter().any(|kind| schema.expects(kind));
    (wants_one && (value.is_object() || value.is_array())).then_some("one value")
}

fn members(draft: &mut Draft<'_>, path: &Path, schema: Schema<'_>, prune: bool) {
    for key in keys(draft, path) {
        if !schema.names(&key) {
            rename(draft, path, &key, schema, prune);
        }
    }
    for key in keys(draft, path) {
        let Some(member) = schema.member(&key) else { continue };
        let below = path.key(&key);
        if !schema.names(&key)
            && member.expects("string")
            && below.find(&draft.value).is_some_and(Value::is_null)
        {
            // A label that is dropped selects, or is selected by, more than one that is empty.
            draft.error(&below, "is empty where text is expected", Some("\"\", or remove it".to_owned()));
            continue;
        }
        walk(draft, &below, member, prune);
        let is_empty = below.find(&draft.value).is_some_and(|value| member.refuses_as_empty(value));
        if is_empty && !schema.requires(&key) {
            draft.remove(&below, UNSET);
        }
    }
}

fn keys(draft: &Draft<'_>, path: &Path) -> Vec<String> {
    let map = path.find(&draft.value).and_then(Value::as_object);
    map.map(|map| map.keys().cloned().collect()).unwrap_or_default()
}

/// Deals with a member that has none of the names of the schema.
fn rename(draft: &mut Draft<'_>, path: &Path, key: &str, schema: Schema<'_>, prune: bool) {
    let below = path.key(key);
    let same = |known: &str| known.eq_ignore_ascii_case(key);
    if let Some(Renamed { new, why, .. }) = RENAMED
        .iter()
        .find(|rule| same(rule.old) && path.ends_with(rule.at) && schema.member(rule.new).is_some())
    {
        // Both may be there; they can be compared once the new one has its form.
        forms::apply(draft, &path.key(new));
        if draft.relocate(&below, &path.key(new), why) && new.ends_with("FromPool") {
            complete_pools(draft, &path.key(new));
        }
    } else if let Some(dropped) =
        DROPPED.iter().find(|rule| path.ends_with(rule.at) && rule.members.iter().any(|member| same(member)))
    {
        draft.remove(&below, dropped.why);
    } else if schema.is_open() {
        // Any name will do.
    } else if let Some(member) = schema.members().find(|member| same(member)) {
        draft.relocate(&below, &path.key(member), "names are case-sensitive");
    } else if draft.is_disputed(&below) {
        // Reported already, in better words.
    } else if prune {
        draft.remove(&below, "unknown field, removed because of --prune");
    } else {
        let meant = nearest(key, schema.members());
        let proposal = meant
            .map_or_else(|| "remove it, or use --prune".to_owned(), |meant| format!("{meant}, or remove it"));
        draft.error(&below, "unknown field", Some(proposal));
    }
}

/// Older documents name a pool alone; the group and the kind that this meant are written out.
fn complete_pools(draft: &mut Draft<'_>, path: &Path) {
    let items = path.find_mut(&mut draft.value).and_then(Value::as_array_mut);
    for item in items.into_iter().flatten().filter_map(Value::as_object_mut) {
        for (key, value) in [("apiGroup", "ipam.metal3.io"), ("kind", "IPPool")] {
            let has =
                item.iter().any(|(member, value)| member.eq_ignore_ascii_case(key) && *value != json!(""));
            if !has {
                item.insert(key.to_owned(), json!(value));
            }
        }
    }
}
