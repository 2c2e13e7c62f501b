//! How fast a watch is read: a server that never stops to send must not keep us from everything else.

use std::time::Duration;

use tokio::time::Instant;

/// So many seconds' worth may come at once.
const BURST: u64 = 8;

/// What an event costs beside its bytes: each is parsed, compared and delivered.
const EVENT: usize = 4096;

/// A bucket that leaks at the allowed rate.
#[derive(Debug)]
pub(super) struct Pace {
    rate: usize,
    level: usize,
    at: Instant,
}

impl Pace {
    pub(super) fn new(rate: usize, now: Instant) -> Self {
        Self { rate, level: 0, at: now }
    }

    /// Counts an event of that many bytes; how long to wait before it is taken.
    pub(super) fn take(&mut self, bytes: usize, now: Instant) -> Duration {
        let passed = now.saturating_duration_since(self.at).as_micros();
        let leaked = (self.rate as u128).saturating_mul(passed) / 1_000_000;
        self.level = self.level.saturating_sub(usize::try_from(leaked).unwrap_or(usize::MAX));
        self.level = self.level.saturating_add(bytes).saturating_add(EVENT);
        self.at = now;
        pause(self.level, self.rate)
    }
}

/// The time after which a level is down to what may come at once.
fn pause(level: usize, rate: usize) -> Duration {
    let (level, rate) = (level as u64, (rate as u64).max(1));
    let above = level.saturating_sub(rate.saturating_mul(BURST));
    Duration::from_micros(above.saturating_mul(1_000_000) / rate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_faster_than_the_rate_waits_after_a_burst() {
        let table = [
            (0, Duration::ZERO),
            (8000, Duration::ZERO),
            (8500, Duration::from_millis(500)),
            (18_000, Duration::from_secs(10)),
        ];
        for (level, expected) in table {
            assert_eq!(pause(level, 1000), expected, "{level}");
        }
        assert_eq!(pause(usize::MAX, usize::MAX), Duration::ZERO);
    }

    #[test]
    fn the_level_goes_down_with_time() {
        let start = Instant::now();
        let mut pace = Pace::new(10_000, start);
        assert_eq!(pace.take(80_000 - EVENT, start), Duration::ZERO);
        assert_eq!(pace.take(10_000 - EVENT, start), Duration::from_secs(1));
        assert_eq!(pace.take(10_000 - EVENT, start + Duration::from_secs(2)), Duration::ZERO);
        assert_eq!(pace.take(0, start + Duration::from_secs(3600)), Duration::ZERO);
        assert_eq!(pace.level, EVENT);
    }
}
