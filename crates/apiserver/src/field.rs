//! One wrong field: takes what is wrong, gives Kubernetes' wording and cause. Decides nothing.

use serde_json::Value;

/// The kinds of field errors, named as the causes of a `Status`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FieldReason {
    Required,
    Duplicate,
    Invalid,
    NotSupported,
    Forbidden,
    TooLong,
    TooMany,
    TypeInvalid,
}

impl FieldReason {
    /// The machine-readable cause.
    pub(crate) fn cause(self) -> &'static str {
        match self {
            Self::Required => "FieldValueRequired",
            Self::Duplicate => "FieldValueDuplicate",
            Self::Invalid => "FieldValueInvalid",
            Self::NotSupported => "FieldValueNotSupported",
            Self::Forbidden => "FieldValueForbidden",
            Self::TooLong => "FieldValueTooLong",
            Self::TooMany => "FieldValueTooMany",
            Self::TypeInvalid => "FieldValueTypeInvalid",
        }
    }
}

/// A field and what is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FieldError {
    pub(crate) path: String,
    pub(crate) reason: FieldReason,
    /// The message without the path.
    pub(crate) body: String,
}

impl std::fmt::Display for FieldError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.path, self.body)
    }
}

impl FieldError {
    fn new(path: impl Into<String>, reason: FieldReason, body: String) -> Self {
        Self { path: path.into(), reason, body }
    }

    pub(crate) fn required(path: impl Into<String>, detail: &str) -> Self {
        Self::new(path, FieldReason::Required, with_detail("Required value", detail))
    }

    /// `shown` is the value as [`show`] prints it.
    pub(crate) fn invalid(path: impl Into<String>, shown: &str, detail: &str) -> Self {
        Self::new(path, FieldReason::Invalid, with_detail(&format!("Invalid value: {shown}"), detail))
    }

    pub(crate) fn type_invalid(path: impl Into<String>, shown: &str, detail: &str) -> Self {
        Self::new(path, FieldReason::TypeInvalid, with_detail(&format!("Invalid value: {shown}"), detail))
    }

    pub(crate) fn immutable(path: impl Into<String>, shown: &str) -> Self {
        Self::invalid(path, shown, "field is immutable")
    }

    pub(crate) fn forbidden(path: impl Into<String>, detail: &str) -> Self {
        Self::new(path, FieldReason::Forbidden, with_detail("Forbidden", detail))
    }

    pub(crate) fn duplicate(path: impl Into<String>, shown: &str) -> Self {
        Self::new(path, FieldReason::Duplicate, format!("Duplicate value: {shown}"))
    }

    pub(crate) fn not_supported(path: impl Into<String>, shown: &str, supported: &[Value]) -> Self {
        let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let listed: Vec<String> = supported.iter().map(|value| format!("{:?}", text(value))).collect();
        let body = format!("Unsupported value: {shown}: supported values: {}", listed.join(", "));
        Self::new(path, FieldReason::NotSupported, body)
    }

    pub(crate) fn too_long(path: impl Into<String>, bytes: u64) -> Self {
        Self::new(path, FieldReason::TooLong, format!("Too long: may not be more than {bytes} bytes"))
    }

    pub(crate) fn too_many(path: impl Into<String>, actual: u64, max: u64) -> Self {
        let items = if max == 1 { "item" } else { "items" };
        Self::new(path, FieldReason::TooMany, format!("Too many: {actual}: must have at most {max} {items}"))
    }
}

fn with_detail(text: &str, detail: &str) -> String {
    if detail.is_empty() { text.to_owned() } else { format!("{text}: {detail}") }
}

/// A value as Kubernetes prints it in a field error: strings quoted, containers in Go's notation.
pub(crate) fn show(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(show).collect();
            format!("[]interface {{}}{{{}}}", items.join(", "))
        }
        Value::Object(fields) => {
            let fields: Vec<String> =
                fields.iter().map(|(key, value)| format!("{key:?}:{}", show(value))).collect();
            format!("map[string]interface {{}}{{{}}}", fields.join(", "))
        }
        scalar => scalar.to_string(),
    }
}

/// A string as Kubernetes prints it in a field error.
pub(crate) fn quote(text: &str) -> String {
    format!("{text:?}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_error_reads_as_in_kubernetes() {
        let table = [
            (FieldError::required("a.b", ""), "a.b: Required value"),
            (FieldError::invalid("a", "\"x\"", "is wrong"), "a: Invalid value: \"x\": is wrong"),
            (
                FieldError::not_supported("a", "\"x\"", &[json!("p"), json!(1)]),
                "a: Unsupported value: \"x\": supported values: \"p\", \"1\"",
            ),
            (
                FieldError::duplicate("a[1]", &show(&json!({"k": "v"}))),
                "a[1]: Duplicate value: map[string]interface {}{\"k\":\"v\"}",
            ),
            (FieldError::too_long("a", 3), "a: Too long: may not be more than 3 bytes"),
            (FieldError::too_many("a", 2, 1), "a: Too many: 2: must have at most 1 item"),
            (FieldError::forbidden("a", "no"), "a: Forbidden: no"),
        ];
        for (error, text) in table {
            assert_eq!(error.to_string(), text);
        }
    }
}
