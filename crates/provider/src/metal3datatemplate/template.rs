//! What the controller keeps right on the template itself.

use std::collections::BTreeSet;

use capm3_api::{
    metadata::{MetadataExt, group_of},
    v1beta2::{self, Metal3DataTemplateSpec},
    vocabulary::{annotation, label},
};

use kube::core::ObjectMeta;

use super::DataTemplateSnapshot;

/// Label, owners and the mirror of the key.
pub(super) fn keep(metadata: &mut ObjectMeta, snapshot: &DataTemplateSnapshot<'_>) {
    let spec = &snapshot.template.spec;
    strip_machines(metadata);
    mirror_key(metadata, spec);
    let claims = snapshot.claims.iter().filter_map(|claim| claim.metadata.label(label::CLUSTER_NAME));
    set_label(metadata, spec, &snapshot.clusters.names().chain(claims).collect());
}

/// The label of the one Cluster that uses the template; a template that several share has none.
fn set_label(metadata: &mut ObjectMeta, spec: &Metal3DataTemplateSpec, clusters: &BTreeSet<&str>) {
    let named = spec.cluster_name.as_deref().filter(|name| !name.is_empty());
    let only = clusters.first().copied().filter(|_| clusters.len() == 1);
    let labels = metadata.labels.get_or_insert_default();
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
        metadata.labels = None;
    }
}

/// An old way of asking for data was to own the template; garbage collection would then take it with the machine.
fn strip_machines(metadata: &mut ObjectMeta) {
    if let Some(owners) = &mut metadata.owner_references {
        owners.retain(|o| !(o.kind == "Metal3Machine" && group_of(&o.api_version) == v1beta2::GROUP));
    }
}

/// CRDs without the field drop it; the annotation keeps the key.
fn mirror_key(metadata: &mut ObjectMeta, spec: &Metal3DataTemplateSpec) {
    if let Some(key) = spec.template_reference.clone().filter(|key| !key.is_empty()) {
        let annotations = metadata.annotations.get_or_insert_default();
        annotations.insert(annotation::TEMPLATE_REFERENCE.to_owned(), key);
    }
}
