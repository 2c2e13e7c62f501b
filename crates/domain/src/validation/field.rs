//! One wrong field: where, what kind of wrong, what was found, what to do. Prints as Kubernetes prints field errors.

use std::fmt;

use serde_json::Value;

use super::Rule;

/// The kinds of field errors, as Kubernetes names them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FieldErrorKind {
    /// Something is missing.
    Required,
    /// What is there cannot be used.
    Invalid,
    /// The same thing is there twice.
    Duplicate,
    /// It may not be there at all.
    Forbidden,
}

impl FieldErrorKind {
    /// The machine-readable cause in a `Status`.
    pub fn cause(self) -> &'static str {
        match self {
            Self::Required => "FieldValueRequired",
            Self::Invalid => "FieldValueInvalid",
            Self::Duplicate => "FieldValueDuplicate",
            Self::Forbidden => "FieldValueForbidden",
        }
    }
}

/// A field and what is wrong with it.
///
/// ```
/// use capm3_domain::validation::{FieldError, Rule};
///
/// let error = FieldError::required(Rule::ImageUrl, "spec.image.url", "say where the image is");
/// assert_eq!(error.to_string(), "spec.image.url: Required value: say where the image is");
/// assert_eq!(error.rule.code().as_str(), "CAPM3-A011");
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct FieldError {
    /// The rule that is broken.
    pub rule: Rule,
    /// Where, such as `spec.image.url`.
    pub path: String,
    /// What kind of wrong.
    pub kind: FieldErrorKind,
    /// What is wrong and the way out.
    pub detail: String,
    /// What was found; only printed where it helps.
    pub value: Value,
}

impl FieldError {
    /// Something is missing.
    pub fn required(rule: Rule, path: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::new(rule, path, FieldErrorKind::Required, detail, Value::Null)
    }

    /// What is there cannot be used.
    pub fn invalid(
        rule: Rule,
        path: impl Into<String>,
        value: impl Into<Value>,
        detail: impl Into<String>,
    ) -> Self {
        Self::new(rule, path, FieldErrorKind::Invalid, detail, value.into())
    }

    /// The same thing is there twice.
    pub fn duplicate(
        rule: Rule,
        path: impl Into<String>,
        value: impl Into<Value>,
        detail: impl Into<String>,
    ) -> Self {
        Self::new(rule, path, FieldErrorKind::Duplicate, detail, value.into())
    }

    /// It may not be there.
    pub fn forbidden(rule: Rule, path: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::new(rule, path, FieldErrorKind::Forbidden, detail, Value::Null)
    }

    fn new(
        rule: Rule,
        path: impl Into<String>,
        kind: FieldErrorKind,
        detail: impl Into<String>,
        value: impl Into<Value>,
    ) -> Self {
        Self { rule, path: path.into(), kind, detail: detail.into(), value: value.into() }
    }

    /// The message without the path.
    pub fn body(&self) -> String {
        let Self { detail, value, .. } = self;
        match self.kind {
            FieldErrorKind::Required => format!("Required value: {detail}"),
            FieldErrorKind::Forbidden => format!("Forbidden: {detail}"),
            FieldErrorKind::Invalid => format!("Invalid value: {value}: {detail}"),
            FieldErrorKind::Duplicate => format!("Duplicate value: {value}: {detail}"),
        }
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.body())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_kind_reads_as_in_kubernetes() {
        let table = [
            (FieldError::required(Rule::ImageUrl, "spec.a", "do it"), "spec.a: Required value: do it"),
            (FieldError::invalid(Rule::ImageUrl, "spec.a", "x", "no"), "spec.a: Invalid value: \"x\": no"),
            (
                FieldError::invalid(Rule::ImageUrl, "spec.a", json!({"name": "q"}), "no"),
                "spec.a: Invalid value: {\"name\":\"q\"}: no",
            ),
            (
                FieldError::duplicate(Rule::ImageUrl, "spec.a[1]", "r1", "once"),
                "spec.a[1]: Duplicate value: \"r1\": once",
            ),
            (FieldError::forbidden(Rule::ImageUrl, "spec.a", "never"), "spec.a: Forbidden: never"),
        ];
        for (error, text) in table {
            assert_eq!(error.to_string(), text);
        }
    }
}
