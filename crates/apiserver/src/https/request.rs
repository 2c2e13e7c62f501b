//! One request from outside: lets in who shows the client certificate or the token, and hands the request to the
//! server. A stranger's body is not read.

use std::{
    convert::Infallible,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use http::{HeaderMap, Request, Response, header};
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};
use tower::{BoxError, Service};

use super::slots::{InFlight, Slot};
use crate::{
    response::{self, ResponseBody},
    server::ApiServer,
    status::ApiError,
};

/// For reading the body of a request; what follows takes no time worth limiting.
const BODY_LIMIT: Duration = Duration::from_secs(30);

/// Largest head of a request that is answered.
pub(super) const HEAD_BYTES: usize = 64 * 1024;

/// Who is at the other end of a connection.
pub(super) struct Caller {
    pub(super) server: ApiServer,
    pub(super) token: Arc<str>,
    /// Verified during the handshake.
    pub(super) has_certificate: bool,
    pub(super) slot: Arc<Slot>,
    /// Tells when the listener stops.
    pub(super) stop: CancellationToken,
}

pub(super) async fn answer(
    caller: Arc<Caller>,
    request: Request<Incoming>,
) -> Result<Response<Tracked>, Infallible> {
    let in_flight = caller.slot.begin();
    let method = request.method().clone();
    let response = if head_bytes(&request) > HEAD_BYTES {
        response::error(&ApiError::HeadTooLarge(HEAD_BYTES))
    } else if caller.has_certificate || has_token(request.headers(), &caller.token) {
        caller.slot.is_known();
        let mut server = caller.server.clone();
        tokio::time::timeout(BODY_LIMIT, server.call(request))
            .await
            .map_or_else(|_| response::error(&ApiError::SlowBody), |Ok(response)| response)
    } else {
        let mut refusal = response::error(&ApiError::Unauthorized);
        refusal.headers_mut().insert(header::WWW_AUTHENTICATE, header::HeaderValue::from_static("Bearer"));
        refusal
    };
    let stopped = Box::pin(caller.stop.clone().cancelled_owned());
    Ok(response::to(&method, response).map(|body| Tracked { body, stopped, _in_flight: in_flight }))
}

fn head_bytes<B>(request: &Request<B>) -> usize {
    let headers = request.headers().iter().map(|(name, value)| name.as_str().len() + value.len());
    let target = request.uri().path_and_query().map_or(0, |it| it.as_str().len());
    headers.sum::<usize>() + target
}

fn has_token(headers: &HeaderMap, token: &str) -> bool {
    let given = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let given = given.and_then(|value| value.split_once(' '));
    given.is_some_and(|(scheme, given)| {
        scheme.eq_ignore_ascii_case("bearer") && is_same(given.trim().as_bytes(), token.as_bytes())
    })
}

/// Compares without telling by its duration how much was right.
fn is_same(given: &[u8], secret: &[u8]) -> bool {
    given.len() == secret.len() && given.iter().zip(secret).fold(0, |diff, (a, b)| diff | (a ^ b)) == 0
}

/// A body that counts as a request in flight until it is sent, and ends when the listener stops, so that watchers
/// see an end and not a broken connection.
pub(super) struct Tracked {
    body: ResponseBody,
    stopped: Pin<Box<WaitForCancellationFutureOwned>>,
    _in_flight: InFlight,
}

impl Body for Tracked {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        match Pin::new(&mut self.body).poll_frame(context) {
            Poll::Pending if self.stopped.as_mut().poll(context).is_ready() => Poll::Ready(None),
            polled => polled,
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_whole_token_opens() {
        let table = [
            ("Bearer secret", true),
            ("bearer secret", true),
            ("Bearer secre", false),
            ("Bearer secrets", false),
            ("Basic secret", false),
            ("secret", false),
        ];
        for (value, opens) in table {
            let mut headers = HeaderMap::new();
            assert!(!has_token(&headers, "secret"));
            headers.insert(header::AUTHORIZATION, value.parse().unwrap());
            assert_eq!(has_token(&headers, "secret"), opens, "{value}");
        }
    }
}
