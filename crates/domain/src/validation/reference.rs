//! References from one object to another: what is named must be able to exist, and in the same namespace.

use super::{FieldError, Rule, findings::Findings, node::Node};

/// Refuses a Secret of another namespace, and a name that no Secret can have. `always` says whether the Go provider
/// has the namespace rule too.
pub(super) fn check_secret(secret: &Node<'_>, namespace: &str, always: bool, findings: &mut Findings) {
    let found = secret.at("namespace");
    if found.text().is_some_and(|found| found != namespace) {
        let detail = format!(
            "cross-namespace secret references are not allowed: remove it, or copy the Secret into namespace {namespace}"
        );
        let error = FieldError::forbidden(Rule::SecretNamespace, found.path(), detail);
        if always { findings.errors.push(error) } else { findings.newer.push(error) }
    }
    let name = secret.at("name");
    if let Some(text) = name.text().filter(|text| !is_object_name(text)) {
        let detail = match text.to_ascii_lowercase() {
            lower if is_object_name(&lower) => {
                format!(
                    "no Secret can have this name: capital letters are not allowed, did you mean \"{lower}\"?"
                )
            }
            _ => "no Secret can have this name: use lower case letters, digits, '-' and '.'".to_owned(),
        };
        findings.newer.push(FieldError::invalid(Rule::SecretName, name.path(), text, detail));
    }
}

/// Refuses a Metal3DataTemplate of another namespace.
pub(super) fn check_data_template(template: &Node<'_>, namespace: &str, findings: &mut Findings) {
    let found = template.at("namespace");
    if found.text().is_some_and(|found| found != namespace) {
        let detail = format!(
            "a Metal3DataTemplate is used within its own namespace only: remove it, or create the template in \
             namespace {namespace}"
        );
        findings.newer.push(FieldError::forbidden(Rule::DataTemplateNamespace, found.path(), detail));
    }
}

/// Whether an object can have this name.
pub(crate) fn is_object_name(text: &str) -> bool {
    let plain = |b: &u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    let is_label = |label: &str| {
        let bytes = label.as_bytes();
        bytes.iter().all(|b| plain(b) || *b == b'-')
            && bytes.first().is_some_and(plain)
            && bytes.last().is_some_and(plain)
    };
    text.len() <= 253 && text.split('.').all(is_label)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_dns_subdomains() {
        for name in ["a", "machine-1-metadata", "a.b-c.9"] {
            assert!(is_object_name(name), "{name}");
        }
        for name in ["", "machine-1-networkData", "-a", "a.", "a..b", "a_b", &"x".repeat(254)] {
            assert!(!is_object_name(name), "{name}");
        }
    }
}
