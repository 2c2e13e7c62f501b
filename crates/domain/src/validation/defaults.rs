//! What an author may leave out, beyond what the schemas fill in.

use serde_json::{Map, Value, json};

use super::remediation::REBOOT;

/// The port of a control plane.
const API_PORT: i64 = 6443;
const TIMEOUT_SECONDS: i64 = 600;

/// Fills in defaults of an object of the stored version. What is of another type than it should be stays as it is.
pub fn fill_in(kind: &str, object: &mut Value) {
    match kind {
        "Metal3Cluster" => {
            if let Some(endpoint) = descend(object, &["spec", "controlPlaneEndpoint"]) {
                set(endpoint, "port", json!(API_PORT), |port| port.as_i64() == Some(0));
            }
            if let Some(spec) = descend(object, &["spec"]) {
                set(spec, "cloudProviderEnabled", json!(false), |_| false);
            }
        }
        "Metal3RemediationTemplate" => {
            if let Some(strategy) = descend(object, &["spec", "template", "spec", "strategy"]) {
                set(strategy, "type", json!(REBOOT), is_empty_text);
                set(strategy, "timeoutSeconds", json!(TIMEOUT_SECONDS), |it| it.as_i64() == Some(0));
                set(strategy, "retryLimit", json!(1), |it| it.as_i64().is_some_and(|limit| limit < 1));
            }
        }
        "IPPool" => {
            if let Some(spec) = descend(object, &["spec"]) {
                set(spec, "allocationStrategy", json!("sequential"), is_empty_text);
                // So that its absence gives the same message as an empty one.
                set(spec, "namePrefix", json!(""), |_| false);
            }
        }
        _ => {}
    }
}

fn is_empty_text(value: &Value) -> bool {
    value.as_str() == Some("")
}

/// The map at the end of the path, made if nothing is there; none if something else is on the way.
fn descend<'a>(object: &'a mut Value, path: &[&str]) -> Option<&'a mut Map<String, Value>> {
    let mut members = object.as_object_mut()?;
    for member in path {
        let next = members.entry(*member).or_insert(Value::Null);
        if next.is_null() {
            *next = json!({});
        }
        members = next.as_object_mut()?;
    }
    Some(members)
}

/// Sets a member that is absent, null or as good as absent.
fn set(members: &mut Map<String, Value>, member: &str, default: Value, is_unset: fn(&Value) -> bool) {
    if members.get(member).is_none_or(|found| found.is_null() || is_unset(found)) {
        members.insert(member.to_owned(), default);
    }
}
