//! Metal3Remediation and its template: a duration in v1beta1, whole seconds in v1beta2.

use serde_json::Value;

use super::{
    ConversionError, duration,
    json::{Object, child, drop_zero, ensured, take},
};

/// v1beta1 to v1beta2.
pub(super) fn up(remediation: &mut Object) -> Result<(), ConversionError> {
    if let Some(status) = child(remediation, "status") {
        status_up(status);
    }
    child(remediation, "spec").map_or(Ok(()), |spec| spec_up(spec, "spec"))
}

/// v1beta2 to v1beta1.
pub(super) fn down(remediation: &mut Object) {
    if let Some(spec) = child(remediation, "spec") {
        spec_down(spec);
    }
    if let Some(status) = child(remediation, "status") {
        status_down(status);
    }
}

/// v1beta1 to v1beta2.
pub(super) fn template_up(template: &mut Object) -> Result<(), ConversionError> {
    if let Some(status) = child(template, "status") {
        if let Some(inner) = child(status, "status") {
            status_up(inner);
        }
        drop_zero(status, &["status"]);
    }
    resource_spec(template).map_or(Ok(()), |spec| spec_up(spec, "spec.template.spec"))
}

/// v1beta2 to v1beta1, whose status needs its only member.
pub(super) fn template_down(template: &mut Object) {
    if let Some(spec) = resource_spec(template) {
        spec_down(spec);
    }
    if let Some(inner) = ensured(template, "status").and_then(|it| ensured(it, "status")) {
        status_down(inner);
    }
}

fn resource_spec(template: &mut Object) -> Option<&mut Object> {
    child(template, "spec").and_then(|it| child(it, "template")).and_then(|it| child(it, "spec"))
}

fn spec_up(spec: &mut Object, path: &str) -> Result<(), ConversionError> {
    let Some(strategy) = child(spec, "strategy") else { return Ok(()) };
    if let Some(timeout) = take(strategy, "timeout").filter(|it| !it.is_null()) {
        let seconds = timeout.as_str().and_then(duration::whole_seconds);
        let seconds = seconds.ok_or_else(|| ConversionError::Timeout {
            path: format!("{path}.strategy.timeout"),
            found: timeout.to_string(),
        })?;
        strategy.insert("timeoutSeconds".to_owned(), seconds.into());
    }
    drop_zero(strategy, &["type", "retryLimit", "timeoutSeconds"]);
    Ok(())
}

fn spec_down(spec: &mut Object) {
    let Some(strategy) = child(spec, "strategy") else { return };
    if let Some(seconds) = strategy.get("timeoutSeconds").and_then(Value::as_i64) {
        take(strategy, "timeoutSeconds");
        if seconds != 0 {
            strategy.insert("timeout".to_owned(), duration::text(seconds).into());
        }
    }
    take_new_members(strategy);
    drop_zero(strategy, &["type", "retryLimit"]);
}

/// Takes out of a remediation or its template what v1beta1 cannot show.
pub(super) fn take_what_v1beta1_lacks(object: &mut Object) {
    if let Some(strategy) = resource_spec(object).and_then(|spec| child(spec, "strategy")) {
        take_new_members(strategy);
    }
    if let Some(strategy) = child(object, "spec").and_then(|spec| child(spec, "strategy")) {
        take_new_members(strategy);
    }
    if let Some(status) = child(object, "status") {
        take(status, "conditions");
        if let Some(inner) = child(status, "status") {
            take(inner, "conditions");
        }
    }
}

fn take_new_members(strategy: &mut Object) {
    for member in ["powerOff", "onExhausted"] {
        take(strategy, member);
    }
}

fn status_down(status: &mut Object) {
    take(status, "conditions");
    status_up(status);
}

/// The members of both versions.
fn status_up(status: &mut Object) {
    drop_zero(status, &["phase", "retryCount", "lastRemediated"]);
}
