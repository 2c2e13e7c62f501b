//! How long a wait lasts before it is reported.

use std::time::Duration;

use jiff::Timestamp;
use kube::core::ObjectMeta;

/// Most waits of an object that is new, or whose status was written a moment ago, end soon; each would cost a write and be out
/// of date at once.
const THROTTLE: Duration = Duration::from_secs(5);

/// Longer by this for each so many machines that come up or go at once, because then the API server is the bottleneck.
const MACHINES_PER_SECOND: usize = 10;

/// The longest time that a wait is not reported.
const LONGEST: Duration = Duration::from_secs(60);

/// How long a wait of a machine, or of its data, is not reported while that many machines come up or go.
pub(crate) fn throttle_time(machines_in_progress: usize) -> Duration {
    let more = u64::try_from(machines_in_progress / MACHINES_PER_SECOND).unwrap_or(u64::MAX);
    THROTTLE.saturating_add(Duration::from_secs(more)).min(LONGEST)
}

/// How long the status stays as it is, counted from the creation, the deletion or the last report of the object; none if that
/// is long ago.
pub(crate) fn is_throttled(metadata: &ObjectMeta, last_updated: Option<&str>, now: &str) -> Option<Duration> {
    is_throttled_for(THROTTLE, metadata, last_updated, now)
}

/// The same with another time.
pub(crate) fn is_throttled_for(
    throttle: Duration,
    metadata: &ObjectMeta,
    last_updated: Option<&str>,
    now: &str,
) -> Option<Duration> {
    let of_server = [&metadata.creation_timestamp, &metadata.deletion_timestamp];
    let reported = last_updated.and_then(|time| time.parse::<Timestamp>().ok());
    let since = of_server.into_iter().flatten().map(|time| time.0).chain(reported).max()?;
    let now: Timestamp = now.parse().ok()?;
    let age = now.duration_since(since);
    if age.unsigned_abs() >= throttle {
        // Either long ago, or the clocks disagree so much that the time says nothing.
        return None;
    }
    Some(throttle.saturating_sub(Duration::try_from(age).unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const NOW: &str = "2026-01-01T00:00:20Z";

    fn metadata(created: u8, deleted: Option<u8>) -> ObjectMeta {
        let time = |second: u8| format!("2026-01-01T00:00:{second:02}Z");
        let deleted = deleted.map(time);
        serde_json::from_value(json!({"creationTimestamp": time(created), "deletionTimestamp": deleted}))
            .unwrap()
    }

    #[test]
    fn only_who_came_goes_or_was_written_a_moment_ago_waits_without_a_status_write() {
        for (what, created, deleted, reported, expected) in [
            ("new", 20, None, None, Some(5)),
            ("almost new", 16, None, None, Some(1)),
            ("old", 15, None, None, None),
            ("began to go", 0, Some(18), None, Some(3)),
            ("reported", 0, None, Some("2026-01-01T00:00:19Z"), Some(4)),
            ("reported long ago", 0, None, Some("2026-01-01T00:00:09Z"), None),
            ("reported nonsense", 0, None, Some("t"), None),
            ("the server's clock is a little ahead", 22, None, None, Some(5)),
            ("the server's clock is far ahead", 40, None, None, None),
        ] {
            let rest = is_throttled(&metadata(created, deleted), reported, NOW);
            assert_eq!(rest, expected.map(Duration::from_secs), "{what}");
        }
        assert_eq!(is_throttled(&ObjectMeta::default(), None, NOW), None);
    }

    #[test]
    fn the_more_machines_come_up_the_longer_their_waits_are_throttled() {
        for (machines, seconds) in [(0, 5), (9, 5), (10, 6), (200, 25), (500, 55), (10_000, 60)] {
            assert_eq!(throttle_time(machines), Duration::from_secs(seconds), "{machines}");
        }
        let rest = is_throttled_for(throttle_time(200), &metadata(15, None), None, NOW);
        assert_eq!(rest, Some(Duration::from_secs(20)));
        assert_eq!(is_throttled(&metadata(15, None), None, NOW), None, "alone it would say so now");
    }
}
