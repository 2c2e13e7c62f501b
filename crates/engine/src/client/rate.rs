//! How often a client asks: so many requests per second, some at once after a pause.
//!
//! Takes the moment of a request, gives how long it waits. Requests wait in the order in which they come.

use std::{sync::Arc, time::Duration};

use parking_lot::Mutex;
use tokio::time::Instant;

/// Limit of the requests of a client and its clones.
#[derive(Debug, Clone)]
pub struct RateLimit {
    /// Time between two requests.
    interval: Duration,
    /// How much earlier than at this rate a request may be sent: what may be asked at once.
    slack: Duration,
    /// When the next request is due at this rate.
    due: Arc<Mutex<Option<Instant>>>,
}

impl RateLimit {
    /// So many requests per second, and `burst` at once; none if the rate is zero or less, which means no limit.
    pub fn new(rate: f64, burst: u32) -> Option<Self> {
        let interval = Duration::try_from_secs_f64(1.0 / rate).ok().filter(|_| rate > 0.0)?;
        let slack = interval.saturating_mul(burst.max(1) - 1);
        Some(Self { interval, slack, due: Arc::default() })
    }

    /// Waits for the turn of one request.
    pub(super) async fn wait(&self) {
        let now = Instant::now();
        let turn = self.turn(now);
        if turn > now {
            tokio::time::sleep_until(turn).await;
        }
    }

    fn turn(&self, now: Instant) -> Instant {
        let mut due = self.due.lock();
        let at_rate = due.map_or(now, |due| due.max(now));
        *due = Some(at_rate + self.interval);
        at_rate.checked_sub(self.slack).unwrap_or(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_of_zero_is_no_limit() {
        for rate in [0.0, -1.0, f64::NAN] {
            assert!(RateLimit::new(rate, 30).is_none(), "{rate}");
        }
        assert!(RateLimit::new(0.5, 0).is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn a_burst_is_not_delayed_and_the_rest_comes_at_the_rate() {
        let limit = RateLimit::new(10.0, 3).unwrap();
        let start = Instant::now();
        let mut waited = Vec::new();
        for _ in 0..6 {
            limit.wait().await;
            waited.push(start.elapsed().as_millis());
        }
        let rounded: Vec<u128> = waited.iter().map(|it| (it + 20) / 100).collect();
        assert_eq!(rounded, [0, 0, 0, 1, 2, 3], "{waited:?}");
        tokio::time::advance(Duration::from_secs(60)).await;
        let start = Instant::now();
        for _ in 0..3 {
            limit.wait().await;
        }
        assert_eq!(start.elapsed(), Duration::ZERO, "a rest fills the burst again");
    }

    #[tokio::test(start_paused = true)]
    async fn clones_share_one_limit() {
        let limit = RateLimit::new(1.0, 1).unwrap();
        let (other, start) = (limit.clone(), Instant::now());
        limit.wait().await;
        other.wait().await;
        assert!(start.elapsed() >= Duration::from_secs(1));
    }
}
