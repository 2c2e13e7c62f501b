//! One request from outside: lets in who shows the client certificate or the token, and hands the request to the
//! server. The body of an unauthenticated client is not read, and its refusal keeps no place busy.

use std::{convert::Infallible, sync::Arc, time::Duration};

use http::{HeaderMap, Request, Response, header};
use hyper::body::{Body, Incoming};
use tokio_util::sync::CancellationToken;
use tower::Service;

use super::{bodies::Bodies, outgoing::Outgoing, slots::Slot, unread_responses::Unread};
use crate::{
    response::{self, ResponseBody},
    server::ApiServer,
    status::ApiError,
    user::is_same,
};

/// For the body of a request, to find room and to be read; what follows takes no time worth limiting.
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
    pub(super) unread: Arc<Unread>,
    pub(super) bodies: Arc<Bodies>,
}

pub(super) async fn answer(
    caller: Arc<Caller>,
    request: Request<Incoming>,
) -> Result<Response<Outgoing>, Infallible> {
    let method = request.method().clone();
    let is_authenticated = caller.has_certificate || has_token(request.headers(), &caller.token);
    if !is_authenticated {
        caller.slot.refuse();
        let error = if is_too_large(&request) { too_large() } else { ApiError::Unauthorized };
        let mut refusal = response::error(&error);
        refusal.headers_mut().insert(header::WWW_AUTHENTICATE, header::HeaderValue::from_static("Bearer"));
        return Ok(response::to(&method, refusal).map(Outgoing::refusal));
    }
    caller.slot.mark_authenticated();
    let in_flight = caller.slot.begin();
    let response = if is_too_large(&request) {
        response::error(&too_large())
    } else {
        tokio::time::timeout(BODY_LIMIT, call(&caller, request))
            .await
            .unwrap_or_else(|_| response::error(&ApiError::SlowBody))
    };
    Ok(response::to(&method, response).map(|body| Outgoing::new(&caller, body, in_flight)))
}

/// Hands a request to the server as soon as there is room for its body.
async fn call(caller: &Caller, request: Request<Incoming>) -> Response<ResponseBody> {
    let _room = caller.bodies.room(&request.body().size_hint()).await;
    let Ok(response) = caller.server.clone().call(request).await;
    response
}

fn too_large() -> ApiError {
    ApiError::HeadTooLarge(HEAD_BYTES)
}

fn is_too_large<B>(request: &Request<B>) -> bool {
    head_bytes(request) > HEAD_BYTES
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
