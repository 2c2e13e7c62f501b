//! Names of objects.

use super::{draft::Draft, path::Path};

/// Whether an object can have this name: lower-case letters, digits, `-` and `.`, with a letter or digit at both ends
/// of each part between dots.
pub(super) fn is_legal(name: &str) -> bool {
    let is_word = |part: &str| {
        let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        !part.is_empty() && part.chars().all(inner) && !part.starts_with('-') && !part.ends_with('-')
    };
    name.len() <= 253 && name.split('.').all(is_word)
}

/// The nearest legal name, if lower case is all that is missing.
fn legal(name: &str) -> Option<String> {
    Some(name.to_lowercase()).filter(|lower| is_legal(lower))
}

/// Says that the object that is referred to can never exist, if so.
pub(super) fn check_reference(draft: &mut Draft<'_>, keys: &str, what: &str) {
    let name = draft.text(keys).to_owned();
    if !name.is_empty() && !is_legal(&name) {
        let message = format!("no {what} can have the name {name}: names are lower case");
        draft.error(&Path::of(keys), message, legal(&name));
    }
}

/// Says that one Secret is to be both, if so.
pub(super) fn check_one_secret_for_both(draft: &mut Draft<'_>, base: &str, stem: &str) {
    let (meta, network) = (format!("{base}.metaData.name"), format!("{base}.networkData.name"));
    let name = draft.text(&network).to_owned();
    if !name.is_empty() && draft.text(&meta) == name {
        let message = format!("one Secret, {name}, for both metaData and networkData");
        let proposal = name.strip_suffix("-metadata").unwrap_or(stem);
        draft.warn(&Path::of(&network), message, Some(format!("{proposal}-networkdata")));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_judged_as_an_api_server_does() {
        for (name, legal) in [
            ("machine-1-networkdata", true),
            ("a.b-c.0", true),
            ("machine-1-networkData", false),
            ("SharedRef", false),
            ("-a", false),
            ("a-", false),
            ("a..b", false),
            ("", false),
        ] {
            assert_eq!(is_legal(name), legal, "{name}");
        }
        assert_eq!(legal("machine-1-networkData").as_deref(), Some("machine-1-networkdata"));
        assert_eq!(legal("a_B"), None);
    }
}
