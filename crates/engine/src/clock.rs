//! The only place that reads a wall clock.
//!
//! A clock starts at a given time and moves with the runtime's timer. On a paused runtime it therefore moves only
//! when the simulation moves, and two runs have the same times.

use jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;

/// Wall time, derived from the runtime's timer.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    base: Timestamp,
    origin: Instant,
}

impl Clock {
    /// A clock that shows `base` now.
    pub fn starting_at(base: Timestamp) -> Self {
        Self { base, origin: Instant::now() }
    }

    /// A clock that shows the machine's time.
    #[expect(clippy::disallowed_methods, reason = "the wall clock may be read in this module only")]
    pub fn system() -> Self {
        Self::starting_at(Timestamp::now())
    }

    /// The time now.
    pub fn now(&self) -> Timestamp {
        let elapsed = SignedDuration::try_from(self.origin.elapsed()).unwrap_or(SignedDuration::ZERO);
        self.base.checked_add(elapsed).unwrap_or(Timestamp::MAX)
    }

    /// The time now as Kubernetes writes it: RFC 3339 in whole seconds.
    pub fn now_text(&self) -> String {
        text(self.now())
    }
}

/// A time as Kubernetes writes it: RFC 3339 in whole seconds.
pub fn text(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// A time as the fields of a Lease have it: RFC 3339 with exactly six digits of a second, as `MicroTime` demands.
pub fn micro_text(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%S%.6fZ").to_string()
}

/// Measures how long something takes in real time, whatever the runtime's timer shows.
#[derive(Debug, Clone, Copy)]
pub struct Stopwatch(std::time::Instant);

impl Stopwatch {
    /// Starts now.
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the clock module: real durations are read here only"
    )]
    pub fn start() -> Self {
        Self(std::time::Instant::now())
    }

    /// Time since the start.
    pub fn elapsed(&self) -> std::time::Duration {
        self.0.elapsed()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_clock_moves_with_the_timer_of_the_runtime() {
        let clock = Clock::starting_at(Timestamp::from_second(1_700_000_000).unwrap());
        assert_eq!(clock.now_text(), "2023-11-14T22:13:20Z");
        tokio::time::advance(Duration::from_secs(61)).await;
        assert_eq!(clock.now_text(), "2023-11-14T22:14:21Z");
    }

    #[test]
    fn a_micro_time_always_has_six_digits() {
        for (nanoseconds, text) in
            [(0, "2023-11-14T22:13:20.000000Z"), (120_000_999, "2023-11-14T22:13:20.120000Z")]
        {
            let time = Timestamp::new(1_700_000_000, nanoseconds).unwrap();
            assert_eq!(micro_text(time), text);
        }
    }
}
