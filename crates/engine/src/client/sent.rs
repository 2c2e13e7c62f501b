//! What is logged of each request at level trace: takes its method and path, logs them with the status and the time that the
//! answer took to begin.
//!
//! Never what is sent or answered, which may be a Secret, and never a header or the query, which may have a token.

use std::fmt;

use http::Method;
use tracing::trace;

use crate::clock::Stopwatch;

/// A request that is on its way.
pub(super) struct Sent {
    method: Method,
    watch: Stopwatch,
}

impl Sent {
    pub(super) fn now(method: &Method) -> Self {
        Self { method: method.clone(), watch: Stopwatch::start() }
    }

    /// The server has answered with this status; none if it did not.
    pub(super) fn answered(&self, server: &str, path: &str, status: Option<u16>) {
        let verb = Verb { method: &self.method, path };
        let (path, duration) = (without_query(path), self.watch.elapsed());
        trace!(%verb, server, path, status, ?duration, "request");
    }
}

/// The method, or that it is a watch.
struct Verb<'a> {
    method: &'a Method,
    path: &'a str,
}

impl fmt::Display for Verb<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let query = self.path.split_once('?').map_or("", |(_, query)| query);
        let is_watch = query.split('&').any(|part| part == "watch=1");
        f.write_str(if is_watch { "WATCH" } else { self.method.as_str() })
    }
}

fn without_query(path: &str) -> &str {
    path.split_once('?').map_or(path, |(path, _)| path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_logged_without_its_query_and_a_watch_by_its_name() {
        for (path, verb, logged) in [
            ("/api/v1/nodes", "GET", "/api/v1/nodes"),
            ("/api/v1/nodes?limit=500&continue=token", "GET", "/api/v1/nodes"),
            ("/api/v1/nodes?watch=1&resourceVersion=7", "WATCH", "/api/v1/nodes"),
        ] {
            assert_eq!(Verb { method: &Method::GET, path }.to_string(), verb, "{path}");
            assert_eq!(without_query(path), logged);
        }
    }
}
