//! Documents as YAML, members in the order in which they stand.

use serde_json::Value;

/// Wider than any line, so that no text is folded: a user should find again what stood there.
const NEVER_FOLD: usize = 1_000_000;

/// The documents as one text, separated by `---`.
pub fn to_yaml(documents: &[Value]) -> String {
    documents.iter().map(one).collect::<Vec<_>>().join("---\n")
}

fn one(document: &Value) -> String {
    let options = serde_saphyr::ser_options! { folded_wrap_chars: NEVER_FOLD, min_fold_chars: NEVER_FOLD };
    let text = serde_saphyr::to_string_with_options(document, options);
    text.expect("a JSON value has a form in YAML, and text takes everything that is written to it")
}
