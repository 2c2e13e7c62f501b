//! Whether this process may write at present.
//!
//! Takes the terms of a leader from [`crate::lease`], gives each write a pass just before its request is sent. The gate closes by
//! the monotonic clock when a term ends, whether or not anybody runs at that moment, and never opens again: a leader that
//! comes too late to renew is not the leader any more. A request that was sent in time is given up before the Lease can
//! be taken. Who runs without an election has a gate that is open until [`WriteGate::close`].

use std::{sync::Arc, time::Duration};

use tokio::{
    sync::watch,
    time::{Instant, timeout, timeout_at},
};

use crate::ApiError;

/// Lets writes pass while this process may write. Copies are one gate.
#[derive(Debug, Clone)]
pub struct WriteGate(Arc<watch::Sender<State>>);

#[derive(Debug, Clone, Copy)]
struct State {
    phase: Phase,
    in_flight: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Not the leader yet.
    Waiting,
    /// Open until the term ends, or without an end.
    Open(Option<Term>),
    /// Closed permanently.
    Closed,
}

/// How long a leader may write after a renewal of its Lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Term {
    /// No request is sent from then on.
    pub until: Instant,
    /// Requests that are still in flight are given up, before the Lease can be taken.
    pub abort: Instant,
}

impl Phase {
    /// The term of a gate that is open at this moment.
    fn open_at(self, now: Instant) -> Option<Option<Term>> {
        match self {
            Self::Open(term) if term.is_none_or(|term| now < term.until) => Some(term),
            _ => None,
        }
    }
}

impl WriteGate {
    /// A gate without an election: open until it is closed.
    pub fn always_open() -> Self {
        Self::of(Phase::Open(None))
    }

    /// A gate that opens when this process becomes the leader.
    pub fn for_leader() -> Self {
        Self::of(Phase::Waiting)
    }

    fn of(phase: Phase) -> Self {
        Self(Arc::new(watch::Sender::new(State { phase, in_flight: 0 })))
    }

    /// Opens the gate for a term, or extends the term. `false` if it is closed permanently, or the term is over already.
    pub(crate) fn extend(&self, term: Term) -> bool {
        let now = Instant::now();
        self.0.send_if_modified(|state| {
            let may = state.phase == Phase::Waiting || state.phase.open_at(now).is_some();
            if may && now < term.until {
                state.phase = Phase::Open(Some(term));
            }
            may && now < term.until
        })
    }

    /// Closes the gate permanently; requests in flight go on.
    pub fn close(&self) {
        self.0.send_modify(|state| state.phase = Phase::Closed);
    }

    /// Whether a write would pass at this moment.
    pub fn is_open(&self) -> bool {
        self.0.borrow().phase.open_at(Instant::now()).is_some()
    }

    /// When the gate closes unless the term is extended; none if it is not open for a term.
    pub(crate) fn closes_at(&self) -> Option<Instant> {
        match self.0.borrow().phase {
            Phase::Open(term) => term.map(|term| term.until),
            Phase::Waiting | Phase::Closed => None,
        }
    }

    /// How many requests are in flight.
    pub fn in_flight(&self) -> usize {
        self.0.borrow().in_flight
    }

    /// Waits until the gate is open for the first time; for ever if it never is.
    pub async fn opened(&self) {
        let mut states = self.0.subscribe();
        let opened = states.wait_for(|state| matches!(state.phase, Phase::Open(_))).await.is_ok();
        if !opened {
            std::future::pending::<()>().await;
        }
    }

    /// Closes the gate permanently and waits until no request is in flight, at most for `limit`. Whether none is.
    pub async fn finish(&self, limit: Duration) -> bool {
        self.close();
        let mut states = self.0.subscribe();
        timeout(limit, states.wait_for(|state| state.in_flight == 0)).await.is_ok_and(|state| state.is_ok())
    }

    /// Sends a request if the gate is open at this moment, and gives it up before the Lease can be taken.
    pub(crate) async fn pass<T>(
        &self,
        request: impl Future<Output = Result<T, ApiError>>,
    ) -> Result<T, ApiError> {
        let Some(term) = self.enter() else { return Err(ApiError::GateClosed) };
        let _pass = Pass(&self.0);
        match term {
            None => request.await,
            Some(term) => timeout_at(term.abort, request).await.map_err(ApiError::transport)?,
        }
    }

    /// Counts a request in, if the gate is open.
    fn enter(&self) -> Option<Option<Term>> {
        let mut entered = None;
        self.0.send_if_modified(|state| {
            entered = state.phase.open_at(Instant::now());
            state.in_flight += usize::from(entered.is_some());
            false
        });
        entered
    }
}

/// A request in flight; dropping it ends the request.
struct Pass<'a>(&'a watch::Sender<State>);

impl Drop for Pass<'_> {
    fn drop(&mut self) {
        self.0.send_if_modified(|state| {
            state.in_flight = state.in_flight.saturating_sub(1);
            state.in_flight == 0
        });
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use tokio::time::advance;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn term(until: u32, abort: u32) -> Term {
        let now = Instant::now();
        Term { until: now + until * SECOND, abort: now + abort * SECOND }
    }

    async fn passes(gate: &WriteGate) -> bool {
        gate.pass(ready(Ok(()))).await.is_ok()
    }

    #[tokio::test(start_paused = true)]
    async fn a_gate_opens_with_a_term_and_closes_by_the_clock_for_good() {
        let gate = WriteGate::for_leader();
        assert!(!passes(&gate).await, "not the leader yet");
        assert!(gate.extend(term(10, 12)));
        advance(9 * SECOND).await;
        assert!(passes(&gate).await);
        assert!(gate.extend(term(10, 12)), "renewed in time");
        advance(10 * SECOND).await;
        assert!(matches!(gate.pass(ready(Ok(()))).await, Err(ApiError::GateClosed)), "nobody closed it");
        assert!(!gate.extend(term(10, 12)), "too late");
        assert!(!passes(&gate).await);
    }

    #[tokio::test(start_paused = true)]
    async fn a_term_that_is_over_opens_nothing_and_a_closed_gate_stays_closed() {
        let gate = WriteGate::for_leader();
        let old = term(10, 12);
        advance(10 * SECOND).await;
        assert!(!gate.extend(old), "the answer came too late");
        assert!(gate.extend(term(10, 12)), "it may still become the leader");
        gate.close();
        assert!(!gate.extend(term(10, 12)));
        assert!(!gate.is_open());
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_in_flight_is_given_up_before_the_lease_can_be_taken() {
        let gate = WriteGate::for_leader();
        assert!(gate.extend(term(10, 12)));
        advance(9 * SECOND).await;
        let sent = Instant::now();
        let answer = gate.pass(pending::<Result<(), _>>()).await;
        assert!(matches!(answer, Err(ApiError::NoAnswer { .. })), "{answer:?}");
        assert_eq!(sent.elapsed(), 3 * SECOND);
    }

    #[tokio::test(start_paused = true)]
    async fn a_stop_waits_for_requests_in_flight_and_lets_no_other_pass() {
        let gate = WriteGate::always_open();
        assert!(passes(&gate).await);
        let (writes, slow) = (gate.clone(), async {
            tokio::time::sleep(3 * SECOND).await;
            Ok(())
        });
        let writer = tokio::spawn(async move { writes.pass(slow).await });
        tokio::task::yield_now().await;
        assert!(!gate.finish(SECOND).await, "one request is in flight");
        assert!(!passes(&gate).await);
        assert!(gate.finish(3 * SECOND).await);
        assert!(writer.await.unwrap().is_ok(), "it was not cut off");
    }
}
