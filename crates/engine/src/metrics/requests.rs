//! Requests to API servers, as client-go counts them.

use std::{collections::BTreeMap, fmt, sync::Arc};

use http::Method;
use parking_lot::Mutex;

use super::{Encoder, Series, Source};

pub(super) const REQUESTS: Series = Series::counter(
    "rest_client_requests",
    &["code", "method", "host"],
    "Requests to API servers by HTTP status, method and host; code <error>: no answer; host workload-clusters: all of them",
);

/// How many requests there were of each method and answer. Copies are one count.
#[derive(Debug, Clone, Default)]
pub struct RequestCounts(Arc<Mutex<BTreeMap<(&'static str, u16), u64>>>);

/// No answer.
const NONE: u16 = 0;

impl RequestCounts {
    /// A request was answered with this status, or not at all.
    pub(crate) fn add(&self, method: &Method, status: Option<u16>) {
        *self.0.lock().entry((name(method), status.unwrap_or(NONE))).or_default() += 1;
    }
}

/// Methods that the client sends.
fn name(method: &Method) -> &'static str {
    let known = ["GET", "POST", "PUT", "PATCH", "DELETE"];
    known.into_iter().find(|name| *name == method.as_str()).unwrap_or("OTHER")
}

/// The series of requests.
#[derive(Debug)]
pub struct RequestSource(Vec<(String, RequestCounts)>);

impl RequestSource {
    /// Those of these hosts.
    pub fn new(by_host: Vec<(String, RequestCounts)>) -> Self {
        Self(by_host)
    }
}

impl Source for RequestSource {
    fn encode(&self, encoder: &mut Encoder<'_>) -> fmt::Result {
        let mut rows = Vec::new();
        for (host, counts) in &self.0 {
            for ((method, code), count) in counts.0.lock().iter() {
                let code = if *code == NONE { "<error>".to_owned() } else { code.to_string() };
                rows.push(([code, (*method).to_owned(), host.clone()], *count));
            }
        }
        encoder.counters(&REQUESTS, rows)
    }
}
