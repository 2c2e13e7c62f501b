//! What Metal3Cluster and Metal3Machine have in common: two generations of conditions and the ready flag.

use serde_json::{Value, json};

use super::json::{Object, child, drop_zero, ensured, take, take_from};

/// v1beta1 keeps these at the top of the status, v1beta2 under `deprecated.v1beta1`.
const LEGACY: [&str; 3] = ["conditions", "failureReason", "failureMessage"];

/// v1beta1 to v1beta2.
pub(super) fn up(status: &mut Object) {
    drop_zero(status, &LEGACY);
    let legacy: Vec<(&str, Value)> =
        LEGACY.iter().filter_map(|name| Some((*name, take(status, name)?))).collect();
    for (name, value) in legacy {
        if let Some(v1beta1) = ensured(status, "deprecated").and_then(|it| ensured(it, "v1beta1")) {
            v1beta1.insert(name.to_owned(), value);
        }
    }
    if let Some(conditions) = take_from(status, "v1beta2", "conditions") {
        status.insert("conditions".to_owned(), conditions);
        drop_zero(status, &["conditions"]);
    }
    if take(status, "ready") == Some(Value::Bool(true)) {
        status.insert("initialization".to_owned(), json!({"provisioned": true}));
    }
}

/// v1beta2 to v1beta1.
pub(super) fn down(status: &mut Object) {
    let conditions = take(status, "conditions");
    for name in LEGACY {
        let v1beta1 = child(status, "deprecated").and_then(|it| child(it, "v1beta1"));
        if let Some(value) = v1beta1.and_then(|it| take(it, name)) {
            status.insert(name.to_owned(), value);
        }
    }
    if let Some(deprecated) = child(status, "deprecated") {
        drop_zero(deprecated, &["v1beta1"]);
    }
    drop_zero(status, &["deprecated", "conditions", "failureReason", "failureMessage"]);
    if let Some(conditions) = conditions.filter(|it| !it.is_null())
        && let Some(v1beta2) = ensured(status, "v1beta2")
    {
        v1beta2.insert("conditions".to_owned(), conditions);
    }
    let provisioned = take_from(status, "initialization", "provisioned");
    status.insert("ready".to_owned(), Value::Bool(provisioned == Some(Value::Bool(true))));
}
