//! Host selectors.

use serde_json::{Value, json};

use super::super::{draft::Draft, path::Path};

const QUOTES: &str = "typographic quotes are part of a value for YAML; ' or \" is meant";

/// Label values without typographic quotes.
pub(super) fn match_labels(draft: &mut Draft<'_>, path: &Path) {
    let Some(Value::Object(map)) = path.find(&draft.value).cloned() else { return };
    for (key, value) in &map {
        if let Some(bare) = value.as_str().and_then(unquoted) {
            draft.replace(&path.key(key), json!(bare), QUOTES);
        }
    }
}

/// One expression without the dash of a list is a list of one.
pub(super) fn match_expressions(draft: &mut Draft<'_>, path: &Path) {
    if let Some(map @ Value::Object(_)) = path.find(&draft.value).cloned() {
        draft.replace(path, json!([map]), "a list of expressions, of which this is one");
        draft.remember(&path.item(0), path);
    }
}

/// `{ a, b }` is a map with empty values for YAML, and a single value is not a list; both are lists of values. The
/// values have no typographic quotes.
pub(super) fn values(draft: &mut Draft<'_>, path: &Path) {
    match path.find(&draft.value).cloned() {
        Some(Value::Object(map)) if map.values().all(Value::is_null) => {
            let keys: Vec<&String> = map.keys().collect();
            draft.replace(path, json!(keys), "{ a, b } is a map for YAML; [ a, b ] is the list");
        }
        Some(text @ Value::String(_)) => {
            draft.replace(path, json!([text]), "a list of values, of which this is one")
        }
        _ => {}
    }
    let Some(Value::Array(items)) = path.find(&draft.value).cloned() else { return };
    for (index, item) in items.iter().enumerate() {
        if let Some(bare) = item.as_str().and_then(unquoted) {
            draft.replace(&path.item(index), json!(bare), QUOTES);
        }
    }
}

/// What stands between typographic quotes, if the text is in such quotes.
fn unquoted(text: &str) -> Option<&str> {
    const PAIRS: [(char, char); 4] = [
        ('\u{2018}', '\u{2019}'),
        ('\u{201c}', '\u{201d}'),
        ('\u{201e}', '\u{201c}'),
        ('\u{00ab}', '\u{00bb}'),
    ];
    PAIRS.iter().find_map(|(open, close)| text.strip_prefix(*open)?.strip_suffix(*close))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_pair_of_typographic_quotes_is_taken_off() {
        for (text, bare) in [
            ("\u{2018}a\u{2019}", Some("a")),
            ("\u{201c}a b\u{201d}", Some("a b")),
            ("\u{2018}a", None),
            ("'a'", None),
            ("a", None),
            ("", None),
        ] {
            assert_eq!(unquoted(text), bare, "{text}");
        }
    }
}
