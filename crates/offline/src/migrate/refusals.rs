//! What an API server with the provider's rules would say to a document that is done.
//!
//! Exit code 0 of `migrate` means that the output can be applied, so the rules of admission judge it. No rule is written twice.

use capm3_domain::validation::{self, FieldError, Refusal, Rule};
use serde_json::Value;

use super::{draft::Draft, path::Path};

/// Reports every refusal that nobody reported yet.
pub(super) fn report(draft: &mut Draft<'_>) {
    let kind = draft.text("kind").to_owned();
    let mut object = draft.value.clone();
    validation::fill_in(&kind, &mut object);
    match validation::review(&kind, None, &object).refusal {
        None => {}
        Some(Refusal::Denied(rule, message)) => report_one(draft, &Path::default(), rule, &message),
        Some(Refusal::Invalid(errors)) => errors.iter().for_each(|error| one(draft, error)),
    }
}

fn one(draft: &mut Draft<'_>, error: &FieldError) {
    // The namespace of a document without one is chosen when it is applied.
    let is_of_namespaces = error.path.ends_with(".namespace");
    if is_of_namespaces && draft.text("metadata.namespace").is_empty() {
        return;
    }
    // The name of data, which does not fit its template.
    let field = if error.path == "name" { "spec.template.name" } else { &error.path };
    let at = place(&draft.value, field);
    if !draft.is_disputed(&at) {
        report_one(draft, &at, error.rule, &error.to_string());
    }
}

fn report_one(draft: &mut Draft<'_>, at: &Path, rule: Rule, refusal: &str) {
    let message = format!("an API server refuses it: {refusal} ({})", rule.code());
    if is_left_open(draft) { draft.warn(at, message, None) } else { draft.error(at, message, None) }
}

/// The address of a cluster is what an overlay or a class puts in: files without any are common, and whole otherwise.
fn is_left_open(draft: &Draft<'_>) -> bool {
    let spec = match draft.text("kind") {
        "Metal3Cluster" => "spec",
        "Metal3ClusterTemplate" => "spec.template.spec",
        _ => return false,
    };
    draft.get(&format!("{spec}.controlPlaneEndpoint")).is_none()
}

/// The deepest part of a path that the document has. Refusals write paths in the case of Go's names in places, and
/// positions after dots.
fn place(document: &Value, field: &str) -> Path {
    let mut path = Path::default();
    for step in field.split(['.', '[', ']']).filter(|step| !step.is_empty()) {
        let next = match path.find(document) {
            Some(Value::Object(map)) => {
                let exact = map.keys().find(|key| *key == step);
                exact
                    .or_else(|| map.keys().find(|key| key.eq_ignore_ascii_case(step)))
                    .map(|key| path.key(key))
            }
            Some(Value::Array(items)) => {
                step.parse().ok().filter(|index| *index < items.len()).map(|index| path.item(index))
            }
            _ => None,
        };
        let Some(next) = next else { break };
        path = next;
    }
    path
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_place_of_a_refusal_is_found_in_each_way_of_writing_it() {
        let document = json!({"spec": {"image": {"url": "x"}, "list": [{"a": 1}]}});
        for (field, found) in [
            ("spec.image.url", "spec.image.url"),
            ("Spec.Image.URL", "spec.image.url"),
            ("Spec.Image.Checksum", "spec.image"),
            ("spec.list[0].a", "spec.list[0].a"),
            ("spec.list.0.b.c", "spec.list[0]"),
            ("spec.list[7].a", "spec.list"),
            ("", ""),
        ] {
            assert_eq!(place(&document, field).to_string(), found, "{field}");
        }
    }
}
