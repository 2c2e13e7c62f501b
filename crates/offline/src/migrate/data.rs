//! Metal3Data.

use serde_json::{Map, Value, json};

use super::{
    draft::Draft,
    names::{check_one_secret_for_both, check_reference},
    path::Path,
};

/// References of data to other objects.
const REFERENCES: [&str; 4] = ["claim", "metaData", "networkData", "template"];

/// Takes the template from the owner where nothing else names it, and says what contradicts itself.
pub(super) fn complete_and_check(draft: &mut Draft<'_>) {
    let owner = template_that_owns(draft);
    if let (None, Some(owner)) = (draft.get("spec.template"), &owner) {
        let mut reference = Map::from_iter([("name".to_owned(), json!(owner))]);
        if let Some(namespace) = draft.get("metadata.namespace").filter(|namespace| namespace.is_string()) {
            reference.insert("namespace".to_owned(), namespace.clone());
        }
        draft.add(&Path::of("spec.template"), Value::Object(reference), "the owner is the template");
    }
    check_name(draft, owner.as_deref());
    check_namespaces(draft);
    for reference in ["metaData", "networkData"] {
        check_reference(draft, &format!("spec.{reference}.name"), "Secret");
    }
    let stem = draft.text("spec.claim.name").to_owned();
    check_one_secret_for_both(draft, "spec", &stem);
    let key = draft.text("spec.templateReference").to_owned();
    super::data_template::check_key(draft, &key);
}

/// The template among the owner references.
fn template_that_owns(draft: &Draft<'_>) -> Option<String> {
    let references = draft.get("metadata.ownerReferences")?.as_array()?;
    let owner = references
        .iter()
        .find(|reference| reference.get("kind").is_some_and(|kind| kind == "Metal3DataTemplate"))?;
    owner.get("name")?.as_str().map(ToOwned::to_owned)
}

/// Data is named after its template, or the key that templates share, and its index.
fn check_name(draft: &mut Draft<'_>, owner: Option<&str>) {
    let index = draft.get("spec.index").and_then(Value::as_u64).unwrap_or_default();
    let (name, template) =
        (draft.text("metadata.name").to_owned(), draft.text("spec.template.name").to_owned());
    let stems = [template.as_str(), draft.text("spec.templateReference")];
    let fits = stems.iter().any(|stem| !stem.is_empty() && name == format!("{stem}-{index}"));
    if fits || name.is_empty() || template.is_empty() {
        return;
    }
    let message = format!(
        "the name {name} does not fit template {template} and index {index}, which ask for {template}-{index}"
    );
    let by_owner = owner.filter(|owner| **owner != template);
    let proposal = by_owner.map_or_else(
        || format!("metadata.name: {template}-{index}"),
        |owner| format!("spec.template.name: {owner}, as the owner reference says"),
    );
    draft.error(&Path::of("spec.template.name"), message, Some(proposal));
}

/// Everything that belongs to data is in its namespace.
fn check_namespaces(draft: &mut Draft<'_>) {
    let own = draft.text("metadata.namespace").to_owned();
    let namespace_of = |reference: &&str| draft.text(&format!("spec.{reference}.namespace")).to_owned();
    let elsewhere: Vec<&str> = REFERENCES
        .iter()
        .copied()
        .filter(|r| !namespace_of(r).is_empty() && namespace_of(r) != own)
        .collect();
    let Some(first) = elsewhere.first().filter(|_| !own.is_empty()) else { return };
    let other = namespace_of(first);
    let message = format!("the object is in namespace {own}, but {} in {other}", elsewhere.join(", "));
    let proposal = format!("metadata.namespace: {other}, or references without a namespace");
    draft.error(&Path::of(&format!("spec.{first}.namespace")), message, Some(proposal));
}
