//! Events have two faces: the core form, in which they are stored, and that of `events.k8s.io`. Takes one, gives the
//! other; nothing is lost on the way.

use serde_json::{Map, Value};

use crate::{meta::str_at, resource::ResourceKey};

const CORE: &str = "v1";
const NEW_GROUP: &str = "events.k8s.io";
const NEW: &str = "events.k8s.io/v1";

/// Names of the same field in both forms, core first.
const NAMES: [(&str, &str); 7] = [
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
    ("reportingComponent", "reportingController"),
];

/// The resource whose objects a path shows: both kinds of events are kept in one place.
pub(crate) fn stored_in(key: &ResourceKey) -> ResourceKey {
    if *key == ResourceKey::new(NEW_GROUP, "events") { ResourceKey::new("", "events") } else { key.clone() }
}

pub(crate) fn is_event(object: &Value) -> bool {
    str_at(object, "kind") == "Event" && matches!(str_at(object, "apiVersion"), CORE | NEW)
}

/// An event in the other form.
pub(crate) fn convert(event: Value, api_version: &str) -> Value {
    let Value::Object(fields) = event else { return event };
    let renamed = |field: String| {
        let pair = NAMES.iter().find_map(|(core, new)| match api_version {
            NEW => (field == *core).then_some(*new),
            _ => (field == *new).then_some(*core),
        });
        pair.map_or(field, str::to_owned)
    };
    let mut converted: Map<String, Value> =
        fields.into_iter().map(|(field, value)| (renamed(field), value)).collect();
    converted.insert("apiVersion".to_owned(), api_version.into());
    Value::Object(converted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_event_comes_back_as_it_went() {
        let core = json!({"apiVersion": "v1", "kind": "Event", "metadata": {"name": "e"}, "message": "m", "count": 2,
            "involvedObject": {"kind": "Pod"}, "reason": "R", "eventTime": "t"});
        let new = convert(core.clone(), NEW);
        assert_eq!((&new["note"], &new["regarding"]["kind"]), (&json!("m"), &json!("Pod")));
        assert_eq!(new["apiVersion"], NEW);
        assert_eq!(convert(new, CORE), core);
    }
}
