//! How long a Lease lasts and how often it is renewed: takes three durations, gives them checked, and the term that a renewal
//! brings.

use std::time::Duration;

use thiserror::Error;
use tokio::time::Instant;

use crate::Term;

/// The times of an election.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timing {
    lease: Duration,
    renew_deadline: Duration,
    retry_period: Duration,
}

/// Why times do not fit each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum TimingError {
    /// A Lease has whole seconds.
    #[error("a lease duration of {0:?} is too short: it must be at least 1s")]
    ShortLease(Duration),
    /// Somebody else could take the Lease while its holder still writes.
    #[error(
        "the lease duration ({lease:?} in whole seconds) must be longer than the renew deadline ({deadline:?})"
    )]
    LateDeadline {
        /// Lease duration as it is written.
        lease: Duration,
        /// Renew deadline.
        deadline: Duration,
    },
    /// One failed try would end the leadership.
    #[error("the renew deadline ({deadline:?}) must be longer than 1.2 times the retry period ({retry:?})")]
    LateRetry {
        /// Renew deadline.
        deadline: Duration,
        /// Retry period.
        retry: Duration,
    },
    /// It would never pause.
    #[error("the retry period must be longer than 0s")]
    NoRetry,
}

impl Default for Timing {
    /// What Kubernetes' own components use.
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self { lease: seconds(15), renew_deadline: seconds(10), retry_period: seconds(2) }
    }
}

impl Timing {
    /// Times that fit each other. A Lease has whole seconds, so the rest of a second of its duration is left out.
    pub fn new(
        lease: Duration,
        renew_deadline: Duration,
        retry_period: Duration,
    ) -> Result<Self, TimingError> {
        let whole = Duration::from_secs(lease.as_secs().min(i32::MAX as u64));
        if whole.is_zero() {
            return Err(TimingError::ShortLease(lease));
        }
        if retry_period.is_zero() {
            return Err(TimingError::NoRetry);
        }
        if whole <= renew_deadline {
            return Err(TimingError::LateDeadline { lease: whole, deadline: renew_deadline });
        }
        if renew_deadline <= retry_period + retry_period / 5 {
            return Err(TimingError::LateRetry { deadline: renew_deadline, retry: retry_period });
        }
        Ok(Self { lease: whole, renew_deadline, retry_period })
    }

    /// How long a Lease lasts after it was last renewed, in whole seconds.
    pub fn lease(&self) -> Duration {
        self.lease
    }

    /// How long a leader may try to renew.
    pub fn renew_deadline(&self) -> Duration {
        self.renew_deadline
    }

    /// The longest pause between two tries.
    pub fn retry_period(&self) -> Duration {
        self.retry_period
    }

    /// The longest time for one try, so that another one fits into the renew deadline.
    pub(super) fn attempt(&self) -> Duration {
        self.renew_deadline / 2
    }

    /// What a renewal brings that was sent at this moment. Whoever else looks at the Lease sees it later than that, so it
    /// cannot be taken earlier than `sent` plus its duration. Requests in flight are given up halfway between the deadline and
    /// then: that is what clocks may differ in speed.
    pub(super) fn term(&self, sent: Instant) -> Term {
        let until = sent + self.renew_deadline;
        Term { until, abort: until + (self.lease - self.renew_deadline) / 2 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_that_let_two_lead_or_nobody_are_refused() {
        let milliseconds = Duration::from_millis;
        let table = [
            ((15_000, 10_000, 2_000), ""),
            ((15_900, 10_000, 2_000), ""),
            ((900, 500, 100), "at least 1s"),
            ((10_900, 10_000, 2_000), "must be longer than the renew deadline"),
            ((10_000, 10_000, 2_000), "must be longer than the renew deadline"),
            ((15_000, 2_400, 2_000), "1.2 times the retry period"),
            ((15_000, 2_401, 2_000), ""),
            ((15_000, 10_000, 0), "longer than 0s"),
        ];
        for ((lease, deadline, retry), expected) in table {
            let timing = Timing::new(milliseconds(lease), milliseconds(deadline), milliseconds(retry));
            let message = timing.map_or_else(|error| error.to_string(), |_| String::new());
            assert_eq!(message.is_empty(), expected.is_empty(), "{lease} {deadline} {retry}: {message}");
            assert!(message.contains(expected), "{message}");
        }
    }

    #[tokio::test]
    async fn writes_end_before_the_lease_does() {
        let (timing, sent) = (Timing::default(), Instant::now());
        let term = timing.term(sent);
        assert_eq!(term.until - sent, Duration::from_secs(10));
        assert!(term.abort < sent + timing.lease() && term.abort > term.until);
    }
}
