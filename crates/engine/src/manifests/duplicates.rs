//! Objects that stand twice among documents: the same text twice does no harm, two different ones cannot both be meant.

use std::collections::{BTreeMap, btree_map::Entry};

use serde_json::Value;

use super::{Document, Problem};

/// A problem for each document that says something else than an earlier one about the same object.
pub fn contradictions(documents: &[Document]) -> Vec<Problem> {
    let mut first: BTreeMap<Identity<'_>, &Document> = BTreeMap::new();
    let mut problems = Vec::new();
    for document in documents {
        match first.entry(identity(&document.value)) {
            Entry::Vacant(place) => {
                place.insert(document);
            }
            Entry::Occupied(earlier) if earlier.get().value != document.value => {
                let (file, line) = (&earlier.get().file, earlier.get().line());
                problems.push(document.problem(
                    "",
                    format!("already defined at {file}:{line} with other content: keep one of them"),
                ));
            }
            Entry::Occupied(_) => {}
        }
    }
    problems
}

/// Group, kind, namespace, name.
type Identity<'a> = (&'a str, &'a str, &'a str, &'a str);

fn identity(object: &Value) -> Identity<'_> {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let group = text("/apiVersion").split_once('/').map_or("", |(group, _)| group);
    (group, text("/kind"), text("/metadata/namespace"), text("/metadata/name"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOST: &str =
        "apiVersion: metal3.io/v1alpha1\nkind: BareMetalHost\nmetadata: {name: h, namespace: m}\n";

    #[test]
    fn only_documents_that_differ_are_reported_with_both_places() {
        let text = format!("{HOST}---\n{HOST}---\n{HOST}spec: {{online: true}}\n");
        let problems = contradictions(&crate::manifests::parse("hosts.yaml", &text).documents);
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert_eq!(
            problems[0].to_string(),
            "hosts.yaml:9: BareMetalHost m/h: already defined at hosts.yaml:1 with other content: keep one of them"
        );
    }
}
