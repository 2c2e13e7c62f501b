//! Trouble between the provider and its API server: a layer on the provider's client.
//!
//! [`Faults`] is asked about every call and says what befalls it; [`Faulty`] does that. Nothing here is random by
//! itself: equal answers to equal calls give equal runs.

mod cut;
mod storm;

use std::{
    future::{Future, pending, ready},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use capm3_apiserver::{ApiServer, ResponseBody};
use futures::FutureExt;
use http::{Method, Request, Response, StatusCode};
use http_body_util::{Either, Full};
use kube::client::Body;
use serde_json::json;
use thiserror::Error;
use tower::{BoxError, Service};

pub use cut::{Cut, Side};
pub use storm::Storm;

/// What is asked of the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// The HTTP method.
    pub method: Method,
    /// Path and query.
    pub path: String,
}

impl Call {
    /// Whether it changes something.
    pub fn is_write(&self) -> bool {
        self.method != Method::GET
    }

    /// Whether it opens a watch.
    pub fn is_watch(&self) -> bool {
        self.path.contains("watch=1")
    }
}

impl std::fmt::Display for Call {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.method, self.path)
    }
}

/// What befalls a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Nothing.
    None,
    /// The server is not asked; the answer is this refusal.
    Refused(Refusal),
    /// The server is not asked; the connection breaks.
    RequestLost,
    /// The server does what was asked; the connection breaks before the answer.
    ReplyLost,
    /// The server is not asked, and no answer ever comes.
    NeverAsked,
    /// The server does what was asked, and no answer ever comes.
    NeverAnswered,
    /// The server is asked after a while: for a watch this means an outdated view for so long.
    Late(Duration),
    /// A watch that ends at once without having told anything.
    Closed,
}

/// Refusals that have nothing to do with what is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// 403: a policy is against it, or the rights are missing.
    Forbidden,
    /// 409: somebody else was faster.
    Conflict,
    /// 410: the version to watch from is too old.
    Expired,
    /// 429: too much is asked.
    TooMany,
    /// 500.
    Internal,
    /// 503.
    Unavailable,
}

impl Refusal {
    fn answer(self) -> Response<AnswerBody> {
        let (code, reason) = match self {
            Self::Forbidden => (StatusCode::FORBIDDEN, "Forbidden"),
            Self::Conflict => (StatusCode::CONFLICT, "Conflict"),
            Self::Expired => (StatusCode::GONE, "Expired"),
            Self::TooMany => (StatusCode::TOO_MANY_REQUESTS, "TooManyRequests"),
            Self::Internal => (StatusCode::INTERNAL_SERVER_ERROR, "InternalError"),
            Self::Unavailable => (StatusCode::SERVICE_UNAVAILABLE, "ServiceUnavailable"),
        };
        let body = json!({"apiVersion": "v1", "kind": "Status", "status": "Failure", "code": code.as_u16(),
            "reason": reason, "message": "injected by the lab"});
        let mut response = Response::new(Either::Right(Full::from(body.to_string())));
        *response.status_mut() = code;
        response
    }
}

/// Decides what befalls each call, in the order in which the provider makes them.
pub trait Faults: Send + Sync + 'static {
    /// What befalls this call.
    fn befall(&self, call: &Call) -> Fault;
}

/// No trouble at all.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoFaults;

impl Faults for NoFaults {
    fn befall(&self, _: &Call) -> Fault {
        Fault::None
    }
}

/// The server's answer, or one that the lab made up.
type AnswerBody = Either<ResponseBody, Full<Bytes>>;

/// The connection broke.
#[derive(Debug, Error)]
#[error("the lab broke the connection")]
struct Broken;

/// The embedded server with trouble in between.
#[derive(Clone)]
pub(crate) struct Faulty {
    server: ApiServer,
    faults: Arc<dyn Faults>,
}

impl Faulty {
    pub(crate) fn new(server: ApiServer, faults: Arc<dyn Faults>) -> Self {
        Self { server, faults }
    }
}

type Answer = Pin<Box<dyn Future<Output = Result<Response<AnswerBody>, BoxError>> + Send>>;

impl Service<Request<Body>> for Faulty {
    type Response = Response<AnswerBody>;
    type Error = BoxError;
    type Future = Answer;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Answer {
        let call = Call { method: request.method().clone(), path: request.uri().to_string() };
        let server = self.server.clone();
        match self.faults.befall(&call) {
            Fault::None => ask(server, request),
            Fault::Refused(refusal) => ready(Ok(refusal.answer())).boxed(),
            Fault::Closed => ready(Ok(Response::new(Either::Right(Full::default())))).boxed(),
            Fault::RequestLost => ready(Err(Broken.into())).boxed(),
            Fault::NeverAsked => pending().boxed(),
            Fault::ReplyLost => ask(server, request).map(|_| Err(Broken.into())).boxed(),
            Fault::NeverAnswered => ask(server, request).then(|_| pending()).boxed(),
            Fault::Late(delay) => tokio::time::sleep(delay).then(|()| ask(server, request)).boxed(),
        }
    }
}

fn ask(mut server: ApiServer, request: Request<Body>) -> Answer {
    let answer = server.call(request);
    Box::pin(async move {
        let response = answer.await?;
        Ok(response.map(Either::Left))
    })
}
