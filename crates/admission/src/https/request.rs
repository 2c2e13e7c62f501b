//! One request: read within limits, handed to the [`Handler`], answered.

use std::{convert::Infallible, sync::Arc};

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::{Body, Incoming};

use super::{
    body::Answer,
    connection::Shared,
    handler::{Handler, Reply, text_reply, too_large},
    slots::Slot,
};

/// Answers a request, whatever it is.
pub(super) async fn answer<H: Handler>(
    shared: Arc<Shared<H>>,
    slot: Arc<Slot>,
    request: Request<Incoming>,
) -> Result<Response<Answer>, Infallible> {
    let in_flight = slot.begin();
    let (head, body) = request.into_parts();
    let (room, reply) = match check(shared.handler.body_limit(&head), &body) {
        Err(reply) => (None, reply),
        Ok(limit) => {
            let announced = body.size_hint().exact();
            let reading = async {
                let room = shared.rooms.take(announced, limit).await;
                (room, read(body, limit).await)
            };
            match tokio::time::timeout(shared.limits.body, reading).await {
                Ok((room, Ok(body))) => (room, shared.handler.answer(Request::from_parts(head, body)).await),
                Ok((room, Err(reply))) => (room, reply),
                Err(_) => (None, text_reply(StatusCode::REQUEST_TIMEOUT, "the body takes too long")),
            }
        }
    };
    Ok(reply.map(|body| Answer::new(body, in_flight, room)))
}

/// Refuses a body that announces too many bytes.
#[expect(clippy::result_large_err, reason = "a refusal is an answer: made once, and sent")]
fn check(limit: Result<usize, Reply>, body: &impl Body) -> Result<usize, Reply> {
    match limit? {
        limit if body.size_hint().lower() > limit as u64 => Err(too_large(limit)),
        limit => Ok(limit),
    }
}

async fn read(body: Incoming, limit: usize) -> Result<Bytes, Reply> {
    let read = Limited::new(body, limit).collect().await;
    read.map(http_body_util::Collected::to_bytes).map_err(|error| {
        if error.is::<LengthLimitError>() {
            too_large(limit)
        } else {
            text_reply(StatusCode::BAD_REQUEST, format!("the body cannot be read: {error}"))
        }
    })
}
