//! Faults between the provider and its API server: a layer on the provider's client.
//!
//! [`Faults`] is asked for the fault of every call; [`Faulty`] applies it. Nothing here is random by
//! itself: equal answers to equal calls give equal runs. [`Absence`] also rewrites what the server answers, and [`Authorizer`]
//! refuses what an account may not do.

mod absence;
mod crash;
mod random_faults;
mod rights;

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
use http_body_util::{BodyExt, Either, Full, combinators::UnsyncBoxBody};
use kube::client::Body;
use serde_json::json;
use thiserror::Error;
use tower::{BoxError, Service};

pub use absence::{Absence, AnswerFault};
pub use crash::{CrashAtWrite, Side};
pub use random_faults::RandomFaults;
pub use rights::{Access, Authorizer};

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

/// What happens to a call.
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
    /// A watch that ends at once without an event.
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
        whole(code, body.to_string())
    }
}

/// Decides the fault of each call, in the order in which the provider makes them.
pub trait Faults: Send + Sync + 'static {
    /// The fault of this call.
    fn apply_fault(&self, call: &Call) -> Fault;

    /// The server has done what was asked, and the provider gets no answer.
    fn done_unanswered(&self, call: &Call) {
        let _: &Call = call;
    }

    /// Asks the server, where the call reaches it. Whoever rewrites answers does it here.
    fn ask(&self, server: &ApiServer, call: &Call, request: Request<Body>) -> AnswerFuture {
        let _: &Call = call;
        ask(server.clone(), request)
    }
}

/// No faults.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoFaults;

impl Faults for NoFaults {
    fn apply_fault(&self, _: &Call) -> Fault {
        Fault::None
    }
}

/// The server's answer, or one that the lab made up.
pub type AnswerBody = Either<ResponseBody, UnsyncBoxBody<Bytes, BoxError>>;

/// An answer that comes.
pub type AnswerFuture = Pin<Box<dyn Future<Output = Result<Response<AnswerBody>, BoxError>> + Send>>;

/// An answer that the lab made up.
fn whole(code: StatusCode, body: impl Into<Bytes>) -> Response<AnswerBody> {
    let body = Full::new(body.into()).map_err(|never| match never {}).boxed_unsync();
    let mut response = Response::new(Either::Right(body));
    *response.status_mut() = code;
    response
}

/// The connection broke.
#[derive(Debug, Error)]
#[error("the lab broke the connection")]
struct Broken;

/// The embedded server behind faults.
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

impl Service<Request<Body>> for Faulty {
    type Response = Response<AnswerBody>;
    type Error = BoxError;
    type Future = AnswerFuture;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> AnswerFuture {
        let call = Call { method: request.method().clone(), path: request.uri().to_string() };
        let (server, faults) = (self.server.clone(), Arc::clone(&self.faults));
        match faults.apply_fault(&call) {
            Fault::None => faults.ask(&server, &call, request),
            Fault::Refused(refusal) => ready(Ok(refusal.answer())).boxed(),
            Fault::Closed => ready(Ok(whole(StatusCode::OK, Bytes::new()))).boxed(),
            Fault::RequestLost => ready(Err(Broken.into())).boxed(),
            Fault::NeverAsked => pending().boxed(),
            Fault::ReplyLost => faults.ask(&server, &call, request).map(|_| Err(Broken.into())).boxed(),
            Fault::NeverAnswered => {
                let answer = faults.ask(&server, &call, request);
                answer
                    .then(move |_| {
                        faults.done_unanswered(&call);
                        pending()
                    })
                    .boxed()
            }
            Fault::Late(delay) => {
                tokio::time::sleep(delay).then(move |()| faults.ask(&server, &call, request)).boxed()
            }
        }
    }
}

fn ask(mut server: ApiServer, request: Request<Body>) -> AnswerFuture {
    let answer = server.call(request);
    Box::pin(async move {
        let response = answer.await?;
        Ok(response.map(Either::Left))
    })
}
