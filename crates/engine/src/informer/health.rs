//! Whether the copy of a kind can be relied on: what its informer last heard from the server, and since when.
//!
//! Takes the outcomes of lists and watches; gives a state for readiness, for proofs of absence and for the log. Each
//! change of state is logged once.

use std::{fmt, time::Duration};

use parking_lot::Mutex;
use tokio::time::Instant;
use tracing::{info, warn};

use crate::{ResourceKind, client::ApiError};

/// Failures in a row that count as an outage: a watch that breaks once is opened again at once.
const TOLERATED_FAILURES: u32 = 4;

/// How the server answers for a kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KindState {
    /// No list has arrived yet.
    Starting,
    /// Listed and watched.
    Synced,
    /// The kind is not installed; it is optional and was never seen.
    NotInstalled,
    /// The server answers 404 for the kind.
    NotServed(String),
    /// The server refuses to list or watch the kind.
    Forbidden(String),
    /// Lists or watches fail for another reason.
    Failing(String),
}

impl KindState {
    /// Whether the copy may be relied on.
    pub fn is_healthy(&self) -> bool {
        matches!(self, Self::Synced | Self::NotInstalled)
    }

    fn of(error: &ApiError) -> Self {
        let text = error.with_causes();
        match error {
            ApiError::NotServed { .. } | ApiError::NotFound { .. } => Self::NotServed(text),
            ApiError::Refused { code: 401 | 403, .. } => Self::Forbidden(text),
            _ => Self::Failing(text),
        }
    }

    /// The cause of a failure changes more often than the state.
    fn is_same_as(&self, other: &Self) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
    }
}

impl fmt::Display for KindState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Starting => f.write_str("is not synced yet"),
            Self::Synced => f.write_str("is synced"),
            Self::NotInstalled => f.write_str("is not installed"),
            Self::NotServed(cause) => write!(f, "is not served ({cause})"),
            Self::Forbidden(cause) => write!(f, "may not be read ({cause})"),
            Self::Failing(cause) => write!(f, "cannot be read ({cause})"),
        }
    }
}

/// Health of one kind.
#[derive(Debug)]
pub struct KindHealth {
    kind: ResourceKind,
    is_required: bool,
    inner: Mutex<Inner>,
}

#[derive(Debug)]
struct Inner {
    state: KindState,
    since: Instant,
    failures: u32,
    /// A list of the kind has arrived at least once.
    was_served: bool,
}

impl KindHealth {
    /// Health of a kind of which nothing is known yet.
    pub fn new(kind: ResourceKind, is_required: bool) -> Self {
        let inner =
            Inner { state: KindState::Starting, since: Instant::now(), failures: 0, was_served: false };
        Self { kind, is_required, inner: Mutex::new(inner) }
    }

    /// The kind.
    pub fn kind(&self) -> &ResourceKind {
        &self.kind
    }

    /// The state now.
    pub fn state(&self) -> KindState {
        self.inner.lock().state.clone()
    }

    /// Whether the provider cannot work without the kind: it is required, or was served before.
    pub fn is_needed(&self) -> bool {
        self.is_required || self.inner.lock().was_served
    }

    /// How long the copy has been synced without an outage; none if it is not.
    pub fn synced_for(&self) -> Option<Duration> {
        let inner = self.inner.lock();
        (inner.state == KindState::Synced).then(|| inner.since.elapsed())
    }

    /// A list has arrived.
    pub(super) fn listed(&self) {
        let mut inner = self.inner.lock();
        inner.failures = 0;
        inner.was_served = true;
        self.enter(&mut inner, KindState::Synced);
    }

    /// The optional kind is not installed.
    pub(super) fn not_installed(&self) {
        self.enter(&mut self.inner.lock(), KindState::NotInstalled);
    }

    /// A list or a watch failed. Trouble of a moment does not count while the copy is synced; an answer that denies the
    /// kind does at once.
    pub(super) fn failed(&self, error: &ApiError) {
        let mut inner = self.inner.lock();
        inner.failures = inner.failures.saturating_add(1);
        let state = KindState::of(error);
        let is_brief = matches!(state, KindState::Failing(_)) && inner.failures <= TOLERATED_FAILURES;
        if !(is_brief && inner.state.is_healthy()) {
            self.enter(&mut inner, state);
        }
    }

    fn enter(&self, inner: &mut Inner, state: KindState) {
        if state.is_same_as(&inner.state) {
            inner.state = state;
            return;
        }
        let was_first = inner.state == KindState::Starting;
        match &state {
            KindState::NotInstalled => info!(kind = %self.kind, group = self.kind.group, "not installed"),
            KindState::Synced if was_first => {}
            KindState::Synced => info!(kind = %self.kind, group = self.kind.group, "served again"),
            bad => warn!(kind = %self.kind, group = self.kind.group, "{} {bad}", self.kind),
        }
        inner.state = state;
        inner.since = Instant::now();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn health(is_required: bool) -> KindHealth {
        let kind =
            ResourceKind { group: "g".into(), version: "v1".into(), kind: "K".into(), plural: "ks".into() };
        KindHealth::new(kind, is_required)
    }

    fn refused(code: u16) -> ApiError {
        ApiError::Refused { code, reason: "R".into(), message: "m".into() }
    }

    fn not_served() -> ApiError {
        ApiError::NotServed { message: "404 page not found".into() }
    }

    #[tokio::test(start_paused = true)]
    async fn a_kind_that_is_denied_is_unhealthy_at_once_and_one_that_fails_after_a_few_times() {
        let table = [(not_served(), 1), (refused(403), 1), (refused(500), TOLERATED_FAILURES + 1)];
        for (error, needed) in table {
            let health = health(true);
            health.listed();
            for failure in 1..=needed {
                assert!(health.state().is_healthy(), "{error} for the {failure}th time");
                health.failed(&error);
            }
            assert!(!health.state().is_healthy(), "{error}");
            health.listed();
            assert_eq!(health.state(), KindState::Synced);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_time_of_health_starts_anew_after_an_outage_and_not_after_a_relist() {
        let health = health(true);
        assert_eq!(health.synced_for(), None, "never listed");
        health.listed();
        tokio::time::advance(Duration::from_secs(40)).await;
        health.failed(&refused(500));
        health.listed();
        assert_eq!(health.synced_for(), Some(Duration::from_secs(40)));
        health.failed(&not_served());
        assert_eq!(health.synced_for(), None);
        health.listed();
        assert_eq!(health.synced_for(), Some(Duration::ZERO));
    }

    #[tokio::test(start_paused = true)]
    async fn an_optional_kind_is_needed_only_once_it_was_served() {
        let optional = health(false);
        optional.not_installed();
        assert!(optional.state().is_healthy() && !optional.is_needed());
        assert_eq!(optional.synced_for(), None, "what is not installed proves nothing");
        optional.listed();
        optional.failed(&not_served());
        assert!(!optional.state().is_healthy() && optional.is_needed());
        assert!(health(true).is_needed());
    }
}
