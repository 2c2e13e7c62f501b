//! What diagnostics answer: `GET /metrics` and `PUT /debug/flags/v`.

use std::str;

use bytes::Bytes;
use capm3_admission::https::{Handler, Reply, method_not_allowed, reply, text_reply};
use capm3_engine::metrics::{Format, Metrics};
use http::{HeaderValue, Method, Request, StatusCode, header, request::Parts};
use tracing::{error, info, warn};

use super::access::{Access, Verdict};
use crate::{logs::Level, manager::log_flags::level_of};

const METRICS: &str = "/metrics";
const VERBOSITY: &str = "/debug/flags/v";
/// A verbosity has a few digits.
const VERBOSITY_BYTES: usize = 16;

/// What is served to those who may see it.
pub struct Diagnostics {
    pub(super) metrics: Metrics,
    /// Who may; none if everybody may read metrics, and nothing else is served.
    pub(super) access: Option<Access>,
    pub(super) level: Level,
}

impl Handler for Diagnostics {
    fn body_limit(&self, head: &Parts) -> Result<usize, Reply> {
        match (head.uri.path(), &self.access) {
            (METRICS, _) if head.method == Method::GET => Ok(0),
            (METRICS, _) => Err(method_not_allowed("GET", "metrics are read with GET")),
            (VERBOSITY, Some(_)) if head.method == Method::PUT => Ok(VERBOSITY_BYTES),
            (VERBOSITY, Some(_)) => Err(method_not_allowed("PUT", "the verbosity is set with PUT")),
            (_, Some(_)) => Err(text_reply(StatusCode::NOT_FOUND, "try /metrics or /debug/flags/v")),
            (_, None) => Err(text_reply(StatusCode::NOT_FOUND, "try /metrics")),
        }
    }

    async fn answer(&self, request: Request<Bytes>) -> Reply {
        if let Some(access) = &self.access {
            let (verb, path) = (request.method().as_str().to_lowercase(), request.uri().path());
            let token = request.headers().get(header::AUTHORIZATION).and_then(|it| it.to_str().ok());
            if let Some(refusal) = refusal(access.judge(token, &verb, path).await, &verb, path) {
                return refusal;
            }
        }
        match request.uri().path() {
            VERBOSITY => self.set_verbosity(request.body()),
            _ => self.scrape(request.headers().get(header::ACCEPT)).await,
        }
    }
}

impl Diagnostics {
    /// Beside the runtime's workers: sources look through whole caches.
    async fn scrape(&self, accept: Option<&HeaderValue>) -> Reply {
        let format = Format::accepted(accept.and_then(|it| it.to_str().ok()).unwrap_or_default());
        let metrics = self.metrics.clone();
        match tokio::task::spawn_blocking(move || metrics.text(format)).await {
            Ok(text) => reply(StatusCode::OK, format.content_type(), text.into_bytes()),
            Err(problem) => {
                error!(%problem, "metrics could not be read");
                text_reply(StatusCode::INTERNAL_SERVER_ERROR, "metrics could not be read; see the logs")
            }
        }
    }

    fn set_verbosity(&self, body: &[u8]) -> Reply {
        let verbosity = str::from_utf8(body).ok().and_then(|text| text.trim().parse::<i32>().ok());
        let Some(verbosity) = verbosity else {
            return text_reply(StatusCode::BAD_REQUEST, "the body must be a whole number, such as 4");
        };
        let level = level_of(verbosity);
        match self.level.set(level) {
            Ok(()) => {
                info!(verbosity, level, "the log level is changed");
                text_reply(StatusCode::OK, format!("verbosity {verbosity}: logs {level}\n"))
            }
            Err(error) => text_reply(StatusCode::INTERNAL_SERVER_ERROR, error.to_string()),
        }
    }
}

/// The answer to who may not.
fn refusal(verdict: Verdict, verb: &str, path: &str) -> Option<Reply> {
    Some(match verdict {
        Verdict::Allowed => return None,
        Verdict::Unauthenticated => {
            let sentence = "send the token of a user as `Authorization: Bearer TOKEN`";
            let mut reply = text_reply(StatusCode::UNAUTHORIZED, sentence);
            reply.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            reply
        }
        Verdict::Forbidden(user) => {
            text_reply(StatusCode::FORBIDDEN, format!("user {user} may not {verb} the path {path}"))
        }
        Verdict::Unknown(cause) => {
            warn!(cause, "the API server does not say who may see diagnostics");
            text_reply(StatusCode::SERVICE_UNAVAILABLE, "the API server does not answer who may see this")
        }
    })
}
