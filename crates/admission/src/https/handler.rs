//! What a server is for: judges heads and answers requests. The server around it bounds connections, bytes and time.

use bytes::Bytes;
use http::{HeaderValue, Request, Response, StatusCode, header, request::Parts};

/// An answer, whole.
pub type Reply = Response<Vec<u8>>;

/// Answers requests.
pub trait Handler: Send + Sync + 'static {
    /// How many bytes the body of a request may have, by its head alone.
    ///
    /// # Errors
    /// The refusal of a request whose body is not worth reading.
    #[expect(clippy::result_large_err, reason = "a refusal is an answer: made once, and sent")]
    fn body_limit(&self, head: &Parts) -> Result<usize, Reply>;

    /// Answers a request that was read whole.
    fn answer(&self, request: Request<Bytes>) -> impl Future<Output = Reply> + Send;
}

/// An answer that is one sentence.
pub fn text_reply(status: StatusCode, sentence: impl Into<String>) -> Reply {
    reply(status, "text/plain; charset=utf-8", sentence.into().into_bytes())
}

/// An answer of this type.
pub fn reply(status: StatusCode, content_type: &'static str, body: Vec<u8>) -> Reply {
    let mut reply = Response::new(body);
    *reply.status_mut() = status;
    reply.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    reply
}

/// A refusal of a method, with those that are allowed.
pub fn method_not_allowed(allowed: &'static str, sentence: &str) -> Reply {
    let mut reply = text_reply(StatusCode::METHOD_NOT_ALLOWED, sentence);
    reply.headers_mut().insert(header::ALLOW, HeaderValue::from_static(allowed));
    reply
}

/// A refusal of a body of more than so many bytes.
pub(super) fn too_large(limit: usize) -> Reply {
    text_reply(StatusCode::PAYLOAD_TOO_LARGE, format!("the body is larger than {limit} bytes"))
}
