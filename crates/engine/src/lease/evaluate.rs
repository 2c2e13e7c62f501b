//! Who may hold a Lease: takes what was seen of it and the time now, gives what to do. Pure.

use std::time::Duration;

use tokio::time::Instant;

use super::Record;

/// A Lease as it was last seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Observed {
    /// Its content.
    pub record: Record,
    /// When it was first seen with this content, by the own clock.
    pub seen_at: Instant,
    /// How long it lasts from then on.
    pub lasts: Duration,
}

/// What to do about a Lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It may be taken: there is none, nobody holds it, or its holder did not renew it.
    Acquire,
    /// It is ours.
    Renew,
    /// Somebody else holds it.
    Yield {
        /// When it expires, unless it is renewed.
        until: Instant,
    },
}

/// What `identity` does about a Lease; `None` is a Lease that was never seen and is not there. Times in the Lease do not matter: only when its
/// content was last seen to change.
pub fn evaluate(observed: Option<&Observed>, identity: &str, now: Instant) -> Verdict {
    let Some(observed) = observed else { return Verdict::Acquire };
    let until = observed.seen_at + observed.lasts;
    match observed.record.holder.as_str() {
        "" => Verdict::Acquire,
        holder if holder == identity => Verdict::Renew,
        _ if now >= until => Verdict::Acquire,
        _ => Verdict::Yield { until },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_holder_and_the_time_since_the_last_change_decide() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let until = |seconds| Verdict::Yield { until: at(seconds) };
        // Holder, when its content was seen first, how long it lasts, renewTime, now.
        let table = [
            (Some(("", 0, 15, "")), 0, Verdict::Acquire),
            (Some(("", 0, 1, "2026-01-01T00:00:00.000000Z")), 0, Verdict::Acquire),
            (Some(("me", 0, 15, "")), 1, Verdict::Renew),
            (Some(("me", 0, 15, "")), 100, Verdict::Renew),
            (Some(("other", 0, 15, "")), 0, until(15)),
            (Some(("other", 0, 15, "")), 14, until(15)),
            (Some(("other", 0, 15, "")), 15, Verdict::Acquire),
            (Some(("other", 5, 15, "")), 15, until(20)),
            (Some(("other", 0, 60, "")), 15, until(60)),
            // A clock that is years off, in either direction, changes nothing.
            (Some(("other", 0, 15, "1970-01-01T00:00:00.000000Z")), 1, until(15)),
            (Some(("other", 0, 15, "2099-01-01T00:00:00.000000Z")), 15, Verdict::Acquire),
            (Some(("me2", 0, 15, "")), 1, until(15)),
            (None, 0, Verdict::Acquire),
        ];
        for (lease, now, expected) in table {
            let observed = lease.map(|(holder, seen_at, lasts, renewed)| Observed {
                record: Record { holder: holder.into(), renewed: renewed.into(), ..Record::default() },
                seen_at: at(seen_at),
                lasts: Duration::from_secs(lasts),
            });
            assert_eq!(evaluate(observed.as_ref(), "me", at(now)), expected, "{observed:?} at {now}");
        }
    }
}
