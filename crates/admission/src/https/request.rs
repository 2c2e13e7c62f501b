//! One request: read within limits, handed to [`crate::review`], answered.

use std::{convert::Infallible, sync::Arc};

use bytes::Bytes;
use http::{HeaderValue, Method, Request, Response, StatusCode, header};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::{Body, Incoming};
use tracing::error;

use super::{body::Answer, connection::Shared, slots::Slot};
use crate::review::{self, Reply, Route};

/// Answers a request, whatever it is.
pub(super) async fn answer(
    shared: Arc<Shared>,
    slot: Arc<Slot>,
    request: Request<Incoming>,
) -> Result<Response<Answer>, Infallible> {
    let in_flight = slot.begin();
    let (room, reply) = match check(&request) {
        Err(reply) => (None, reply),
        Ok(route) => {
            let limit = route.body_limit();
            let announced = request.body().size_hint().exact();
            let reading = async {
                let room = shared.rooms.take(announced, limit).await;
                (room, read(request.into_body(), limit).await)
            };
            match tokio::time::timeout(shared.limits.body, reading).await {
                Ok((room, Ok(body))) => (room, judge(route, body).await),
                Ok((room, Err(reply))) => (room, reply),
                Err(_) => (None, say(StatusCode::REQUEST_TIMEOUT, "the body takes too long")),
            }
        }
    };
    let content_type = if reply.code == 200 { "application/json" } else { "text/plain; charset=utf-8" };
    let mut response = Response::new(Answer::new(reply.body, in_flight, room));
    *response.status_mut() = StatusCode::from_u16(reply.code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    if reply.code == 405 {
        response.headers_mut().insert(header::ALLOW, HeaderValue::from_static("POST"));
    }
    Ok(response)
}

/// What a request asks for, by its head alone.
fn check<B: Body>(request: &Request<B>) -> Result<Route, Reply> {
    let path = request.uri().path();
    let Some(route) = Route::of(path) else {
        return Err(say(StatusCode::NOT_FOUND, &format!("there is no webhook at {path}")));
    };
    if request.method() != Method::POST {
        return Err(say(StatusCode::METHOD_NOT_ALLOWED, "a webhook takes POST only"));
    }
    let content_type = request.headers().get(header::CONTENT_TYPE).map(HeaderValue::as_bytes);
    if content_type.is_some_and(|it| !it.starts_with(b"application/json")) {
        return Err(say(StatusCode::UNSUPPORTED_MEDIA_TYPE, "a review is application/json"));
    }
    if request.body().size_hint().lower() > route.body_limit() as u64 {
        return Err(too_large(route.body_limit()));
    }
    Ok(route)
}

async fn read(body: Incoming, limit: usize) -> Result<Bytes, Reply> {
    let read = Limited::new(body, limit).collect().await;
    read.map(http_body_util::Collected::to_bytes).map_err(|error| {
        if error.is::<LengthLimitError>() {
            too_large(limit)
        } else {
            say(StatusCode::BAD_REQUEST, &format!("the body cannot be read: {error}"))
        }
    })
}

/// Beside the runtime's workers: a conversion of many objects takes time, and a panic must not end more than itself.
async fn judge(route: Route, body: Bytes) -> Reply {
    let judged = tokio::task::spawn_blocking(move || review::answer(route, &body)).await;
    judged.unwrap_or_else(|problem| {
        error!(?route, %problem, "a review could not be answered");
        say(
            StatusCode::INTERNAL_SERVER_ERROR,
            "the review could not be answered; see the logs of the manager",
        )
    })
}

fn too_large(limit: usize) -> Reply {
    say(StatusCode::PAYLOAD_TOO_LARGE, &format!("the body is larger than {limit} bytes"))
}

fn say(code: StatusCode, sentence: &str) -> Reply {
    Reply { code: code.as_u16(), body: sentence.as_bytes().to_vec() }
}
