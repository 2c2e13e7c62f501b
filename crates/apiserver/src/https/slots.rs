//! A fixed number of places for connections, at most half of them for unauthenticated clients.
//!
//! Where a place is needed, the connection that matters least is closed: one that was refused, one that has sent nothing,
//! one that has not authenticated, one that is idle, one that makes no progress. Everybody gets some time first, and
//! whoever finds no place waits. Knows nothing of sockets.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use parking_lot::Mutex;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// Refused requests after which a connection is closed.
const REFUSALS: usize = 16;
/// How long a connection may send nothing when its place is needed: its first bytes may still wait for a busy processor.
const FIRST_BYTE_TIMEOUT: Duration = Duration::from_millis(250);
/// How long an authenticated client may ask for nothing when the place is needed: the first request comes some time after the
/// certificate.
const REST: Duration = Duration::from_millis(500);
/// How long a connection may take to authenticate, and a request to make progress, when its place is needed.
const PROGRESS_TIMEOUT: Duration = Duration::from_secs(1);

/// All places.
pub(super) struct Slots {
    limit: usize,
    open: Arc<Mutex<Open>>,
}

#[derive(Default)]
struct Open {
    last_id: u64,
    connections: BTreeMap<u64, Arc<Activity>>,
}

/// What a connection is doing.
struct Activity {
    /// Whether it has sent anything.
    received_bytes: AtomicBool,
    /// Whether it has authenticated.
    authenticated: AtomicBool,
    /// Requests that were refused because it had not.
    refused: AtomicUsize,
    /// Requests of an authenticated client that are being answered.
    in_flight: AtomicUsize,
    requests: AtomicU64,
    /// When something last went on: it came, asked, took a piece of an answer or all of it.
    progress: Mutex<Instant>,
    cut: CancellationToken,
}

impl Activity {
    fn new() -> Self {
        Self {
            received_bytes: AtomicBool::default(),
            authenticated: AtomicBool::default(),
            refused: AtomicUsize::default(),
            in_flight: AtomicUsize::default(),
            requests: AtomicU64::default(),
            progress: Mutex::new(Instant::now()),
            cut: CancellationToken::new(),
        }
    }

    fn is_authenticated(&self) -> bool {
        self.authenticated.load(Ordering::Relaxed)
    }

    fn is_idle(&self) -> bool {
        self.in_flight.load(Ordering::Relaxed) == 0
    }

    fn progresses(&self) {
        *self.progress.lock() = Instant::now();
    }

    fn state(&self) -> State {
        match self.is_authenticated() {
            true if self.is_idle() => State::Idle,
            true => State::Busy,
            false if self.refused.load(Ordering::Relaxed) > 0 => State::Refused,
            false if self.received_bytes.load(Ordering::Relaxed) => State::Unknown,
            false => State::NoBytesYet,
        }
    }
}

/// What a connection is to the listener; whoever comes first makes room first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum State {
    /// It asked without authenticating.
    Refused,
    /// It has sent nothing.
    NoBytesYet,
    /// It has not yet authenticated.
    Unknown,
    /// It is authenticated and asks for nothing.
    Idle,
    /// It is authenticated, and something is being answered.
    Busy,
}

impl State {
    /// How long a connection keeps its place at least, counted from its last progress.
    fn least_time(self) -> Duration {
        match self {
            Self::Refused => Duration::ZERO,
            Self::NoBytesYet => FIRST_BYTE_TIMEOUT,
            Self::Idle => REST,
            Self::Unknown | Self::Busy => PROGRESS_TIMEOUT,
        }
    }

    fn is_unauthenticated(self) -> bool {
        self < Self::Idle
    }
}

/// Which connection makes room for a new one, if one must.
#[derive(Debug, PartialEq, Eq)]
enum Choice {
    /// There is a place.
    Free,
    /// This connection makes room.
    Evict(u64),
    /// Nobody does yet.
    Wait,
}

/// Chooses among connections by what they are and how long ago they last made progress.
fn choose(limit: usize, connections: impl Iterator<Item = (u64, State, Duration)>) -> Choice {
    let all: Vec<_> = connections.collect();
    let unauthenticated = all.iter().filter(|(_, state, _)| state.is_unauthenticated()).count();
    let too_many_unauthenticated = unauthenticated >= limit.div_ceil(2);
    if all.len() < limit && !too_many_unauthenticated {
        return Choice::Free;
    }
    let may_go = |(_, state, quiet): &&(u64, State, Duration)| {
        *quiet >= state.least_time() && (state.is_unauthenticated() || !too_many_unauthenticated)
    };
    let longest = |(_, state, quiet): &&(u64, State, Duration)| (*state, std::cmp::Reverse(*quiet));
    all.iter().filter(may_go).min_by_key(longest).map_or(Choice::Wait, |(id, _, _)| Choice::Evict(*id))
}

/// The place of one connection; free again when it is dropped.
pub(super) struct Slot {
    pub(super) id: u64,
    activity: Arc<Activity>,
    open: Arc<Mutex<Open>>,
}

/// One request being answered.
pub(super) struct InFlight(Arc<Activity>);

impl Slots {
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, open: Arc::default() }
    }

    /// A place for a new connection; `None` if nobody makes room yet.
    pub(super) fn take(&self) -> Option<Slot> {
        let mut open = self.open.lock();
        let states = open.connections.iter();
        let states = states.map(|(id, it)| (*id, it.state(), it.progress.lock().elapsed()));
        match choose(self.limit, states) {
            Choice::Free => {}
            Choice::Wait => return None,
            Choice::Evict(victim) => {
                if let Some(activity) = open.connections.remove(&victim) {
                    activity.cut.cancel();
                }
            }
        }
        open.last_id += 1;
        let (id, activity) = (open.last_id, Arc::new(Activity::new()));
        open.connections.insert(id, Arc::clone(&activity));
        Some(Slot { id, activity, open: Arc::clone(&self.open) })
    }
}

impl Slot {
    /// The connection has sent something.
    pub(super) fn mark_received_bytes(&self) {
        self.activity.received_bytes.store(true, Ordering::Relaxed);
    }

    /// The connection has shown a certificate or a token.
    pub(super) fn mark_authenticated(&self) {
        self.progresses();
        self.activity.authenticated.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_authenticated(&self) -> bool {
        self.activity.is_authenticated()
    }

    /// A request of an authenticated client begins; it ends when the result is dropped.
    pub(super) fn begin(&self) -> InFlight {
        self.activity.requests.fetch_add(1, Ordering::Relaxed);
        self.activity.in_flight.fetch_add(1, Ordering::Relaxed);
        self.progresses();
        InFlight(Arc::clone(&self.activity))
    }

    /// A request is refused. That keeps no place busy, and a connection with too many of them is closed.
    pub(super) fn refuse(&self) {
        self.activity.requests.fetch_add(1, Ordering::Relaxed);
        if self.activity.refused.fetch_add(1, Ordering::Relaxed) >= REFUSALS {
            self.activity.cut.cancel();
        }
    }

    /// A request or its answer goes on.
    pub(super) fn progresses(&self) {
        self.activity.progresses();
    }

    /// How many requests there were so far.
    pub(super) fn requests(&self) -> u64 {
        self.activity.requests.load(Ordering::Relaxed)
    }

    pub(super) fn is_idle(&self) -> bool {
        self.activity.is_idle()
    }

    /// Closes the connection when it is cancelled.
    pub(super) fn cut(&self) -> CancellationToken {
        self.activity.cut.clone()
    }

    /// Resolves when the connection is to be closed at once.
    pub(super) async fn is_cut(&self) {
        self.activity.cut.cancelled().await;
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.open.lock().connections.remove(&self.id);
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.progresses();
        self.0.in_flight.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
#[path = "slots_tests.rs"]
mod tests;
