//! Whether the copy of a kind can be relied on: what its informer last received from the server, and when.
//!
//! Takes the outcomes of lists and watches, and when the server last sent anything; gives a state for readiness, for
//! proofs of absence and for the log. The start and the end of each outage is logged once.

use std::{fmt, time::Duration};

use parking_lot::Mutex;
use tokio::time::Instant;
use tracing::{debug, info, warn};

use crate::{ResourceKind, client::ApiError};

/// Time without an answer that counts as an outage. It is more than the time in which a watch that broke is opened again, and more
/// than an HTTP/2 ping and its timeout take.
pub(super) const OUTAGE: Duration = Duration::from_secs(45);

/// Characters of a cause: it may be a whole page of a load balancer.
const LONGEST_CAUSE: usize = 300;

/// How an informer reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadVerb {
    /// Every object.
    List,
    /// Every change.
    Watch,
}

impl ReadVerb {
    /// As a Role names it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::List => "list",
            Self::Watch => "watch",
        }
    }
}

/// What helps where a kind cannot be read; the log says it with the first warning.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Advice {
    /// Where a missing right is granted.
    pub forbidden: &'static str,
    /// What is to be installed.
    pub not_served: &'static str,
}

impl Advice {
    /// What helps in a state; nothing for those that pass by themselves.
    pub fn on(&self, state: &KindState) -> Option<&'static str> {
        let advice = match state {
            KindState::Forbidden(..) => self.forbidden,
            KindState::NotServed(_) => self.not_served,
            _ => "",
        };
        (!advice.is_empty()).then_some(advice)
    }
}

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
    /// The account has no right to list or watch the kind.
    Forbidden(ReadVerb, String),
    /// The server does not accept the credentials.
    Unauthorized(String),
    /// Lists or watches fail for another reason.
    Failing(String),
}

impl KindState {
    /// Whether the copy may be relied on.
    pub fn is_healthy(&self) -> bool {
        matches!(self, Self::Synced | Self::NotInstalled)
    }

    fn of(asked: ReadVerb, error: &ApiError) -> Self {
        match error {
            ApiError::NotServed { message } | ApiError::NotFound { message, .. } => {
                Self::NotServed(cause(if message.is_empty() { "404 without a message" } else { message }))
            }
            ApiError::Refused { code: 401, .. } => Self::Unauthorized(cause(&error.with_causes())),
            ApiError::Refused { code: 403, .. } => Self::Forbidden(asked, cause(&error.with_causes())),
            ApiError::NoAnswer { source } => {
                Self::Failing(cause(&format!("{error}: {}", root(source.as_ref()))))
            }
            _ => Self::Failing(cause(&error.with_causes())),
        }
    }

    /// The cause of a failure changes more often than the state.
    fn is_same_as(&self, other: &Self) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
    }
}

/// The first of a chain of causes: those in between are layers of the client.
fn root(error: &dyn std::error::Error) -> String {
    std::iter::successors(Some(error), |error| error.source())
        .last()
        .map(ToString::to_string)
        .unwrap_or_default()
}

/// One line of limited length.
fn cause(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default().trim_end_matches([' ', ':']);
    line.chars().take(LONGEST_CAUSE).collect()
}

impl fmt::Display for KindState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Starting => f.write_str("is not synced yet"),
            Self::Synced => f.write_str("is synced"),
            Self::NotInstalled => f.write_str("is not installed"),
            Self::NotServed(cause) => write!(f, "is not served ({cause})"),
            Self::Forbidden(ReadVerb::List, cause) => write!(f, "may not be listed ({cause})"),
            Self::Forbidden(ReadVerb::Watch, cause) => write!(f, "may not be watched ({cause})"),
            Self::Unauthorized(cause) => {
                write!(f, "cannot be read: the API server does not accept the credentials ({cause})")
            }
            Self::Failing(cause) => write!(f, "cannot be read ({cause})"),
        }
    }
}

/// Health of one kind.
#[derive(Debug)]
pub struct KindHealth {
    kind: ResourceKind,
    is_required: bool,
    is_logged: bool,
    advice: Advice,
    inner: Mutex<Inner>,
}

#[derive(Debug)]
struct Inner {
    state: KindState,
    since: Instant,
    /// When a list of the kind last arrived or a watch of it was last known to be alive.
    received: Instant,
    /// A watch is open: what arrives on its connection shows that it is alive.
    is_followed: bool,
    /// What went wrong since then.
    problem: Option<String>,
    /// A list of the kind has arrived at least once.
    was_served: bool,
    /// The kind was synced at least once.
    was_synced: bool,
    /// The kind was synced, or known not to be installed, at least once.
    was_settled: bool,
}

impl Inner {
    /// Whether nothing was received for so long that it is an outage; `activity` is when the server last sent anything.
    fn is_stalled(&self, activity: Instant) -> bool {
        let last = if self.is_followed { self.received.max(activity) } else { self.received };
        last.elapsed() >= OUTAGE
    }
}

impl KindHealth {
    /// Health of a kind of which nothing is known yet.
    pub fn new(kind: ResourceKind, is_required: bool) -> Self {
        let inner = Inner {
            state: KindState::Starting,
            since: Instant::now(),
            received: Instant::now(),
            is_followed: false,
            problem: None,
            was_served: false,
            was_synced: false,
            was_settled: false,
        };
        Self { kind, is_required, is_logged: true, advice: Advice::default(), inner: Mutex::new(inner) }
    }

    /// The same, which logs what helps.
    pub(crate) fn advising(self, advice: Advice) -> Self {
        Self { advice, ..self }
    }

    /// The same without log lines, where outages are reported elsewhere.
    pub(super) fn unlogged(self) -> Self {
        Self { is_logged: false, ..self }
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

    /// Why the provider is not ready because of this kind, in one line. An optional kind counts until it is known whether
    /// it is installed, and once it was served.
    pub fn unready(&self) -> Option<String> {
        let inner = self.inner.lock();
        let is_needed = self.is_required || inner.was_served || !inner.was_settled;
        (is_needed && !inner.state.is_healthy()).then(|| self.line(&inner.state))
    }

    /// How long the copy has been synced without an outage; none if it is not.
    pub fn synced_for(&self) -> Option<Duration> {
        let inner = self.inner.lock();
        (inner.state == KindState::Synced).then(|| inner.since.elapsed())
    }

    /// A list has arrived. It ends no outage: a kind that can be listed but not watched would come and go.
    pub(super) fn listed(&self) {
        let mut inner = self.inner.lock();
        inner.received = Instant::now();
        if matches!(inner.state, KindState::Starting | KindState::NotInstalled) {
            self.enter(&mut inner, KindState::Synced);
        }
        inner.was_served = true;
    }

    /// A watch is open.
    pub(super) fn followed(&self) {
        let mut inner = self.inner.lock();
        inner.received = Instant::now();
        inner.is_followed = true;
        inner.problem = None;
        self.enter(&mut inner, KindState::Synced);
        inner.was_served = true;
    }

    /// The watch ended or broke; `activity` is when the server last sent anything, now if it is not known.
    pub(super) fn unfollowed(&self, activity: Option<Instant>) {
        let mut inner = self.inner.lock();
        if inner.is_followed {
            inner.is_followed = false;
            inner.received = inner.received.max(activity.unwrap_or_else(Instant::now));
        }
    }

    /// The optional kind is not installed.
    pub(super) fn not_installed(&self) {
        self.enter(&mut self.inner.lock(), KindState::NotInstalled);
    }

    /// A list or a watch failed. A failure of a moment does not count while the copy is synced, and none does while the
    /// kind is not installed; an answer that denies the kind counts at once.
    pub(super) fn failed(&self, asked: ReadVerb, error: &ApiError) {
        let mut inner = self.inner.lock();
        match KindState::of(asked, error) {
            KindState::Failing(cause) => {
                inner.problem = Some(cause.clone());
                let is_brief = match inner.state {
                    KindState::Synced => inner.received.elapsed() < OUTAGE,
                    KindState::NotInstalled => true,
                    _ => false,
                };
                if !is_brief {
                    self.enter(&mut inner, KindState::Failing(cause));
                }
            }
            denied => self.enter(&mut inner, denied),
        }
    }

    /// Checks whether the server has stalled, or sends again on a watch that is still open.
    pub(super) fn judge(&self, activity: Instant) {
        let mut inner = self.inner.lock();
        let is_stalled = inner.is_stalled(activity);
        match inner.state {
            KindState::Synced if is_stalled => {
                let stalled = || format!("the API server has not answered for {} s", OUTAGE.as_secs());
                let cause = inner.problem.clone().unwrap_or_else(stalled);
                self.enter(&mut inner, KindState::Failing(cause));
            }
            KindState::Failing(_) if inner.is_followed && !is_stalled => {
                self.enter(&mut inner, KindState::Synced);
            }
            _ => {}
        }
    }

    fn line(&self, state: &KindState) -> String {
        let ResourceKind { group, kind, plural, .. } = &self.kind;
        let line = format!("{kind} {} {state}", self.kind.api_version());
        let KindState::Forbidden(asked, _) = state else { return line };
        let group = match group.as_str() {
            "" => "the core API group".to_owned(),
            group => format!("API group {group}"),
        };
        format!("{line}: grant {} on {plural} in {group}", asked.as_str())
    }

    fn enter(&self, inner: &mut Inner, state: KindState) {
        if state.is_same_as(&inner.state) {
            inner.state = state;
            return;
        }
        if self.is_logged {
            self.log(inner, &state);
        }
        inner.was_synced |= state == KindState::Synced;
        inner.was_settled |= state.is_healthy();
        inner.state = state;
        inner.since = Instant::now();
    }

    /// One warning when an outage begins and one line when it ends; what is as expected at the start is not logged.
    fn log(&self, inner: &Inner, state: &KindState) {
        let line = self.line(state);
        let was_bad = !inner.state.is_healthy() && inner.state != KindState::Starting;
        match (was_bad, state) {
            (false, KindState::Synced) if inner.state == KindState::Starting => {}
            (true, KindState::Synced) if inner.was_synced => info!("{line} again"),
            (_, healthy) if healthy.is_healthy() => info!("{line}"),
            (true, _) => debug!("{line}"),
            (false, state) => match self.advice.on(state) {
                Some(advice) => warn!("{line}; {advice}"),
                None => warn!("{line}"),
            },
        }
    }
}

#[cfg(test)]
#[path = "health_tests.rs"]
mod tests;
