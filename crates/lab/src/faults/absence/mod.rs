//! The server seems to lack objects of one kind that are there: a layer that rewrites what it answers to the provider.
//!
//! [`AnswerFault`] says how, [`Absence`] from when to when: before a write that is counted, or when it is switched on, until
//! it is over. Requests about other kinds pass. The short forms of discovery (`/apis` and `/apis/GROUP`) name no kinds
//! and stay as they are; watches of definitions too.

mod fault;
mod rewrite;
mod target;
#[cfg(test)]
mod tests;
mod watching;

use std::{
    future::ready,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use capm3_apiserver::ApiServer;
use capm3_engine::ResourceKind;
use futures::FutureExt;
use http::{Request, Response};
use http_body_util::{BodyExt, Either};
use kube::client::Body;
use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::{Notify, watch};
use tower::Service;

pub use fault::AnswerFault;
use rewrite::{Reply, refusal, rewrite, rewrites};
use target::{Asked, asked};

use super::{AnswerBody, AnswerFuture, Call, Fault, Faults, ask, whole};

/// Where a fault stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Before,
    On,
    Over,
}

/// One kind that seems to be absent for a while.
#[derive(Debug)]
pub struct Absence {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    kind: ResourceKind,
    fault: AnswerFault,
    /// The write before which it begins.
    at: Option<u64>,
    armed: AtomicBool,
    writes: AtomicU64,
    phase: watch::Sender<Phase>,
    /// The object that cannot be read, by namespace and name.
    victim: Mutex<Option<String>>,
    begun: Notify,
}

impl Absence {
    /// Begins before the `at`-th write, counted from 1 after [`Self::arm`], or only with [`Self::begin`].
    pub fn new(kind: ResourceKind, fault: AnswerFault, at: Option<u64>) -> Self {
        let (phase, _) = watch::channel(Phase::Before);
        let shared = Shared {
            kind,
            fault,
            at,
            armed: AtomicBool::new(false),
            writes: AtomicU64::new(0),
            phase,
            victim: Mutex::default(),
            begun: Notify::new(),
        };
        Self { shared: Arc::new(shared) }
    }

    /// Starts to count.
    pub fn arm(&self) {
        self.shared.armed.store(true, Ordering::SeqCst);
    }

    /// Writes that were counted.
    pub fn writes(&self) -> u64 {
        self.shared.writes.load(Ordering::SeqCst)
    }

    /// Begins now.
    pub fn begin(&self) {
        self.shared.phase.send_replace(Phase::On);
        self.shared.begun.notify_one();
    }

    /// Waits until it begins; once for each beginning.
    pub async fn begun(&self) {
        self.shared.begun.notified().await;
    }

    /// Whether it began, be it over or not.
    pub fn has_begun(&self) -> bool {
        *self.shared.phase.borrow() != Phase::Before
    }

    /// The server answers as it is again.
    pub fn over(&self) {
        self.shared.phase.send_replace(Phase::Over);
    }
}

impl Faults for Absence {
    fn apply_fault(&self, call: &Call) -> Fault {
        if call.is_write() && self.shared.armed.load(Ordering::SeqCst) {
            let write = self.shared.writes.fetch_add(1, Ordering::SeqCst) + 1;
            if self.shared.at == Some(write) {
                self.begin();
            }
        }
        Fault::None
    }

    fn ask(&self, server: &ApiServer, call: &Call, request: Request<Body>) -> AnswerFuture {
        let Some((asked, version)) = asked(&self.shared.kind, call) else {
            return ask(server.clone(), request);
        };
        let is_on = *self.shared.phase.borrow() == Phase::On;
        let reply = refusal(self.shared.fault, &self.shared.kind, asked, version).filter(|_| is_on);
        if let Some(reply) = reply {
            return ready(Ok(answer(reply))).boxed();
        }
        if asked == Asked::Watch {
            return watching::ask(&self.shared, server, request);
        }
        if !is_on {
            return ask(server.clone(), request);
        }
        if self.shared.fault == AnswerFault::OldList && asked == Asked::List {
            return ask(server.clone(), self.shared.of_old(server, request));
        }
        if rewrites(self.shared.fault, asked) {
            return self.shared.rewritten(server.clone(), request, asked, version);
        }
        ask(server.clone(), request)
    }
}

fn answer(reply: Reply) -> Response<AnswerBody> {
    whole(reply.code, reply.body)
}

impl Shared {
    /// The server's answer as the fault shows it; refusals stay as they are.
    fn rewritten(
        self: &Arc<Self>,
        mut server: ApiServer,
        request: Request<Body>,
        asked: Asked,
        version: &str,
    ) -> AnswerFuture {
        let (shared, version) = (Arc::clone(self), version.to_owned());
        Box::pin(async move {
            let response = server.call(request).await?;
            let code = response.status();
            if !code.is_success() {
                return Ok(response.map(Either::Left));
            }
            let text = response.into_body().collect().await?.to_bytes();
            let Ok(mut body) = serde_json::from_slice::<Value>(&text) else { return Ok(whole(code, text)) };
            let is_victim = |object: &Value| shared.is_victim(object);
            let reply = rewrite(shared.fault, &shared.kind, (asked, &version), &mut body, is_victim);
            Ok(answer(reply.unwrap_or_else(|| Reply { code, body: body.to_string() })))
        })
    }

    /// The request for the same list at an earlier moment.
    fn of_old(&self, server: &ApiServer, request: Request<Body>) -> Request<Body> {
        let history = server.history(None, &self.kind.group, &self.kind.plural).unwrap_or_default();
        let uri = request.uri().to_string();
        let Some(middle) = history.get(history.len() / 2).filter(|_| !uri.contains("continue=")) else {
            return request;
        };
        let sign = if uri.contains('?') { '&' } else { '?' };
        let old = format!("{uri}{sign}resourceVersion={}&resourceVersionMatch=Exact", middle.number);
        let (mut parts, body) = request.into_parts();
        parts.uri = old.parse().unwrap_or(parts.uri);
        Request::from_parts(parts, body)
    }

    /// Whether an object is the one that cannot be read: the first live one that is shown.
    fn is_victim(&self, object: &Value) -> bool {
        let text = |pointer| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let key = format!("{}/{}", text("/metadata/namespace"), text("/metadata/name"));
        let is_live = object.pointer("/metadata/deletionTimestamp").is_none();
        let mut victim = self.victim.lock();
        if victim.is_none() && is_live {
            *victim = Some(key.clone());
        }
        *victim == Some(key)
    }
}
