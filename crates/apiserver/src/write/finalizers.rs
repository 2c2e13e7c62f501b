//! The names of finalizers: which ones a kind takes, and which ones a caller is warned of.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::{
    field::{FieldError, quote},
    meta::{self, FOREGROUND, ORPHAN},
    resource::Resource,
};

/// The finalizer that Kubernetes gives namespaces.
const KUBERNETES: &str = "kubernetes";

/// Whether nobody else can mean another finalizer by this name.
fn is_unmistakable(finalizer: &str) -> bool {
    finalizer.contains('/') || matches!(finalizer, KUBERNETES | ORPHAN | FOREGROUND)
}

/// What is wrong with the finalizers of an object, besides their syntax.
pub(super) fn judge(resource: &Resource, object: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if meta::has_finalizer(object, ORPHAN) && meta::has_finalizer(object, FOREGROUND) {
        let listed: Vec<String> = meta::finalizers(object).map(quote).collect();
        let detail = format!("finalizer {ORPHAN} and {FOREGROUND} cannot be both set");
        errors.push(FieldError::invalid("metadata.finalizers", &format!("[{}]", listed.join(",")), &detail));
    }
    // Kubernetes asks this of its oldest kinds only.
    if resource.group.is_empty() && resource.kind != "Event" {
        let odd = meta::finalizers(object).enumerate().filter(|(_, it)| !is_unmistakable(it));
        errors.extend(odd.map(|(index, finalizer)| {
            let detail = "name is neither a standard finalizer name nor is it fully qualified";
            FieldError::invalid(format!("metadata.finalizers[{index}]"), &quote(finalizer), detail)
        }));
    }
    errors
}

/// The warning for a caller who gives a custom resource a finalizer that others may use too.
pub(super) fn warnings(resource: &Resource, object: &Value, old: Option<&Value>) -> Vec<String> {
    if !resource.is_custom() {
        return Vec::new();
    }
    let is_new = |it: &&str| old.is_none_or(|old| !meta::has_finalizer(old, it));
    let odd: BTreeSet<&str> =
        meta::finalizers(object).filter(is_new).filter(|it| !is_unmistakable(it)).collect();
    let warning = |finalizer: &str| {
        let path = if finalizer.contains('.') { " including a path (/)" } else { "" };
        format!(
            "metadata.finalizers: {finalizer:?}: prefer a domain-qualified finalizer name{path} to avoid accidental \
             conflicts with other finalizer writers"
        )
    };
    odd.into_iter().map(warning).collect()
}
