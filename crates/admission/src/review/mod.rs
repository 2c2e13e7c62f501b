//! Reviews as an API server sends them to a webhook: bytes in, bytes out, by the paths of the Go provider.
//!
//! Takes the path and the body of a request, gives an HTTP status and a body. Knows neither connections nor time, and
//! adds no rule: what is filled in, refused or converted is decided by the functions of this crate that the embedded
//! server calls too.

mod admit;
mod convert;
mod route;

use thiserror::Error;

pub use self::route::Route;

/// What is sent back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// HTTP status: 200 with a review, 400 with a sentence.
    pub code: u16,
    /// A review as JSON, or a sentence.
    pub body: Vec<u8>,
}

/// Why a body is no review. A review that can be read is always answered by a review.
#[derive(Debug, Error)]
enum Malformed {
    #[error("the body is not a review: {0}")]
    Unreadable(#[source] serde_json::Error),
    #[error(
        "expected {expected}, got {kind} of {api_version}: check the path in the clientConfig of the webhook"
    )]
    AnotherKind { expected: &'static str, kind: String, api_version: String },
    #[error("the review has no request with a uid")]
    NoRequest,
    #[error("the answer cannot be written: {0}")]
    Unwritable(#[source] serde_json::Error),
}

/// Answers the review that is sent to a path.
pub fn answer(route: Route, body: &[u8]) -> Reply {
    let answered = match route {
        Route::Default(kind) => admit::answer(body, |request| admit::fill_in(&kind, request)),
        Route::Validate(kind) => admit::answer(body, |request| admit::validate(&kind, request)),
        Route::Convert => convert::answer(body),
    };
    match answered {
        Ok(body) => Reply { code: 200, body },
        Err(malformed) => Reply { code: 400, body: malformed.to_string().into_bytes() },
    }
}

/// Whether a review is of a kind and a version that is understood here.
fn check_kind(
    expected: &'static str,
    versions: &[&str],
    (kind, api_version): (&str, &str),
) -> Result<(), Malformed> {
    let (word, _) = expected.split_once(' ').unwrap_or((expected, ""));
    if kind == word && versions.contains(&api_version) {
        return Ok(());
    }
    Err(Malformed::AnotherKind { expected, kind: kind.to_owned(), api_version: api_version.to_owned() })
}

#[cfg(test)]
#[path = "review_tests.rs"]
mod tests;
