//! Contends for a Lease, keeps it and gives it back: reads and writes the Lease and opens, extends and closes the gate.
//!
//! The order is [`Elector::acquire`], then [`Elector::keep`] until the leadership is lost, or [`Elector::release`] to end it.
//! Each of them may be dropped at any point: what a request under way came to is read from the server by the next one.

use std::time::Duration;

use serde_json::Value;
use thiserror::Error;
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tracing::{debug, info, warn};

use super::{Observed, Record, Timing, Verdict, evaluate, event, lease_kind};
use crate::{ApiClient, ApiError, Clock, ObjectKey, WriteGate, rng::Rng};

/// Who contends for which Lease.
#[derive(Debug, Clone)]
pub struct Candidate {
    /// Namespace and name of the Lease.
    pub lease: ObjectKey,
    /// A name that no other process has, such as `<hostname>_<uuid>`.
    pub identity: String,
    /// How long the Lease lasts and how often it is renewed.
    pub timing: Timing,
}

/// Why a process does not lead any more.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum LeadershipLost {
    /// The Lease was not renewed in time.
    #[error("Lease {lease} could not be renewed for {deadline:?}: {cause}")]
    NotRenewed {
        /// Namespace and name of the Lease.
        lease: ObjectKey,
        /// How long it was tried.
        deadline: Duration,
        /// What the last try came to.
        cause: String,
    },
    /// Somebody else holds the Lease.
    #[error("Lease {lease} is held by {holder}")]
    Taken {
        /// Namespace and name of the Lease.
        lease: ObjectKey,
        /// Who holds it.
        holder: String,
    },
}

/// What one try came to.
enum Attempt {
    /// The Lease is ours by a request that was sent at this moment.
    Held(Instant),
    /// Somebody else holds it, at least until then.
    Yielded { holder: String, until: Instant },
}

/// One process in an election.
#[derive(Debug)]
pub struct Elector {
    client: ApiClient,
    clock: Clock,
    rng: Rng,
    candidate: Candidate,
    gate: WriteGate,
    observed: Option<Observed>,
    /// The Lease as our last write left it; none if it must be read first.
    ours: Option<Value>,
    uid: String,
    /// The result of the last failed try, so that it is logged once.
    failure: String,
}

impl Elector {
    /// A candidate that opens `gate` when it leads. Chance is for pauses only.
    pub fn new(client: ApiClient, clock: Clock, rng: Rng, candidate: Candidate, gate: WriteGate) -> Self {
        let (uid, failure) = (String::new(), String::new());
        Self { client, clock, rng, candidate, gate, observed: None, ours: None, uid, failure }
    }

    /// Contends until this process leads.
    pub async fn acquire(&mut self) {
        let Candidate { lease, identity, .. } = &self.candidate;
        info!(%lease, identity, "contends for the Lease");
        loop {
            let mut pause = self.pause();
            match self.attempt_within(self.candidate.timing.attempt()).await {
                Ok(Attempt::Held(sent)) if self.gate.extend(self.candidate.timing.term(sent)) => break,
                // The answer came too late to write by it.
                Ok(Attempt::Held(_)) => {}
                Ok(Attempt::Yielded { holder, until }) => {
                    self.note_failure(format!("held by {holder}"), false);
                    pause = pause.min(until.saturating_duration_since(Instant::now()));
                }
                Err(error) => self.note_failure(error.with_causes(), true),
            }
            sleep(pause).await;
        }
        self.failure.clear();
        info!(lease = %self.candidate.lease, identity = self.candidate.identity, "became leader");
        self.record("became leader").await;
    }

    /// Renews the Lease until that fails for too long or somebody else holds it. No write passes the gate from then on.
    pub async fn keep(&mut self) -> LeadershipLost {
        let timing = self.candidate.timing;
        let mut pause = self.pause();
        let lost = loop {
            let Some(until) = self.gate.closes_at() else { break self.not_renewed() };
            sleep_until(until.min(Instant::now() + pause)).await;
            if !self.gate.is_open() {
                break self.not_renewed();
            }
            pause = self.pause();
            let limit = timing.attempt().min(until.saturating_duration_since(Instant::now()));
            match self.attempt_within(limit).await {
                Ok(Attempt::Held(sent)) if self.gate.extend(timing.term(sent)) => self.failure.clear(),
                Ok(Attempt::Held(_)) => break self.not_renewed(),
                Ok(Attempt::Yielded { holder, .. }) => {
                    break LeadershipLost::Taken { lease: self.candidate.lease.clone(), holder };
                }
                Err(error) => {
                    // Somebody wrote to the Lease: whether it is still ours must be known soon.
                    if error.is_outdated_view() {
                        pause /= 4;
                    }
                    self.note_failure(error.with_causes(), true);
                }
            }
        };
        self.gate.close();
        self.record("stopped leading").await;
        lost
    }

    /// Closes the gate, waits for writes in flight and gives the Lease back if it is ours; all of it within about twice
    /// `limit`. With a write still in flight the Lease is kept until it expires. Whether nobody holds it through us.
    pub async fn release(&mut self, limit: Duration) -> bool {
        if !self.gate.finish(limit).await {
            warn!(lease = %self.candidate.lease, writes = self.gate.in_flight(), "the Lease is not released: writes are in flight");
            return false;
        }
        match timeout(limit, self.give_back()).await {
            Ok(Ok(was_ours)) => {
                if was_ours {
                    info!(lease = %self.candidate.lease, "released the Lease");
                    self.record("stopped leading").await;
                }
                true
            }
            Ok(Err(error)) => {
                warn!(lease = %self.candidate.lease, error = error.with_causes(), "not released");
                false
            }
            Err(_) => {
                warn!(lease = %self.candidate.lease, "the Lease is not released: the API server did not answer in time");
                false
            }
        }
    }

    async fn give_back(&mut self) -> Result<bool, ApiError> {
        let Candidate { lease: key, identity, .. } = &self.candidate;
        let Some(lease) = self.client.get::<Value>(&lease_kind(), key).await? else { return Ok(false) };
        let record = Record::of(&lease);
        if record.holder != *identity {
            return Ok(false);
        }
        let lease = record.released(self.clock.now()).into_lease(lease);
        self.client.replace(&lease_kind(), key, &lease).await?;
        Ok(true)
    }

    async fn attempt_within(&mut self, limit: Duration) -> Result<Attempt, ApiError> {
        timeout(limit, self.attempt()).await.map_err(ApiError::transport)?
    }

    /// Reads the Lease unless our last write is known to stand, then acquires or renews it if that may be.
    async fn attempt(&mut self) -> Result<Attempt, ApiError> {
        let (kind, key) = (lease_kind(), self.candidate.lease.clone());
        let lease = match self.ours.take() {
            Some(lease) => Some(lease),
            None => self.client.get::<Value>(&kind, &key).await?,
        };
        self.observe(lease.as_ref());
        let (identity, timing) = (&self.candidate.identity, &self.candidate.timing);
        let verdict = evaluate(self.observed.as_ref(), identity, Instant::now());
        let record = self.observed.as_ref().map(|observed| &observed.record);
        if let Verdict::Yield { until } = verdict {
            let holder = record.map(|record| record.holder.clone()).unwrap_or_default();
            return Ok(Attempt::Yielded { holder, until });
        }
        let (now, sent) = (self.clock.now(), Instant::now());
        let record = record.map_or_else(
            || Record::first(identity, timing, now),
            |record| record.held_by(identity, timing, now),
        );
        let stored = match lease {
            Some(lease) => self.client.replace(&kind, &key, &record.into_lease(lease)).await?,
            None => self.client.create(&kind, &key.namespace, record.into_new_lease(&key)).await?,
        };
        self.observe(Some(&stored));
        self.ours = Some(stored);
        Ok(Attempt::Held(sent))
    }

    /// Notes what was seen. Only another content begins a new time: a label that somebody sets is no renewal. A Lease that is
    /// gone counts as it was: its holder does not know yet, and may write until it expires.
    fn observe(&mut self, lease: Option<&Value>) {
        let Some(lease) = lease else { return };
        let uid = lease.pointer("/metadata/uid").and_then(Value::as_str);
        self.uid = uid.unwrap_or_default().to_owned();
        let record = Record::of(lease);
        if self.observed.as_ref().is_none_or(|observed| observed.record != record) {
            let lasts = record.lasts(&self.candidate.timing);
            self.observed = Some(Observed { record, seen_at: Instant::now(), lasts });
        }
    }

    fn not_renewed(&self) -> LeadershipLost {
        let cause = if self.failure.is_empty() {
            "this process was paused or had no CPU time"
        } else {
            &self.failure
        };
        LeadershipLost::NotRenewed {
            lease: self.candidate.lease.clone(),
            deadline: self.candidate.timing.renew_deadline(),
            cause: cause.to_owned(),
        }
    }

    /// Says what a try came to, once as long as it stays the same.
    fn note_failure(&mut self, failure: String, is_error: bool) {
        let lease = &self.candidate.lease;
        match (self.failure == failure, is_error) {
            (true, _) => debug!(%lease, "still: {failure}"),
            (false, true) => warn!(%lease, "cannot acquire or renew the Lease; retries: {failure}"),
            (false, false) => info!(%lease, "waits for the Lease: {failure}"),
        }
        self.failure = failure;
    }

    /// At most the retry period, and up to a quarter less, so that candidates do not meet each time.
    fn pause(&self) -> Duration {
        let period = self.candidate.timing.retry_period();
        let spread = u64::try_from(period.as_micros() / 4).unwrap_or(u64::MAX);
        period - Duration::from_micros(self.rng.below(spread.saturating_add(1)))
    }

    async fn record(&self, what: &str) {
        let Candidate { lease, identity, timing } = &self.candidate;
        let limit = timing.retry_period();
        event::record(&self.client, &self.clock, (lease, &self.uid), (identity, what), limit).await;
    }
}
