//! What an API server's refusal means for the one who asked.

use serde::Deserialize;
use thiserror::Error;

use super::limits::LimitExceeded;
use crate::{ObjectKey, ResourceKind};

/// An answer that is not success, or no answer at all.
#[derive(Debug, Error)]
pub enum ApiError {
    /// A `Status` of the server says that an object is not there.
    #[error("not found: {message}")]
    NotFound {
        /// The server's words.
        message: String,
        /// Which object. It may be another one than was asked for, such as the namespace.
        subject: Box<Subject>,
    },
    /// Any other 404: the kind is not served under this version, or something before the server answered. It says nothing
    /// about any object.
    #[error("not served: {message}")]
    NotServed {
        /// The answer, cut to one line.
        message: String,
    },
    /// An object of that name is there already.
    #[error("already exists: {message}")]
    AlreadyExists {
        /// The server's words.
        message: String,
    },
    /// The object changed since it was read.
    #[error("conflict: {message}")]
    Conflict {
        /// The server's words.
        message: String,
    },
    /// The version is too old to watch from or to continue a list.
    #[error("version expired: {message}")]
    Expired {
        /// The server's words.
        message: String,
    },
    /// Any other refusal.
    #[error("{code} {reason}: {message}")]
    Refused {
        /// HTTP status code.
        code: u16,
        /// The server's reason in one word.
        reason: String,
        /// The server's words.
        message: String,
    },
    /// A webhook that the server must ask about a write does not answer. Nobody has judged the write, and the webhook may be
    /// away for long.
    #[error("{code} {reason}: {message}")]
    WebhookUnavailable {
        /// HTTP status code.
        code: u16,
        /// The server's reason in one word.
        reason: String,
        /// The server's words.
        message: String,
    },
    /// The answer is not what the API promises.
    #[error("the server's answer could not be read")]
    Unreadable {
        /// Why not.
        source: serde_json::Error,
    },
    /// No answer: it is unknown whether the request took effect.
    #[error("no answer from the API server")]
    NoAnswer {
        /// What stood in the way.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The server sends more, or takes longer, than it may.
    #[error("the server's answer exceeds a limit: {0}")]
    LimitExceeded(#[from] LimitExceeded),
    /// The write was not sent.
    #[error("not sent: this process may not write, because it does not lead or it stops")]
    GateClosed,
}

/// The object that a `Status` is about.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Subject {
    /// API group, empty for the core group.
    pub group: String,
    /// Plural of the resource, which the API calls kind.
    #[serde(rename = "kind")]
    pub resource: String,
    /// Name.
    pub name: String,
}

impl Subject {
    /// Whether it is this object.
    pub fn is(&self, kind: &ResourceKind, key: &ObjectKey) -> bool {
        (&self.group, &self.resource, &self.name) == (&kind.group, &kind.plural, &key.name)
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Status {
    kind: String,
    reason: String,
    message: String,
    details: Option<Subject>,
}

impl ApiError {
    /// What it is, in a word for programs: one of a fixed number.
    pub fn label(&self) -> &'static str {
        match self {
            Self::NotFound { .. } => "not_found",
            Self::NotServed { .. } => "not_served",
            Self::AlreadyExists { .. } => "already_exists",
            Self::Conflict { .. } => "conflict",
            Self::Expired { .. } => "expired",
            Self::Refused { code, .. } => match code {
                400 => "bad_request",
                401 => "unauthorized",
                403 => "forbidden",
                413 => "too_large",
                422 => "invalid",
                429 => "throttled",
                500.. => "server_error",
                _ => "refused",
            },
            Self::WebhookUnavailable { .. } => "webhook_unavailable",
            Self::Unreadable { .. } => "unreadable",
            Self::NoAnswer { .. } => "no_answer",
            Self::LimitExceeded(_) => "limit_exceeded",
            Self::GateClosed => "not_sent",
        }
    }

    pub(crate) fn transport(source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::NoAnswer { source: source.into() }
    }

    pub(crate) fn from_answer(code: u16, body: &[u8]) -> Self {
        let Status { kind, reason, message, details } = serde_json::from_slice(body).unwrap_or_default();
        match (code, reason.as_str()) {
            (404, "NotFound")
                if kind == "Status" && details.as_ref().is_some_and(|of| !of.name.is_empty()) =>
            {
                Self::NotFound { message, subject: Box::new(details.unwrap_or_default()) }
            }
            (404, _) => Self::NotServed { message: one_line(&message, body) },
            (409, "AlreadyExists") => Self::AlreadyExists { message },
            (409, _) => Self::Conflict { message },
            (410, _) => Self::Expired { message },
            (500, _) if is_of_webhook(&message) => Self::WebhookUnavailable { code, reason, message },
            _ => Self::Refused { code, reason, message },
        }
    }

    /// Whether the server says that this very object is not there.
    pub fn is_absence_of(&self, kind: &ResourceKind, key: &ObjectKey) -> bool {
        matches!(self, Self::NotFound { subject, .. } if subject.is(kind, key))
    }

    /// The message with every cause behind it, for logs: without them a refused connection and a certificate that is
    /// not trusted read alike.
    pub fn with_causes(&self) -> String {
        let mut text = self.to_string();
        let mut cause = std::error::Error::source(self);
        while let Some(error) = cause {
            let more = error.to_string();
            if !text.ends_with(&more) {
                text = format!("{text}: {more}");
            }
            cause = error.source();
        }
        text
    }

    /// It is unknown whether the server did what was asked.
    pub fn may_have_taken_effect(&self) -> bool {
        match self {
            Self::NoAnswer { .. }
            | Self::Unreadable { .. }
            | Self::LimitExceeded(_)
            | Self::WebhookUnavailable { .. } => true,
            Self::Refused { code, .. } => *code >= 500,
            _ => false,
        }
    }

    /// The same request may be taken later: nobody has judged it.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::NoAnswer { .. }
            | Self::Unreadable { .. }
            | Self::NotServed { .. }
            | Self::WebhookUnavailable { .. }
            | Self::Conflict { .. }
            | Self::GateClosed => true,
            Self::Refused { code, .. } => *code == 429 || *code >= 500,
            _ => false,
        }
    }

    /// The remedy is to observe and decide again, not to wait.
    pub fn is_outdated_view(&self) -> bool {
        matches!(self, Self::Conflict { .. } | Self::AlreadyExists { .. } | Self::NotFound { .. })
    }
}

/// Whether a 500 is about a webhook. Only the message shows it: the server gives it the same code and reason as any error of its
/// own. This is the one place where they are read.
fn is_of_webhook(message: &str) -> bool {
    message.contains("failed calling webhook")
}

/// What a 404 says, at most a line of it: it may be a whole page of a load balancer.
fn one_line(message: &str, body: &[u8]) -> String {
    const LONGEST: usize = 160;
    let text = String::from_utf8_lossy(body);
    let text = if message.is_empty() { text.as_ref() } else { message };
    text.lines().next().unwrap_or_default().trim().chars().take(LONGEST).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_status_about_the_very_object_is_its_absence() {
        let kind = ResourceKind {
            group: "infrastructure.cluster.x-k8s.io".into(),
            version: "v1beta2".into(),
            kind: "Metal3Machine".into(),
            plural: "metal3machines".into(),
        };
        let key = ObjectKey::new("ns", "m");
        let status = |group: &str, resource: &str, name: &str| {
            format!(
                r#"{{"kind":"Status","reason":"NotFound","message":"gone","details":{{"group":"{group}","kind":"{resource}","name":"{name}"}}}}"#
            )
        };
        let group = kind.group.as_str();
        let table = [
            (status(group, "metal3machines", "m"), true),
            (status(group, "metal3machines", "other"), false),
            (status("metal3.io", "metal3machines", "m"), false),
            (status(group, "metal3clusters", "m"), false),
            (status("", "namespaces", "ns"), false),
            (status(group, "metal3machines", "m").replace("Status", "Page"), false),
            (r#"{"kind":"Status","reason":"NotFound","details":{}}"#.to_owned(), false),
            (r#"{"kind":"Status","reason":"NotFound"}"#.to_owned(), false),
            ("404 page not found\n".to_owned(), false),
            (String::new(), false),
        ];
        for (body, expected) in table {
            let error = ApiError::from_answer(404, body.as_bytes());
            assert_eq!(error.is_absence_of(&kind, &key), expected, "{body}");
        }
        let page = ApiError::from_answer(404, b"404 page not found\nnginx");
        assert_eq!(page.to_string(), "not served: 404 page not found");
    }

    #[test]
    fn a_log_has_every_cause_once() {
        let refused = std::io::Error::from(std::io::ErrorKind::ConnectionRefused);
        let error = ApiError::transport(std::io::Error::other(refused));
        assert_eq!(error.with_causes(), "no answer from the API server: connection refused");
    }

    #[test]
    fn code_and_reason_distinguish_refusals() {
        let of = |code, reason: &str| {
            ApiError::from_answer(code, format!(r#"{{"reason":"{reason}","message":"m"}}"#).as_bytes())
        };
        assert!(matches!(of(409, "AlreadyExists"), ApiError::AlreadyExists { .. }));
        assert!(matches!(of(409, "Conflict"), ApiError::Conflict { .. }));
        assert!(matches!(of(410, "Expired"), ApiError::Expired { .. }));
        assert!(matches!(of(404, "NotFound"), ApiError::NotServed { .. }), "no Status of an object");
        assert!(matches!(of(422, "Invalid"), ApiError::Refused { code: 422, .. }));
        assert!(matches!(ApiError::from_answer(500, b"oops"), ApiError::Refused { code: 500, .. }));
        let webhook = br#"{"reason":"InternalError","message":"Internal error occurred: failed calling webhook \"w\": timeout"}"#;
        let error = ApiError::from_answer(500, webhook);
        assert!(matches!(error, ApiError::WebhookUnavailable { .. }), "{error:?}");
        assert!(error.is_transient() && error.may_have_taken_effect());
        assert_eq!(
            error.to_string(),
            "500 InternalError: Internal error occurred: failed calling webhook \"w\": timeout"
        );
        assert!(of(409, "Conflict").is_outdated_view());
        assert!(!of(422, "Invalid").is_outdated_view());
    }
}
