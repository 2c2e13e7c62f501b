//! Index spaces: which templates count together.
//!
//! A template counts in the space of its key, which is its `templateReference` or else its name; so does a data object.
//! A data object occupies its index in a template's space if the keys are equal or if it names the template. The rule
//! is symmetric, so two templates that share a key see the same indexes, whichever of them came first.

use capm3_api::{
    metadata::MetadataExt,
    v1beta2::{Metal3Data, Metal3DataTemplate},
    vocabulary::annotation::TEMPLATE_REFERENCE,
};
use kube::core::ObjectMeta;

use super::Index;

/// Longest name of an object.
const LONGEST_NAME: usize = 253;

/// Digits and dash that an index may add to a name.
const INDEX_LENGTH: usize = 11;

/// The key of a template.
pub fn space_of_template(template: &Metal3DataTemplate) -> &str {
    given(template.spec.template_reference.as_deref(), &template.metadata)
        .unwrap_or_else(|| template.metadata.name_str())
}

/// The key of a data object; none if it names no template. A key that was lost, because an older program wrote the
/// object back without it, is found again in the object's name.
pub fn space_of_data(data: &Metal3Data) -> Option<&str> {
    let template = data.spec.template.as_ref().map(|t| t.name_str()).filter(|name| !name.is_empty());
    given(data.spec.template_reference.as_deref(), &data.metadata)
        .or_else(|| prefix_of_name(data).filter(|prefix| Some(*prefix) != template))
        .or(template)
}

fn given<'a>(key: Option<&'a str>, metadata: &'a ObjectMeta) -> Option<&'a str> {
    key.or_else(|| metadata.annotation(TEMPLATE_REFERENCE)).filter(|key| !key.is_empty())
}

/// What stands before the index in the name of a data object.
fn prefix_of_name(data: &Metal3Data) -> Option<&str> {
    let index = data.spec.index.and_then(Index::new)?;
    let prefix = data.metadata.name_str().strip_suffix(&index.to_string())?;
    prefix.strip_suffix('-').filter(|prefix| !prefix.is_empty())
}

/// What stands before the index in the names of new data: the key, whose name then is a lock in the API server, or the
/// template's name where the key could not be one.
///
/// ```
/// use capm3_domain::index::name_prefix;
///
/// assert_eq!(name_prefix("nodepool", "nodepool-2"), "nodepool");
/// assert_eq!(name_prefix("SharedRef", "nodepool-2"), "nodepool-2");
/// ```
pub fn name_prefix<'a>(space: &'a str, template: &'a str) -> &'a str {
    if is_name(space) { space } else { template }
}

/// Whether the text, with an index behind it, can name an object.
fn is_name(text: &str) -> bool {
    let label = |label: &str| {
        let good = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        !label.is_empty() && label.chars().all(good) && !label.starts_with('-')
    };
    // The last part gets the index behind it, so it may end in a dash, the others may not.
    let mut parts = text.split('.').rev();
    let last = parts.next().is_some_and(label);
    last && parts.all(|part| label(part) && !part.ends_with('-')) && text.len() + INDEX_LENGTH <= LONGEST_NAME
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn template(value: Value) -> Metal3DataTemplate {
        serde_json::from_value(value).unwrap()
    }

    fn data(name: &str, spec: Value) -> Metal3Data {
        serde_json::from_value(json!({"metadata": {"name": name}, "spec": spec})).unwrap()
    }

    /// Data that carries the key of a template counts for it, whatever its own template is called.
    #[test]
    fn s164_equal_keys_on_data_and_template_count_together() {
        let keyed = template(json!({"metadata": {"name": "b"}, "spec": {"templateReference": "k"}}));
        assert_eq!(space_of_template(&keyed), "k");
        let made = data("k-3", json!({"index": 3, "template": {"name": "a"}, "templateReference": "k"}));
        assert_eq!(space_of_data(&made), Some("k"));
        let mirrored = template(json!({"metadata": {"name": "b", "annotations": {TEMPLATE_REFERENCE: "k"}}}));
        assert_eq!(space_of_template(&mirrored), "k", "the annotation stands in where the field was dropped");
    }

    /// Without keys every template counts for itself.
    #[test]
    fn s163_without_a_key_the_template_counts_for_itself() {
        assert_eq!(space_of_template(&template(json!({"metadata": {"name": "a"}}))), "a");
        assert_eq!(space_of_data(&data("a-0", json!({"index": 0, "template": {"name": "a"}}))), Some("a"));
        assert_eq!(space_of_data(&data("x", json!({"index": 0}))), None);
    }

    /// A key may be the name of another template, whose data carry no key.
    #[test]
    fn s165_a_key_that_is_a_templates_name_counts_with_that_templates_data() {
        let next = template(json!({"metadata": {"name": "b"}, "spec": {"templateReference": "a"}}));
        let old = data("a-0", json!({"index": 0, "template": {"name": "a"}}));
        assert_eq!(Some(space_of_template(&next)), space_of_data(&old));
    }

    #[test]
    fn a_lost_key_is_found_again_in_the_name() {
        let lost = data("k-12", json!({"index": 12, "template": {"name": "b"}}));
        assert_eq!(space_of_data(&lost), Some("k"));
        for (name, index) in [("odd-name", 3), ("-3", 3), ("3", 3), ("b-3", 3), ("k-12", 2)] {
            let other = data(name, json!({"index": index, "template": {"name": "b"}}));
            assert_eq!(space_of_data(&other), Some("b"), "{name}");
        }
    }

    /// A key that cannot name an object gives its place to the template's name.
    #[test]
    fn s166_data_is_named_after_the_key_where_that_is_a_name() {
        let long = "x".repeat(250);
        for (space, expected) in [
            ("shared", "shared"),
            ("shared.ref", "shared.ref"),
            ("SharedRef", "t"),
            ("shared ref", "t"),
            ("-shared", "t"),
            ("a-.b", "t"),
            ("a..b", "t"),
            (long.as_str(), "t"),
        ] {
            assert_eq!(name_prefix(space, "t"), expected, "{space}");
        }
    }
}
