//! The syntax of names, labels, annotations and finalizers: takes text, gives Kubernetes' complaint or nothing.

const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and \
    must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
    '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and \
    end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is \
    '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const QUALIFIED: &str = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an \
    alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
    '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const LABEL_VALUE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and \
    must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for \
    validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

const CONFIG_KEY: &str = "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or \
    'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";

fn too_long(max: usize) -> String {
    format!("must be no more than {max} bytes")
}

fn dns_label(text: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    !text.is_empty() && text.bytes().all(inner) && !text.starts_with('-') && !text.ends_with('-')
}

fn word(text: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let edge = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric());
    text.bytes().all(inner) && edge(text.bytes().next()) && edge(text.bytes().next_back())
}

/// A name most objects may have.
pub(crate) fn subdomain(name: &str) -> Option<String> {
    if name.len() > 253 {
        return Some(too_long(253));
    }
    (!name.split('.').all(dns_label)).then(|| SUBDOMAIN.to_owned())
}

/// A name that must be one DNS label, such as that of a namespace.
pub(crate) fn label(name: &str) -> Option<String> {
    if name.len() > 63 {
        return Some(too_long(63));
    }
    (!dns_label(name)).then(|| LABEL.to_owned())
}

/// The key of a label or annotation, or a finalizer: an optional DNS prefix and a name.
pub(crate) fn qualified(key: &str) -> Option<String> {
    let (prefix, name) = match key.split_once('/') {
        None => (None, key),
        Some((prefix, name)) => (Some(prefix), name),
    };
    match prefix {
        Some("") => return Some("prefix part must be non-empty".to_owned()),
        Some(prefix) => {
            if let Some(complaint) = subdomain(prefix) {
                return Some(format!("prefix part {complaint}"));
            }
        }
        None => {}
    }
    if name.is_empty() {
        return Some("name part must be non-empty".to_owned());
    }
    if name.len() > 63 {
        return Some(format!("name part {}", too_long(63)));
    }
    (!word(name)).then(|| QUALIFIED.to_owned())
}

/// A key of the data of a ConfigMap or Secret, which may become the name of a file.
pub(crate) fn config_key(key: &str) -> Option<String> {
    if key.len() > 253 {
        return Some(too_long(253));
    }
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    match key {
        "." | ".." => Some(format!("must not be '{key}'")),
        _ if key.is_empty() || !key.bytes().all(inner) => Some(CONFIG_KEY.to_owned()),
        _ => key.starts_with("..").then(|| "must not start with '..'".to_owned()),
    }
}

/// The value of a label.
pub(crate) fn label_value(value: &str) -> Option<String> {
    if value.len() > 63 {
        return Some(too_long(63));
    }
    (!value.is_empty() && !word(value)).then(|| LABEL_VALUE.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_rfc_1123() {
        for good in ["a", "a-b", "a.b", "0", "machine-0.rack-1"] {
            assert_eq!(subdomain(good), None, "{good}");
        }
        for bad in ["", "A", "-a", "a-", "a..b", "a_b", "a.", "ä"] {
            assert!(subdomain(bad).is_some(), "{bad}");
        }
        assert_eq!(subdomain(&"a".repeat(254)).unwrap(), "must be no more than 253 bytes");
        assert!(label("a.b").is_some());
    }

    #[test]
    fn keys_are_an_optional_prefix_and_a_word() {
        for good in ["a", "A_b.c", "metal3.io/uuid", "x/1"] {
            assert_eq!(qualified(good), None, "{good}");
        }
        for bad in ["", "/a", "a/", "A/b", "a b", "a/b/c", "-a"] {
            assert!(qualified(bad).is_some(), "{bad}");
        }
    }

    #[test]
    fn keys_of_data_are_names_of_files_that_stay_in_their_folder() {
        for good in ["a", "A_b.c", ".dockerconfigjson", "-"] {
            assert_eq!(config_key(good), None, "{good}");
        }
        for bad in ["", ".", "..", "..a", "a b", "a/b", &"a".repeat(254)] {
            assert!(config_key(bad).is_some(), "{bad}");
        }
    }

    #[test]
    fn label_values_may_be_empty_but_not_have_spaces() {
        assert_eq!(label_value(""), None);
        assert_eq!(label_value("rack-1_A.b"), None);
        assert!(label_value("a b").is_some());
        assert!(label_value(&"a".repeat(64)).is_some());
    }
}
