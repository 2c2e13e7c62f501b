//! How long a wait lasts before it is reported.

use std::time::Duration;

use jiff::Timestamp;
use kube::core::ObjectMeta;

/// Most waits of an object that is new, or whose status was written a moment ago, end soon; each would cost a write and be out
/// of date at once.
const THROTTLE: Duration = Duration::from_secs(5);

/// How long the status stays as it is, counted from the creation, the deletion or the last report of the object; none if that
/// is long ago.
pub(crate) fn is_throttled(metadata: &ObjectMeta, last_updated: Option<&str>, now: &str) -> Option<Duration> {
    let of_server = [&metadata.creation_timestamp, &metadata.deletion_timestamp];
    let reported = last_updated.and_then(|time| time.parse::<Timestamp>().ok());
    let since = of_server.into_iter().flatten().map(|time| time.0).chain(reported).max()?;
    let now: Timestamp = now.parse().ok()?;
    let age = now.duration_since(since);
    if age.unsigned_abs() >= THROTTLE {
        // Either long ago, or the clocks disagree so much that the time says nothing.
        return None;
    }
    Some(THROTTLE.saturating_sub(Duration::try_from(age).unwrap_or_default()))
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
    fn only_who_came_goes_or_spoke_a_moment_ago_waits_in_silence() {
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
}
