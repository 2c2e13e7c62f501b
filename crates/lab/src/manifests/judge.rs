//! What the embedded server says of a user's documents, without storing any of them.

use std::collections::BTreeSet;

use capm3_admission::is_ours;
use capm3_engine::manifests::{Document, Problem};
use serde_json::Value;

use super::{
    put::Putting,
    served::{Cause, Unserved},
    words::Complaint,
};
use crate::running::{LabError, server};

/// Judges documents one by one, by schema with unknown fields refused and by the rules of admission for new objects.
///
/// Namespaces count as there. Not judged: kinds and versions that are not served, unless the kind is a misspelling of one that
/// is; and foreign kinds that a server has given out, for it has judged them and may know more fields. An object of the
/// provider that a server has given out may break a rule that is younger than itself, so it is judged by schema only.
pub async fn judge(documents: &[&Document]) -> Result<Vec<Problem>, LabError> {
    let problem = |refusal: Refusal| {
        let document = documents.get(refusal.document)?;
        Some(document.problem(&refusal.field, refusal.message).of_rule(refusal.code))
    };
    Ok(refusals(documents).await?.into_iter().filter_map(problem).collect())
}

/// A field that is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The number of the document among those that were given.
    pub document: usize,
    /// The field, as the document spells it.
    pub field: String,
    /// What is wrong.
    pub message: String,
    /// The code of the rule of admission; none if the schema says so.
    pub code: Option<&'static str>,
}

/// The same as [`judge`] gives, with the fields apart.
pub async fn refusals(documents: &[&Document]) -> Result<Vec<Refusal>, LabError> {
    let (server, _) = server(&crate::Options::default()).await?;
    let mut putting = Putting::on_trial(&server);
    let namespaces: BTreeSet<String> = documents.iter().map(|document| document.key().namespace).collect();
    for namespace in namespaces.iter().filter(|namespace| !namespace.is_empty()) {
        putting.make_namespace(namespace).await;
    }
    let mut refusals = Vec::new();
    for (number, document) in documents.iter().enumerate() {
        let complaints = one(&mut putting, document).await;
        let reported = complaints.into_iter().filter(|complaint| !is_left_open(document, complaint));
        refusals.extend(reported.map(|c| {
            let field = as_written(&document.value, &c.field);
            Refusal { document: number, field, message: c.message, code: c.code }
        }));
    }
    Ok(refusals)
}

async fn one(putting: &mut Putting, document: &Document) -> Vec<Complaint> {
    match putting.find(document).await {
        Ok(_) => {}
        Err(Unserved { field, message, cause: Cause::Misspelt }) => {
            return vec![Complaint::new(field, message)];
        }
        Err(_) => return Vec::new(),
    }
    let group = document.api_version().split_once('/').map_or("", |(group, _)| group);
    let version = "resourceVersion";
    let is_given_out = document.value_at(&format!("metadata.{version}")).is_some();
    if !is_given_out {
        return putting.put(document).await;
    }
    if !is_ours(group) {
        return Vec::new();
    }
    let mut value = document.value.clone();
    if let Some(metadata) = value.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove(version);
    }
    let complaints = putting.put(&Document::made(document.file.clone(), value)).await;
    complaints.into_iter().filter(|complaint| !complaint.is_of_admission).collect()
}

/// The address of a cluster is what an overlay or a class puts in: files without any are common, and whole otherwise.
fn is_left_open(document: &Document, complaint: &Complaint) -> bool {
    let endpoint = "spec.controlPlaneEndpoint";
    let is_cluster = document.kind() == "Metal3Cluster" && complaint.field.starts_with(endpoint);
    is_cluster && document.value_at(endpoint).is_none()
}

/// A field as the document spells it. Admission writes paths in the case of Go's names in places, and positions after dots.
fn as_written(object: &Value, field: &str) -> String {
    if field.starts_with("metadata.") {
        return field.to_owned();
    }
    let (mut path, mut at) = (String::new(), Some(object));
    for step in field.split(['.', '[', ']']).filter(|step| !step.is_empty()) {
        let members = at.and_then(Value::as_object);
        let exact = members.and_then(|members| members.get_key_value(step));
        let known = exact.or_else(|| members?.iter().find(|(key, _)| key.eq_ignore_ascii_case(step)));
        at = match (known, at.and_then(Value::as_array), step.parse::<usize>()) {
            (Some((key, value)), _, _) => {
                path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                Some(value)
            }
            (None, Some(items), Ok(index)) => {
                path = format!("{path}[{index}]");
                items.get(index)
            }
            // What is not there keeps the words of the server, and so do keys with dots in them.
            _ if at == Some(object) || path.is_empty() => return field.to_owned(),
            _ => {
                let rest = field.get(path.len()..).unwrap_or_default().trim_start_matches(['.', ']']);
                return if rest.is_empty() { path } else { format!("{path}.{}", first_lower(rest)) };
            }
        };
    }
    path
}

fn first_lower(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_lowercase().chain(letters).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fields_are_spelled_as_in_the_document() {
        let object = json!({"spec": {"image": {"url": "x"}, "list": [{"a": 1}]}, "metadata": {"labels": {"a.b/c": 1}}});
        for (field, written) in [
            ("spec.image.url", "spec.image.url"),
            ("Spec.Image.URL", "spec.image.url"),
            ("Spec.Image.Checksum", "spec.image.checksum"),
            ("Spec.HostSelector", "spec.hostSelector"),
            ("spec.list.0.a", "spec.list[0].a"),
            ("spec.list[0].b", "spec.list[0].b"),
            ("metadata.labels[a.b/c]", "metadata.labels[a.b/c]"),
            ("kind", "kind"),
            ("", ""),
        ] {
            assert_eq!(as_written(&object, field), written, "{field}");
        }
    }
}
