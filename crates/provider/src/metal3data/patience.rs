//! How long a wait may last before it is said.

use std::time::Duration;

use jiff::Timestamp;
use kube::core::ObjectMeta;

/// Most waits of a new object end within a moment; writing each of them down would cost more than it tells.
const PATIENCE: Duration = Duration::from_secs(2);

/// How long to wait on in silence; none once the object is old enough.
pub(super) fn still_patient(metadata: &ObjectMeta, now: &str) -> Option<Duration> {
    let created = metadata.creation_timestamp.as_ref()?.0;
    let now: Timestamp = now.parse().ok()?;
    let age = Duration::try_from(now.duration_since(created)).unwrap_or_default();
    PATIENCE.checked_sub(age).filter(|rest| !rest.is_zero())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_a_new_object_waits_in_silence() {
        let born: ObjectMeta =
            serde_json::from_value(json!({"creationTimestamp": "2026-01-01T00:00:10Z"})).unwrap();
        for (now, expected) in [
            ("2026-01-01T00:00:10Z", Some(2)),
            ("2026-01-01T00:00:11Z", Some(1)),
            ("2026-01-01T00:00:12Z", None),
            ("2026-01-01T00:00:02Z", Some(2)),
        ] {
            assert_eq!(still_patient(&born, now), expected.map(Duration::from_secs), "{now}");
        }
        assert_eq!(still_patient(&ObjectMeta::default(), "2026-01-01T00:00:10Z"), None);
    }
}
