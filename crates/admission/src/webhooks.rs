//! The webhooks as a server answers them: hands each body to [`crate::review`] as it came, and judges nothing itself.

use bytes::Bytes;
use http::{HeaderValue, Method, Request, StatusCode, header, request::Parts};
use tracing::error;

use crate::{
    https::{Handler, Reply, method_not_allowed, reply, text_reply},
    review::{self, Route},
};

/// Answers reviews.
#[derive(Debug, Clone, Copy, Default)]
pub struct Webhooks;

impl Handler for Webhooks {
    fn body_limit(&self, head: &Parts) -> Result<usize, Reply> {
        let path = head.uri.path();
        let Some(route) = Route::of(path) else {
            return Err(text_reply(StatusCode::NOT_FOUND, format!("there is no webhook at {path}")));
        };
        if head.method != Method::POST {
            return Err(method_not_allowed("POST", "a webhook takes POST only"));
        }
        let content_type = head.headers.get(header::CONTENT_TYPE).map(HeaderValue::as_bytes);
        if content_type.is_some_and(|it| !it.starts_with(b"application/json")) {
            return Err(text_reply(StatusCode::UNSUPPORTED_MEDIA_TYPE, "a review is application/json"));
        }
        Ok(route.body_limit())
    }

    /// Beside the runtime's workers: a conversion of many objects takes time, and a panic must not end more than itself.
    async fn answer(&self, request: Request<Bytes>) -> Reply {
        let Some(route) = Route::of(request.uri().path()) else {
            return text_reply(StatusCode::NOT_FOUND, "there is no such webhook");
        };
        let judged = tokio::task::spawn_blocking(move || review::answer(route, request.body())).await;
        match judged {
            Ok(review::Reply { code: 200, body }) => reply(StatusCode::OK, "application/json", body),
            Ok(review::Reply { code, body }) => {
                let status = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
                reply(status, "text/plain; charset=utf-8", body)
            }
            Err(problem) => {
                error!(?route, %problem, "a review could not be answered");
                let sentence = "the review could not be answered; see the logs of the manager";
                text_reply(StatusCode::INTERNAL_SERVER_ERROR, sentence)
            }
        }
    }
}
