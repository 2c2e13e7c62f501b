//! Field paths as API servers write them: `spec.pools[0].start`, `metadata.labels[example.com/role]`.
//!
//! Keys may hold dots and slashes themselves (`metadata.labels.example.com/role`), so a path cannot be divided without
//! looking at the keys that are there: the longest that fits is taken.

use serde_json::Value;

/// The value at a path.
pub(super) fn value_at<'a>(value: &'a Value, path: &str) -> Option<&'a Value> {
    let path = path.strip_prefix('.').unwrap_or(path);
    if path.is_empty() {
        return Some(value);
    }
    let (inner, rest) = match value {
        Value::Object(members) => longest(members.iter().map(|(key, inner)| (key.as_str(), inner)), path)?,
        Value::Array(items) => {
            let (number, rest) = item(path)?;
            (items.get(number)?, rest)
        }
        _ => return None,
    };
    value_at(inner, rest)
}

/// The member with the longest key with which a path begins, and what is left of the path.
pub(super) fn longest<'a, 'p, T>(
    members: impl Iterator<Item = (&'a str, &'a T)>,
    path: &'p str,
) -> Option<(&'a T, &'p str)> {
    let fitting = members.filter_map(|(key, inner)| Some((key.len(), inner, after_key(path, key)?)));
    fitting.max_by_key(|(length, _, _)| *length).map(|(_, inner, rest)| (inner, rest))
}

/// The number of the list item with which a path begins, and what is left of the path.
pub(super) fn item(path: &str) -> Option<(usize, &str)> {
    let (number, rest) = path.strip_prefix('[')?.split_once(']')?;
    Some((number.parse().ok()?, rest))
}

/// What is left of a path when its first part is this key, in brackets or not.
fn after_key<'p>(path: &'p str, key: &str) -> Option<&'p str> {
    let bracketed = path
        .strip_prefix('[')
        .and_then(|path| path.strip_prefix(key))
        .and_then(|path| path.strip_prefix(']'));
    bracketed.or_else(|| {
        let rest = path.strip_prefix(key)?;
        (rest.is_empty() || rest.starts_with(['.', '['])).then_some(rest)
    })
}
