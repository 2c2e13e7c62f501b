//! Syntax of label keys and values.

/// Longest label value, and longest name part of a key.
pub(super) const MAX_LENGTH: usize = 63;
const MAX_PREFIX_LENGTH: usize = 253;

/// What is wrong with a label key; none if it is fine.
pub(super) fn key_problem(key: &str) -> Option<&'static str> {
    let (prefix, name) = match key.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, key),
    };
    if prefix.is_some_and(|prefix| !is_subdomain(prefix)) {
        return Some("the part before the slash must be a DNS name");
    }
    if name.is_empty() {
        return Some("the name must not be empty");
    }
    if name.len() > MAX_LENGTH {
        return Some("the name must be no more than 63 bytes");
    }
    (!is_word(name)).then_some(
        "the name must consist of letters, digits, '-', '_' or '.', and start and end with a letter or digit",
    )
}

/// What is wrong with a label value; none if it is fine.
pub(crate) fn value_problem(value: &str) -> Option<&'static str> {
    if value.len() > MAX_LENGTH {
        return Some("must be no more than 63 bytes");
    }
    (!value.is_empty() && !is_word(value)).then_some(
        "must consist of letters, digits, '-', '_' or '.', and start and end with a letter or digit",
    )
}

fn is_word(text: &str) -> bool {
    let inner = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
    let edge = |b: Option<&u8>| b.is_some_and(u8::is_ascii_alphanumeric);
    let bytes = text.as_bytes();
    bytes.iter().copied().all(inner) && edge(bytes.first()) && edge(bytes.last())
}

pub(crate) fn is_subdomain(text: &str) -> bool {
    let plain = |b: &u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    let part = |part: &str| {
        let bytes = part.as_bytes();
        bytes.iter().all(|b| plain(b) || *b == b'-')
            && bytes.first().is_some_and(plain)
            && bytes.last().is_some_and(plain)
    };
    text.len() <= MAX_PREFIX_LENGTH && text.split('.').all(part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_follow_the_syntax_of_kubernetes() {
        for key in ["a", "size", "a.b_c-d", "example.com/size", "A9"] {
            assert_eq!(key_problem(key), None, "{key}");
        }
        let long = "x".repeat(64);
        for key in ["", "bad key!", "-a", "a-", "/a", "Example.com/a", "a/", "a/b/c", "a..b/c", &long] {
            assert!(key_problem(key).is_some(), "{key}");
        }
    }

    #[test]
    fn values_may_be_empty_but_not_long_or_odd() {
        for value in ["", "a", "10", "A.b_c-d"] {
            assert_eq!(value_problem(value), None, "{value}");
        }
        let long = "x".repeat(64);
        for value in ["a b", "-7", "a-", "ü", &long] {
            assert!(value_problem(value).is_some(), "{value}");
        }
    }
}
