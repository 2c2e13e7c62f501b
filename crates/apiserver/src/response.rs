//! What goes back to the client: a whole body, or a watch that is still being written.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use http::{Response, StatusCode, header};
use http_body::{Body, Frame, SizeHint};
use serde_json::Value;
use tower::BoxError;

use crate::{status::ApiError, view::bytes, watch::Watch};

/// The body of an answer.
#[must_use]
pub struct ResponseBody(Inner);

enum Inner {
    Whole(Option<Bytes>),
    Watch(Box<Watch>),
}

impl Body for ResponseBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let chunk = match &mut self.0 {
            Inner::Whole(body) => Poll::Ready(body.take()),
            Inner::Watch(watch) => watch.poll_chunk(context),
        };
        chunk.map(|chunk| chunk.map(|chunk| Ok(Frame::data(chunk))))
    }

    fn is_end_stream(&self) -> bool {
        matches!(self.0, Inner::Whole(None))
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Inner::Whole(body) => SizeHint::with_exact(body.as_ref().map_or(0, |body| body.len() as u64)),
            Inner::Watch(_) => SizeHint::default(),
        }
    }
}

impl std::fmt::Debug for ResponseBody {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.0 {
            Inner::Whole(body) => {
                f.debug_tuple("ResponseBody").field(&body.as_ref().map(Bytes::len)).finish()
            }
            Inner::Watch(_) => f.write_str("ResponseBody(watch)"),
        }
    }
}

fn respond(code: u16, body: Inner) -> Response<ResponseBody> {
    let mut response = Response::new(ResponseBody(body));
    *response.status_mut() = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response.headers_mut().insert(header::CONTENT_TYPE, header::HeaderValue::from_static("application/json"));
    response
}

pub(crate) fn json(code: u16, body: Bytes) -> Response<ResponseBody> {
    respond(code, Inner::Whole(Some(body)))
}

pub(crate) fn value(code: u16, body: &Value) -> Response<ResponseBody> {
    json(code, bytes(body))
}

pub(crate) fn text(body: &'static str) -> Response<ResponseBody> {
    let mut response = json(200, Bytes::from_static(body.as_bytes()));
    response
        .headers_mut()
        .insert(header::CONTENT_TYPE, header::HeaderValue::from_static("text/plain; charset=utf-8"));
    response
}

pub(crate) fn error(error: &ApiError) -> Response<ResponseBody> {
    value(error.code(), &error.to_status())
}

pub(crate) fn watch(watch: Watch) -> Response<ResponseBody> {
    respond(200, Inner::Watch(Box::new(watch)))
}
