//! What the controller keeps right on the template itself.

use std::collections::BTreeSet;

use capm3_api::{
    metadata::{MetadataExt, group_of},
    v1beta2::{self, Metal3DataTemplate},
    vocabulary::{annotation, label},
};

use super::Snapshot;

/// Label, owners and the mirror of the key.
pub(super) fn keep(template: &mut Metal3DataTemplate, snapshot: &Snapshot) {
    strip_machines(template);
    mirror_key(template);
    let clusters: BTreeSet<&str> = snapshot
        .datas
        .iter()
        .map(|data| &data.metadata)
        .chain(snapshot.claims.iter().map(|claim| &claim.metadata))
        .filter_map(|metadata| metadata.label(label::CLUSTER_NAME))
        .collect();
    set_label(template, &clusters);
}

/// The label of the one Cluster that uses the template; a template that several share has none.
fn set_label(template: &mut Metal3DataTemplate, clusters: &BTreeSet<&str>) {
    let named = template.spec.cluster_name.as_deref().filter(|name| !name.is_empty());
    let only = clusters.first().copied().filter(|_| clusters.len() == 1);
    let labels = template.metadata.labels.get_or_insert_default();
    match named.or(only) {
        Some(name) => {
            labels.insert(label::CLUSTER_NAME.to_owned(), name.to_owned());
        }
        // A label that a user gave says something else and stays.
        None if labels.get(label::CLUSTER_NAME).is_some_and(|name| clusters.contains(name.as_str())) => {
            labels.remove(label::CLUSTER_NAME);
        }
        None => {}
    }
    if labels.is_empty() {
        template.metadata.labels = None;
    }
}

/// An old way of asking for data was to own the template; garbage collection would then take it with the machine.
fn strip_machines(template: &mut Metal3DataTemplate) {
    if let Some(owners) = &mut template.metadata.owner_references {
        owners.retain(|o| !(o.kind == "Metal3Machine" && group_of(&o.api_version) == v1beta2::GROUP));
    }
}

/// CRDs without the field drop it; the annotation keeps the key.
fn mirror_key(template: &mut Metal3DataTemplate) {
    if let Some(key) = template.spec.template_reference.clone().filter(|key| !key.is_empty()) {
        let annotations = template.metadata.annotations.get_or_insert_default();
        annotations.insert(annotation::TEMPLATE_REFERENCE.to_owned(), key);
    }
}
