//! Takes instants, gives the text Kubernetes stores: RFC 3339 in UTC, whole seconds.

use jiff::Timestamp;

/// `2026-01-02T03:04:05Z`.
pub(crate) fn seconds(now: Timestamp) -> String {
    Timestamp::from_second(now.as_second()).unwrap_or(now).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fractions_are_cut_off() {
        let now: Timestamp = "2026-01-02T03:04:05.999Z".parse().unwrap();
        assert_eq!(seconds(now), "2026-01-02T03:04:05Z");
    }
}
