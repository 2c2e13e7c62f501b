//! Waiting for something outside of this process, always with a limit.

use std::{
    thread::sleep,
    time::{Duration, Instant},
};

use anyhow::Result;

/// How long something has taken.
#[derive(Debug, Clone, Copy)]
pub struct Stopwatch(Instant);

impl Stopwatch {
    /// Starts it.
    #[expect(clippy::disallowed_methods, reason = "processes outside of us know no injected clock")]
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// Since the start.
    pub fn elapsed(self) -> Duration {
        self.0.elapsed()
    }
}

/// Checks until there is something to see; `None` when the limit has passed.
pub fn until<T>(limit: Duration, mut check: impl FnMut() -> Result<Option<T>>) -> Result<Option<T>> {
    let watch = Stopwatch::start();
    loop {
        if let Some(seen) = check()? {
            return Ok(Some(seen));
        }
        if watch.elapsed() >= limit {
            return Ok(None);
        }
        sleep(Duration::from_millis(100));
    }
}

#[cfg(test)]
mod tests {
    use anyhow::bail;

    use super::*;

    #[test]
    fn what_is_seen_ends_the_waiting() {
        let seen = until(Duration::from_secs(60), || Ok(Some(7))).unwrap();
        assert_eq!(seen, Some(7));
    }

    #[test]
    fn the_limit_ends_the_waiting_after_one_last_check() {
        assert_eq!(until::<()>(Duration::ZERO, || Ok(None)).unwrap(), None);
    }

    #[test]
    fn an_error_ends_the_waiting() {
        assert!(until::<()>(Duration::from_secs(60), || bail!("gone")).is_err());
    }
}
