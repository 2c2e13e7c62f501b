//! When an object changed last, as far as it tells.
//!
//! An API server records in `managedFields` when each writer wrote. `kubectl get` hides them, and the embedded server has none:
//! then other stamps give a lower bound only, and two looks at the object tell more.

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

/// When an object changed last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Age {
    /// At that time.
    Known(Timestamp),
    /// Not before that time, if there is one.
    Unknown {
        /// The newest stamp.
        newest: Option<Timestamp>,
        /// Whether it was the same in an earlier look.
        seen_unchanged: bool,
    },
}

/// Whether an object is at rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rest {
    /// It changed lately: somebody is at work.
    Young,
    /// It does not tell.
    Unknown,
    /// Nobody changed it for a while.
    Old,
}

impl Age {
    /// Whether the object did not change for a while.
    pub(super) fn rest(&self, now: Timestamp, grace: SignedDuration) -> Rest {
        let is_old = |time: &Timestamp| now.duration_since(*time) >= grace;
        match self {
            Self::Known(time) => {
                if is_old(time) {
                    Rest::Old
                } else {
                    Rest::Young
                }
            }
            Self::Unknown { newest: Some(time), .. } if !is_old(time) => Rest::Young,
            Self::Unknown { seen_unchanged: true, .. } => Rest::Old,
            Self::Unknown { .. } => Rest::Unknown,
        }
    }
}

/// Kinds whose status is a stream of reports: of hardware, and of a kubelet. It is no sign that somebody is at work.
const REPORTING: [&str; 2] = ["BareMetalHost", "Node"];

/// When an object changed last.
pub(super) fn age_of(object: &Value) -> Age {
    let kind = object.get("kind").and_then(Value::as_str).unwrap_or_default();
    let reports = REPORTING.contains(&kind);
    let fields = list(object, "/metadata/managedFields");
    let written: Option<Timestamp> = fields
        .filter(|field| !reports || field.get("subresource").is_none_or(|part| part != "status"))
        .filter_map(|field| time(field.get("time")))
        .max();
    let deleted = time(object.pointer("/metadata/deletionTimestamp"));
    if let Some(written) = written {
        return Age::Known(deleted.map_or(written, |deleted| deleted.max(written)));
    }
    let others = ["/metadata/creationTimestamp", "/status/lastUpdated"];
    let stamps = others.iter().filter_map(|pointer| time(object.pointer(pointer))).chain(deleted);
    let turned = list(object, "/status/conditions").filter_map(|it| time(it.get("lastTransitionTime")));
    Age::Unknown { newest: stamps.chain(turned).max(), seen_unchanged: false }
}

fn list<'a>(object: &'a Value, pointer: &str) -> impl Iterator<Item = &'a Value> {
    object.pointer(pointer).and_then(Value::as_array).into_iter().flatten()
}

fn time(value: Option<&Value>) -> Option<Timestamp> {
    value?.as_str()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn at(minute: i8) -> Timestamp {
        format!("2026-01-01T10:{minute:02}:00Z").parse().unwrap()
    }

    #[test]
    fn an_object_is_at_rest_once_its_newest_stamp_is_old() {
        let grace = SignedDuration::from_mins(10);
        let stamp = |minute: i8| json!(at(minute).to_string());
        let fields =
            json!([{"time": stamp(1)}, {"time": stamp(5)}, {"time": stamp(20), "subresource": "status"}]);
        let machine = json!({"kind": "Metal3Machine", "metadata": {"managedFields": fields}});
        let host = json!({"kind": "BareMetalHost", "metadata": {"managedFields": fields}});
        let deleted = json!({"kind": "BareMetalHost", "metadata": {"managedFields": fields, "deletionTimestamp": stamp(18)}});
        let created = json!({"metadata": {"creationTimestamp": stamp(20)}});
        let turned = json!({"status": {"conditions": [{"lastTransitionTime": stamp(19)}]}});
        let table = [
            (&machine, 29, Rest::Young),
            (&machine, 30, Rest::Old),
            (&host, 14, Rest::Young),
            (&host, 15, Rest::Old),
            (&deleted, 27, Rest::Young),
            (&created, 29, Rest::Young),
            (&created, 30, Rest::Unknown),
            (&turned, 28, Rest::Young),
            (&turned, 29, Rest::Unknown),
            (&json!({}), 0, Rest::Unknown),
        ];
        for (object, minute, expected) in table {
            assert_eq!(age_of(object).rest(at(minute), grace), expected, "{object} {minute}");
        }
        let seen = Age::Unknown { newest: None, seen_unchanged: true };
        assert_eq!(seen.rest(at(0), grace), Rest::Old);
    }
}
