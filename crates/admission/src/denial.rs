//! A refusal in the words of a Kubernetes `Status`.

use capm3_domain::validation::{FieldError, Refusal};
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
}

impl Denial {
    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self { code: 400, reason: "BadRequest", message: message.into(), details: Value::Null }
    }

    pub(crate) fn of(object: &Value, refusal: &Refusal) -> Self {
        match refusal {
            Refusal::Invalid(errors) => Self::invalid(object, errors),
            Refusal::Denied(message) => {
                Self { code: 403, reason: "Forbidden", message: message.clone(), details: Value::Null }
            }
        }
    }

    fn invalid(object: &Value, errors: &[FieldError]) -> Self {
        let (group, _) = group_version(object);
        let (kind, name) = (text(object, "/kind"), text(object, "/metadata/name"));
        let cause = |error: &FieldError| json!({"reason": error.kind.cause(), "message": error.body(), "field": error.path});
        let causes: Vec<Value> = errors.iter().map(cause).collect();
        Self {
            code: 422,
            reason: "Invalid",
            message: format!("{kind}.{group} {name:?} is invalid: {}", listed(errors)),
            details: json!({"name": name, "group": group, "kind": kind, "causes": causes}),
        }
    }

    /// The refusal as a server tells it that was told so by the webhook of this name.
    #[must_use]
    pub fn told_by(mut self, webhook: &str) -> Self {
        self.message = format!("admission webhook {webhook:?} denied the request: {}", self.message);
        self
    }
}

/// One error stands alone, several are a bracketed list.
fn listed(errors: &[FieldError]) -> String {
    let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
    if texts.len() == 1 { texts.concat() } else { format!("[{}]", texts.join(", ")) }
}
