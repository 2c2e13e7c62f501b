//! What an API server's refusal means for the one who asked.

use serde::Deserialize;
use thiserror::Error;

/// An answer that is not success, or no answer at all.
#[derive(Debug, Error)]
pub enum ApiError {
    /// The object is not there.
    #[error("not found: {message}")]
    NotFound {
        /// The server's words.
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
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Status {
    reason: String,
    message: String,
}

impl ApiError {
    pub(crate) fn transport(source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::NoAnswer { source: source.into() }
    }

    pub(crate) fn from_answer(code: u16, body: &[u8]) -> Self {
        let Status { reason, message } = serde_json::from_slice(body).unwrap_or_default();
        match (code, reason.as_str()) {
            (404, _) => Self::NotFound { message },
            (409, "AlreadyExists") => Self::AlreadyExists { message },
            (409, _) => Self::Conflict { message },
            (410, _) => Self::Expired { message },
            _ => Self::Refused { code, reason, message },
        }
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
            Self::NoAnswer { .. } | Self::Unreadable { .. } => true,
            Self::Refused { code, .. } => *code >= 500,
            _ => false,
        }
    }

    /// Looking again and deciding anew is the answer, not waiting.
    pub fn is_outdated_view(&self) -> bool {
        matches!(self, Self::Conflict { .. } | Self::AlreadyExists { .. } | Self::NotFound { .. })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_tells_every_cause_once() {
        let refused = std::io::Error::from(std::io::ErrorKind::ConnectionRefused);
        let error = ApiError::transport(std::io::Error::other(refused));
        assert_eq!(error.with_causes(), "no answer from the API server: connection refused");
    }

    #[test]
    fn refusals_are_told_apart_by_code_and_reason() {
        let of = |code, reason: &str| {
            ApiError::from_answer(code, format!(r#"{{"reason":"{reason}","message":"m"}}"#).as_bytes())
        };
        assert!(matches!(of(409, "AlreadyExists"), ApiError::AlreadyExists { .. }));
        assert!(matches!(of(409, "Conflict"), ApiError::Conflict { .. }));
        assert!(matches!(of(410, "Expired"), ApiError::Expired { .. }));
        assert!(matches!(of(404, "NotFound"), ApiError::NotFound { .. }));
        assert!(matches!(of(422, "Invalid"), ApiError::Refused { code: 422, .. }));
        assert!(matches!(ApiError::from_answer(500, b"oops"), ApiError::Refused { code: 500, .. }));
        assert!(of(409, "Conflict").is_outdated_view());
        assert!(!of(422, "Invalid").is_outdated_view());
    }
}
