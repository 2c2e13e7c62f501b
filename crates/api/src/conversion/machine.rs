//! Metal3Machine and its template: `image.format` became `image.diskFormat`, references shrank, and what v1beta1 keeps
//! as empty text is absent in v1beta2.

use serde_json::{Value, json};

use super::{
    json::{Object, child, drop_zero, each, ensured, rename, set_default, take},
    reference::narrow,
    status,
};

/// v1beta1 to v1beta2.
pub(super) fn up(machine: &mut Object) {
    if let Some(spec) = child(machine, "spec") {
        spec_up(spec);
        // `values` is required, but the stored form of a machine never had the empty list.
        for requirement in child(spec, "hostSelector").into_iter().flat_map(|it| each(it, "matchExpressions"))
        {
            drop_zero(requirement, &["values"]);
        }
    }
    if let Some(status) = child(machine, "status") {
        take(status, "phase");
        narrow(status, "renderedData");
        drop_zero(status, &["addresses", "failureDomain"]);
        status::up(status);
    }
}

/// v1beta2 to v1beta1.
pub(super) fn down(machine: &mut Object) {
    if let Some(spec) = ensured(machine, "spec") {
        spec_down(spec);
    }
    if let Some(status) = ensured(machine, "status") {
        status::down(status);
    }
}

/// v1beta1 to v1beta2. The empty `values` of `exists` stay: machines are created from the template, and creating one
/// without `values` is refused.
pub(super) fn template_up(template: &mut Object) {
    let Some(spec) = child(template, "spec") else { return };
    drop_zero(spec, &["nodeReuse", "failureDomainDataTemplates"]);
    if let Some(machine) = child(spec, "template").and_then(|it| child(it, "spec")) {
        spec_up(machine);
    }
}

/// v1beta2 to v1beta1, which has no place for labels and annotations of the machines.
pub(super) fn template_down(template: &mut Object) {
    let Some(spec) = child(template, "spec") else { return };
    set_default(spec, "nodeReuse", false);
    let Some(resource) = child(spec, "template") else { return };
    take(resource, "metadata");
    if let Some(machine) = ensured(resource, "spec") {
        spec_down(machine);
    }
}

/// `nodeReuse: false` is the default and does not come back.
pub(super) fn template_settle(stored: &mut Object) {
    if let Some(spec) = child(stored, "spec") {
        drop_zero(spec, &["nodeReuse"]);
    }
}

fn spec_up(spec: &mut Object) {
    drop_zero(spec, &["providerID", "automatedCleaningMode", "failureDomain"]);
    if let Some(image) = child(spec, "image") {
        rename(image, "format", "diskFormat");
        drop_zero(image, &["url", "checksumType", "diskFormat"]);
        set_default(image, "checksum", "");
        // An image without members is none; with only a checksum the object could never be written again.
        if *image == *json!({"checksum": ""}).as_object().unwrap_or(&Object::new()) {
            take(spec, "image");
        }
    }
    no_empty_deploy(spec);
    if let Some(selector) = child(spec, "hostSelector") {
        drop_zero(selector, &["matchLabels", "matchExpressions"]);
    }
    drop_zero(spec, &["hostSelector", "image"]);
    narrow(spec, "dataTemplate");
}

fn spec_down(spec: &mut Object) {
    drop_zero(spec, &["providerID", "automatedCleaningMode", "failureDomain"]);
    if let Some(image) = ensured(spec, "image") {
        rename(image, "diskFormat", "format");
        drop_zero(image, &["checksum"]);
        for member in ["url", "checksumType", "format"] {
            set_default(image, member, "");
        }
    }
    no_empty_deploy(spec);
    ensured(spec, "hostSelector");
}

fn no_empty_deploy(spec: &mut Object) {
    if let Some(deploy) = child(spec, "customDeploy") {
        drop_zero(deploy, &["method"]);
    }
    drop_zero(spec, &["customDeploy"]);
    if spec.get("image").is_some_and(Value::is_null) {
        take(spec, "image");
    }
}
