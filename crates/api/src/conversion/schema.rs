//! Which members a version knows, from the schemas of the CRDs.

use serde_json::Value;

use super::{
    json::{Object, child, each, take},
    remediation,
};
use crate::{crd, v1beta2};

/// Whether the hub holds something that v1beta1 has no place for.
pub(super) fn hides_something(kind: &str, hub: &Object) -> bool {
    let mut shown = hub.clone();
    prune(kind, v1beta2::VERSION, &mut shown);
    if let Some(status) = child(&mut shown, "status") {
        for entry in each(status, "indexes") {
            take(entry, "dataName");
        }
    }
    if kind.starts_with("Metal3Remediation") {
        remediation::take_what_v1beta1_lacks(&mut shown);
    }
    shown != *hub
}

/// Removes the members that a version of the kind does not know.
pub(super) fn prune(kind: &str, version: &str, object: &mut Object) {
    if let Some(schema) = crd::schema(kind, version) {
        prune_members(object, schema);
    }
}

fn prune_value(value: &mut Value, schema: &Value) {
    match value {
        Value::Object(members) => prune_members(members, schema),
        Value::Array(items) => {
            let Some(of_items) = schema.get("items") else { return };
            for item in items {
                prune_value(item, of_items);
            }
        }
        _ => {}
    }
}

/// An object of which the schema says no member is kept whole, as metadata is.
fn prune_members(members: &mut Object, schema: &Value) {
    if schema.get("x-kubernetes-preserve-unknown-fields") == Some(&Value::Bool(true)) {
        return;
    }
    if let Some(properties) = schema.get("properties") {
        members.retain(|name, _| properties.get(name).is_some());
        for (name, member) in members {
            if let Some(schema) = properties.get(name) {
                prune_value(member, schema);
            }
        }
    } else if let Some(schema) = schema.get("additionalProperties") {
        for member in members.values_mut() {
            prune_value(member, schema);
        }
    }
}
