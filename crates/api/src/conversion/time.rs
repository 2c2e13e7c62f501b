//! Times of a status in v1beta1 that have an offset, as v1beta2 stores them: in UTC, to the second.

use jiff::{Timestamp, tz::TimeZone};
use serde_json::Value;

/// Members that hold a time.
const TIMES: [&str; 3] = ["lastUpdated", "lastTransitionTime", "lastRemediated"];

/// Rewrites the times that have an offset. What is in UTC or no time stays as it is.
pub(super) fn to_utc(value: &mut Value) {
    match value {
        Value::Object(members) => {
            for (name, member) in members.iter_mut() {
                match member.as_str().filter(|_| TIMES.contains(&name.as_str())).and_then(in_utc) {
                    Some(time) => *member = Value::String(time),
                    None => to_utc(member),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(to_utc),
        _ => {}
    }
}

fn in_utc(text: &str) -> Option<String> {
    let time = text.parse::<Timestamp>().ok().filter(|_| !text.ends_with(['Z', 'z']))?;
    Some(time.to_zoned(TimeZone::UTC).strftime("%Y-%m-%dT%H:%M:%SZ").to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn times_with_an_offset_become_utc_and_nothing_else_changes() {
        let mut status = json!({
            "lastUpdated": "2026-01-01T01:30:00+02:00",
            "conditions": [{"lastTransitionTime": "2026-01-01T00:00:00.5-01:00", "message": "2026-01-01T01:00:00+01:00"}],
            "v1beta2": {"conditions": [{"lastTransitionTime": "2026-01-01T00:00:00Z"}]},
            "lastRemediated": "soon",
        });
        to_utc(&mut status);
        let expected = json!({
            "lastUpdated": "2025-12-31T23:30:00Z",
            "conditions": [{"lastTransitionTime": "2026-01-01T01:00:00Z", "message": "2026-01-01T01:00:00+01:00"}],
            "v1beta2": {"conditions": [{"lastTransitionTime": "2026-01-01T00:00:00Z"}]},
            "lastRemediated": "soon",
        });
        assert_eq!(status, expected);
    }
}
