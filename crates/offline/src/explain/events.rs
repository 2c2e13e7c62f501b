//! Events about a host, as far as the server still keeps them.
//!
//! Takes events as JSON, because they are read by nobody but people; gives what they say and when.

use capm3_engine::{ObjectKey, ResourceKind};
use serde_json::Value;

/// One event about a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostEvent {
    /// Name of the event.
    pub name: String,
    /// One CamelCase word.
    pub reason: String,
    /// A sentence.
    pub message: String,
    /// When it happened first.
    pub first: String,
    /// When it happened last.
    pub last: String,
}

/// The kind of events.
pub fn event_kind() -> ResourceKind {
    ResourceKind { group: String::new(), version: "v1".into(), kind: "Event".into(), plural: "events".into() }
}

/// The events with that reason about a host, the oldest first.
pub fn events_about<'e>(
    events: impl IntoIterator<Item = &'e Value>,
    host: &ObjectKey,
    reason: &str,
) -> Vec<HostEvent> {
    let text = |event: &Value, pointer: &str| {
        event.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let is_it = |event: &&Value| {
        text(event, "/involvedObject/kind") == "BareMetalHost"
            && text(event, "/involvedObject/namespace") == host.namespace
            && text(event, "/involvedObject/name") == host.name
            && text(event, "/reason") == reason
    };
    let read = |event: &Value| HostEvent {
        name: text(event, "/metadata/name"),
        reason: text(event, "/reason"),
        message: text(event, "/message"),
        first: text(event, "/firstTimestamp"),
        last: text(event, "/lastTimestamp"),
    };
    let mut found: Vec<HostEvent> = events.into_iter().filter(is_it).map(read).collect();
    found.sort_by(|one, other| one.last.cmp(&other.last));
    found
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_events_of_that_reason_about_that_host_count_and_the_newest_is_last() {
        let event = |host: &str, reason: &str, last: &str| {
            json!({"metadata": {"name": last}, "reason": reason, "lastTimestamp": last,
                "involvedObject": {"kind": "BareMetalHost", "namespace": "ns", "name": host}})
        };
        let events =
            [event("h", "HostOrphaned", "2"), event("h", "HostOrphaned", "1"), event("h", "Other", "3")];
        let others = [event("g", "HostOrphaned", "4")];
        let found = events_about(events.iter().chain(&others), &ObjectKey::new("ns", "h"), "HostOrphaned");
        assert_eq!(found.iter().map(|event| event.name.as_str()).collect::<Vec<_>>(), ["1", "2"]);
    }
}
