//! Every way a request can fail, and the one place where it becomes a Kubernetes `Status`.

use serde_json::{Map, Value, json};

use crate::{admission::Denial, field::FieldError};

/// The stock message of an optimistic lock failure.
const MODIFIED: &str =
    "the object has been modified; please apply your changes to the latest version and try again";

/// What an error is about: the qualified name is `plural.group` for resources and `Kind.group` for kinds.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub(crate) struct Subject {
    pub(crate) group: String,
    /// The plural, or the kind where Kubernetes names the kind.
    pub(crate) kind: String,
    pub(crate) name: String,
}

impl Subject {
    pub(crate) fn new(group: &str, kind: &str, name: &str) -> Self {
        Self { group: group.to_owned(), kind: kind.to_owned(), name: name.to_owned() }
    }

    fn qualified(&self) -> String {
        if self.group.is_empty() { self.kind.clone() } else { format!("{}.{}", self.kind, self.group) }
    }

    fn details(&self) -> Map<String, Value> {
        let fields = [("name", &self.name), ("group", &self.group), ("kind", &self.kind)];
        fields
            .into_iter()
            .filter(|(_, text)| !text.is_empty())
            .map(|(key, text)| (key.to_owned(), json!(text)))
            .collect()
    }
}

/// Why a request is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ApiError {
    NotFound(Box<Subject>),
    /// No such path, group, version or resource.
    NoSuchResource,
    AlreadyExists(Box<Subject>),
    /// Somebody else wrote first.
    Modified(Box<Subject>),
    /// A conflict with a reason of its own, such as a failed precondition.
    Conflict(Box<Subject>, String),
    Invalid(Box<Subject>, Vec<FieldError>),
    Forbidden(Box<Subject>, String),
    NamespaceTerminating(Box<Subject>, String),
    BadRequest(String),
    /// The caller showed neither certificate nor token.
    Unauthorized,
    /// The body did not arrive in time.
    SlowBody,
    MethodNotAllowed(String),
    UnsupportedMediaType(&'static str),
    NotAcceptable,
    /// The resource version is older than the log.
    Expired(String),
    /// The resource version has not been reached yet.
    TooLargeResourceVersion {
        asked: u64,
        current: u64,
    },
    BodyTooLarge,
    /// The headers of a request, and how many bytes they may have.
    HeadTooLarge(usize),
    /// A patch that cannot be applied to this object.
    Unprocessable,
    Denied(Box<Denial>),
    Unavailable(String),
    /// The body could not be read, or the server contradicts itself.
    Internal(String),
    /// Kubernetes answers some storage errors without a reason; clients see only the text.
    Unclassified(String),
}

pub(crate) type ApiResult<T> = Result<T, ApiError>;

impl ApiError {
    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self::BadRequest(message.into())
    }

    pub(crate) fn too_deep() -> Self {
        Self::bad_request("the object is nested too deeply")
    }

    pub(crate) fn not_allowed() -> Self {
        Self::MethodNotAllowed("the server does not allow this method on the requested resource".to_owned())
    }

    /// The HTTP status code and `reason`.
    pub(crate) fn code_and_reason(&self) -> (u16, &str) {
        match self {
            Self::NotFound(_) | Self::NoSuchResource => (404, "NotFound"),
            Self::AlreadyExists(_) => (409, "AlreadyExists"),
            Self::Modified(_) | Self::Conflict(..) => (409, "Conflict"),
            Self::Invalid(..) | Self::Unprocessable => (422, "Invalid"),
            Self::Forbidden(..) | Self::NamespaceTerminating(..) => (403, "Forbidden"),
            Self::BadRequest(_) => (400, "BadRequest"),
            Self::Unauthorized => (401, "Unauthorized"),
            Self::SlowBody => (408, "Timeout"),
            Self::MethodNotAllowed(_) => (405, "MethodNotAllowed"),
            Self::UnsupportedMediaType(_) => (415, "UnsupportedMediaType"),
            Self::NotAcceptable => (406, "NotAcceptable"),
            Self::Expired(_) => (410, "Expired"),
            Self::TooLargeResourceVersion { .. } => (504, "Timeout"),
            Self::BodyTooLarge => (413, "RequestEntityTooLarge"),
            // Kubernetes has no word for this one.
            Self::HeadTooLarge(_) => (431, ""),
            Self::Denied(denial) => (denial.code, &denial.reason),
            Self::Unavailable(_) => (503, "ServiceUnavailable"),
            Self::Internal(_) => (500, "InternalError"),
            Self::Unclassified(_) => (500, ""),
        }
    }

    pub(crate) fn code(&self) -> u16 {
        self.code_and_reason().0
    }

    fn message(&self) -> String {
        match self {
            Self::NotFound(it) => format!("{} {:?} not found", it.qualified(), it.name),
            Self::NoSuchResource => "the server could not find the requested resource".to_owned(),
            Self::AlreadyExists(it) => format!("{} {:?} already exists", it.qualified(), it.name),
            Self::Modified(it) => conflict(it, MODIFIED),
            Self::Conflict(it, reason) => conflict(it, reason),
            Self::Invalid(it, errors) => {
                format!("{} {:?} is invalid: {}", it.qualified(), it.name, aggregate(errors))
            }
            Self::Forbidden(it, reason) => format!("{} {:?} is forbidden: {reason}", it.qualified(), it.name),
            Self::NamespaceTerminating(it, namespace) => format!(
                "{} {:?} is forbidden: unable to create new content in namespace {namespace} because it is being terminated",
                it.qualified(),
                it.name
            ),
            Self::MethodNotAllowed(message) | Self::BadRequest(message) => message.clone(),
            Self::Unauthorized => "Unauthorized".to_owned(),
            Self::SlowBody => "the request body was not received in time".to_owned(),
            Self::UnsupportedMediaType(accepted) => format!(
                "the body of the request was in an unknown format - accepted media types include: {accepted}"
            ),
            Self::NotAcceptable => {
                "only the following media types are accepted: application/json, application/yaml".to_owned()
            }
            Self::TooLargeResourceVersion { asked, current } => {
                format!("Too large resource version: {asked}, current: {current}")
            }
            Self::BodyTooLarge => "Request entity too large: limit is 3145728".to_owned(),
            Self::HeadTooLarge(limit) => format!("Request header fields too large: limit is {limit}"),
            Self::Unprocessable => {
                "the server rejected our request due to an error in our request".to_owned()
            }
            Self::Denied(denial) => denial.message.clone(),
            Self::Internal(cause) => format!("Internal error occurred: {cause}"),
            Self::Expired(text) | Self::Unavailable(text) | Self::Unclassified(text) => text.clone(),
        }
    }

    fn details(&self) -> Option<Map<String, Value>> {
        match self {
            Self::NotFound(it)
            | Self::AlreadyExists(it)
            | Self::Modified(it)
            | Self::Conflict(it, _)
            | Self::Forbidden(it, _) => Some(it.details()),
            Self::Invalid(it, errors) => {
                let cause = |error: &FieldError| json!({"reason": error.reason.cause(), "message": error.body, "field": error.path});
                let mut details = it.details();
                details.insert("causes".to_owned(), errors.iter().map(cause).collect());
                Some(details)
            }
            Self::NamespaceTerminating(it, namespace) => {
                let mut details = it.details();
                let cause = json!({"reason": "NamespaceTerminating",
                    "message": format!("namespace {namespace} is being terminated"), "field": "metadata.namespace"});
                details.insert("causes".to_owned(), json!([cause]));
                Some(details)
            }
            Self::TooLargeResourceVersion { .. } => {
                let cause =
                    json!({"reason": "ResourceVersionTooLarge", "message": "Too large resource version"});
                Some(Map::from_iter([
                    ("causes".to_owned(), json!([cause])),
                    ("retryAfterSeconds".to_owned(), json!(1)),
                ]))
            }
            Self::Denied(denial) => denial.details.as_object().cloned(),
            Self::NoSuchResource | Self::Unprocessable | Self::MethodNotAllowed(_) => Some(Map::new()),
            _ => None,
        }
    }

    /// What the caller should know beside the refusal.
    pub(crate) fn warnings(&self) -> &[String] {
        match self {
            Self::Denied(denial) => &denial.warnings,
            _ => &[],
        }
    }

    /// The body of the answer.
    pub(crate) fn to_status(&self) -> Value {
        let (code, reason) = self.code_and_reason();
        let mut status = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": self.message(),
        });
        if let Some(fields) = status.as_object_mut() {
            if !reason.is_empty() {
                fields.insert("reason".to_owned(), json!(reason));
            }
            if let Some(details) = self.details() {
                fields.insert("details".to_owned(), Value::Object(details));
            }
            fields.insert("code".to_owned(), json!(code));
        }
        status
    }
}

fn conflict(subject: &Subject, reason: &str) -> String {
    format!("Operation cannot be fulfilled on {} {:?}: {reason}", subject.qualified(), subject.name)
}

/// One error stands alone, several are a bracketed list without repetitions.
fn aggregate(errors: &[FieldError]) -> String {
    let mut texts: Vec<String> = Vec::with_capacity(errors.len());
    for error in errors {
        let text = error.to_string();
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    if texts.len() == 1 { texts.concat() } else { format!("[{}]", texts.join(", ")) }
}

/// The answer to a deletion that removed the object.
pub(crate) fn deleted(subject: &Subject, uid: &str) -> Value {
    let mut details = subject.details();
    details.insert("uid".to_owned(), json!(uid));
    json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host() -> Box<Subject> {
        Box::new(Subject::new("metal3.io", "baremetalhosts", "h"))
    }

    #[test]
    fn a_conflict_carries_the_stock_message() {
        let status = ApiError::Modified(host()).to_status();
        assert_eq!(status["code"], 409);
        assert_eq!(status["reason"], "Conflict");
        assert_eq!(
            status["message"],
            "Operation cannot be fulfilled on baremetalhosts.metal3.io \"h\": the object has been modified; please apply \
             your changes to the latest version and try again"
        );
        assert_eq!(status["details"], json!({"name": "h", "group": "metal3.io", "kind": "baremetalhosts"}));
    }

    #[test]
    fn several_field_errors_are_a_bracketed_list_with_one_cause_each() {
        let errors = vec![FieldError::required("spec.a", ""), FieldError::required("spec.b", "")];
        let status = ApiError::Invalid(Box::new(Subject::new("", "Secret", "s")), errors).to_status();
        assert_eq!(
            status["message"],
            "Secret \"s\" is invalid: [spec.a: Required value, spec.b: Required value]"
        );
        assert_eq!(
            status["details"]["causes"][1],
            json!({"reason": "FieldValueRequired", "message": "Required value", "field": "spec.b"})
        );
    }
}
