//! A refusal in the words of a Kubernetes `Status`.

use capm3_domain::{
    validation::{FieldError, Refusal},
    wait::Code,
};
use serde_json::{Value, json};

use crate::kinds::{group_version, text};

/// Why a request is refused.
#[derive(Debug, Clone, PartialEq)]
pub struct Denial {
    /// HTTP status code.
    pub code: u16,
    /// Status reason, such as `Invalid`.
    pub reason: &'static str,
    /// The whole message.
    pub message: String,
    /// `details` of the status: the object and every wrong field. Null if there is nothing to add to the message.
    pub details: Value,
    /// The rules that are broken, in the order of the causes. They are no part of the status.
    pub findings: Vec<Finding>,
}

/// A broken rule, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The field, as the cause of the status names it; empty where the whole object is meant.
    pub field: String,
    /// The stable code of the rule.
    pub code: Code,
}

impl Denial {
    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self {
            code: 400,
            reason: "BadRequest",
            message: message.into(),
            details: Value::Null,
            findings: Vec::new(),
        }
    }

    pub(crate) fn of(object: &Value, refusal: &Refusal) -> Self {
        match refusal {
            Refusal::Invalid(errors) => Self::invalid(object, errors),
            Refusal::Denied(rule, message) => Self {
                code: 403,
                reason: "Forbidden",
                message: message.clone(),
                details: Value::Null,
                findings: vec![Finding { field: String::new(), code: rule.code() }],
            },
        }
    }

    fn invalid(object: &Value, errors: &[FieldError]) -> Self {
        let (group, _) = group_version(object);
        let (kind, name) = (text(object, "/kind"), text(object, "/metadata/name"));
        let cause = |error: &FieldError| json!({"reason": error.kind.cause(), "message": error.body(), "field": error.path});
        let finding = |error: &FieldError| Finding { field: error.path.clone(), code: error.rule.code() };
        let causes: Vec<Value> = errors.iter().map(cause).collect();
        Self {
            code: 422,
            reason: "Invalid",
            message: format!("{kind}.{group} {name:?} is invalid: {}", listed(errors)),
            details: json!({"name": name, "group": group, "kind": kind, "causes": causes}),
            findings: errors.iter().map(finding).collect(),
        }
    }

    /// The refusal as an API server reports it for the webhook of this name.
    #[must_use]
    pub fn with_webhook_prefix(mut self, webhook: &str) -> Self {
        self.message = format!("admission webhook {webhook:?} denied the request: {}", self.message);
        self
    }
}

/// One error stands alone, several are a bracketed list.
fn listed(errors: &[FieldError]) -> String {
    let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
    if texts.len() == 1 { texts.concat() } else { format!("[{}]", texts.join(", ")) }
}
