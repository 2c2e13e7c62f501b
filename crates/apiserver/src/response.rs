//! What goes back to the client: a whole body, or a watch that is still being written.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use http::{Method, Response, StatusCode, header};
use http_body::{Body, Frame, SizeHint};
use serde_json::Value;
use tower::BoxError;

use crate::{status::ApiError, view::bytes, watch::Watch};

/// Room for warnings in the head of an answer.
const WARNING_BYTES: usize = 4096;

/// What a poll of a body gives.
pub(crate) type PolledFrame = Poll<Option<Result<Frame<Bytes>, BoxError>>>;

/// The body of an answer.
#[must_use]
pub struct ResponseBody(Inner);

enum Inner {
    Whole(Option<Bytes>),
    Watch(Box<Watch>),
}

impl ResponseBody {
    /// Bytes that stay in memory until the rest of the body is read.
    pub(crate) fn held_bytes(&self) -> usize {
        match &self.0 {
            Inner::Whole(body) => body.as_ref().map_or(0, Bytes::len),
            Inner::Watch(watch) => watch.held_bytes(),
        }
    }
}

impl Body for ResponseBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> PolledFrame {
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

/// The same answer under another media type.
pub(crate) fn of_type(
    mut response: Response<ResponseBody>,
    media_type: &'static str,
) -> Response<ResponseBody> {
    response.headers_mut().insert(header::CONTENT_TYPE, header::HeaderValue::from_static(media_type));
    response
}

/// The same answer as YAML; a watch stays as it is.
pub(crate) fn into_yaml(response: Response<ResponseBody>) -> Response<ResponseBody> {
    let (parts, body) = response.into_parts();
    let Inner::Whole(Some(json)) = body.0 else {
        return Response::from_parts(parts, body);
    };
    let yaml =
        serde_json::from_slice::<Value>(&json).ok().and_then(|value| serde_saphyr::to_string(&value).ok());
    match yaml {
        Some(yaml) => {
            let body = ResponseBody(Inner::Whole(Some(yaml.into())));
            of_type(Response::from_parts(parts, body), "application/yaml")
        }
        // Plain text such as that of health checks.
        None => Response::from_parts(parts, ResponseBody(Inner::Whole(Some(json)))),
    }
}

/// The answer to a method: HEAD gets the headers only, also the length of what GET would get.
pub(crate) fn to(method: &Method, response: Response<ResponseBody>) -> Response<ResponseBody> {
    if *method != Method::HEAD {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    if let Inner::Whole(Some(body)) = &body.0 {
        parts.headers.insert(header::CONTENT_LENGTH, header::HeaderValue::from(body.len()));
    }
    Response::from_parts(parts, ResponseBody(Inner::Whole(None)))
}

/// Adds what the caller should know although it worked. Long lists are cut: headers are not made for them.
pub(crate) fn warning(mut response: Response<ResponseBody>, warnings: &[String]) -> Response<ResponseBody> {
    let mut room = WARNING_BYTES;
    for text in warnings {
        let quoted = text.replace('\\', "\\\\").replace('"', "\\\"");
        let Some(left) = room.checked_sub(quoted.len()) else { break };
        room = left;
        if let Ok(value) = header::HeaderValue::from_bytes(format!("299 - \"{quoted}\"").as_bytes()) {
            response.headers_mut().append(header::WARNING, value);
        }
    }
    response
}

pub(crate) fn error(error: &ApiError) -> Response<ResponseBody> {
    warning(value(error.code(), &error.to_status()), error.warnings())
}

/// Adds warnings before all others.
pub(crate) fn warning_first(mut response: Response<ResponseBody>, text: &str) -> Response<ResponseBody> {
    let others: Vec<_> = response.headers().get_all(header::WARNING).iter().cloned().collect();
    response.headers_mut().remove(header::WARNING);
    let mut response = warning(response, &[text.to_owned()]);
    for other in others {
        response.headers_mut().append(header::WARNING, other);
    }
    response
}

pub(crate) fn watch(watch: Watch) -> Response<ResponseBody> {
    respond(200, Inner::Watch(Box::new(watch)))
}
