//! The content of a Lease: takes the object as the server gives it, gives the fields that an election is about, and writes them
//! back into the object. Whatever else the object holds is kept as it is.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::Timing;
use crate::{ObjectKey, ResourceKind, clock::micro_text};

/// The kind Lease.
pub fn lease_kind() -> ResourceKind {
    ResourceKind {
        group: "coordination.k8s.io".to_owned(),
        version: "v1".to_owned(),
        kind: "Lease".to_owned(),
        plural: "leases".to_owned(),
    }
}

/// The longest duration that the field can hold, in seconds.
const LONGEST: u64 = i32::MAX as u64;

/// What an election reads and writes of a Lease. Times stay text: they are compared with nothing but themselves.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Record {
    /// Who holds it; empty if nobody does.
    pub holder: String,
    /// How long it lasts after a change, in seconds; none if the object does not say.
    pub seconds: Option<u64>,
    /// Since when the holder has it.
    pub acquired: String,
    /// When the holder last renewed it.
    pub renewed: String,
    /// How often it went to another holder.
    pub transitions: i64,
}

impl Record {
    /// The record of a Lease object.
    pub fn of(lease: &Value) -> Self {
        let field = |name: &str| lease.get("spec").and_then(|spec| spec.get(name));
        let text = |name: &str| field(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        Self {
            holder: text("holderIdentity"),
            seconds: field("leaseDurationSeconds").and_then(Value::as_u64).map(|it| it.min(LONGEST)),
            acquired: text("acquireTime"),
            renewed: text("renewTime"),
            transitions: field("leaseTransitions").and_then(Value::as_i64).unwrap_or_default(),
        }
    }

    /// How long it lasts after a change. A holder that does not say how long may count on as much as we do.
    pub fn lasts(&self, timing: &Timing) -> Duration {
        self.seconds.map_or(timing.lease(), Duration::from_secs)
    }

    /// What this record becomes when `identity` acquires or renews it.
    pub fn held_by(&self, identity: &str, timing: &Timing, now: Timestamp) -> Self {
        let renewed = micro_text(now);
        let is_ours = self.holder == identity;
        Self {
            holder: identity.to_owned(),
            seconds: Some(timing.lease().as_secs()),
            acquired: if is_ours { self.acquired.clone() } else { renewed.clone() },
            renewed,
            transitions: self.transitions.saturating_add(i64::from(!is_ours)),
        }
    }

    /// The record of a Lease that is made new.
    pub fn first(identity: &str, timing: &Timing, now: Timestamp) -> Self {
        Self { transitions: 0, ..Self::default().held_by(identity, timing, now) }
    }

    /// What this record becomes when its holder gives it back: anybody may take it at once.
    pub fn released(&self, now: Timestamp) -> Self {
        let now = micro_text(now);
        Self { holder: String::new(), seconds: Some(1), acquired: now.clone(), renewed: now, ..self.clone() }
    }

    /// The Lease with this record in it.
    pub fn into_lease(self, mut lease: Value) -> Value {
        let fields = [
            ("holderIdentity", json!(self.holder)),
            ("leaseDurationSeconds", json!(self.seconds)),
            ("acquireTime", json!(self.acquired)),
            ("renewTime", json!(self.renewed)),
            ("leaseTransitions", json!(self.transitions)),
        ];
        if let Some(lease) = lease.as_object_mut() {
            let spec = lease.entry("spec").or_insert_with(|| Value::Object(Map::new()));
            if !spec.is_object() {
                *spec = Value::Object(Map::new());
            }
            if let Some(spec) = spec.as_object_mut() {
                spec.extend(fields.map(|(name, value)| (name.to_owned(), value)));
            }
        }
        lease
    }

    /// A new Lease with this record.
    pub fn into_new_lease(self, key: &ObjectKey) -> Value {
        self.into_lease(json!({"metadata": {"name": key.name, "namespace": key.namespace}}))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: &str = "2026-01-02T03:04:05.000006Z";

    fn now() -> Timestamp {
        NOW.parse().unwrap()
    }

    /// As a manager in Go writes it.
    fn of_go() -> Value {
        json!({
            "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
            "metadata": {"name": "controller-leader-election-capm3", "namespace": "capm3-system", "resourceVersion": "7",
                "labels": {"team": "metal"}},
            "spec": {"acquireTime": "2026-01-01T10:00:00.123456Z", "holderIdentity": "capm3-controller-manager-0_a1",
                "leaseDurationSeconds": 15, "leaseTransitions": 3, "renewTime": "2026-01-01T10:05:00.654321Z",
                "strategy": "OldestEmulationVersion"},
        })
    }

    #[test]
    fn a_lease_of_go_is_read_and_what_is_not_ours_in_it_is_kept() {
        let record = Record::of(&of_go());
        assert_eq!((record.holder.as_str(), record.seconds), ("capm3-controller-manager-0_a1", Some(15)));
        let lease = record.held_by("me_1", &Timing::default(), now()).into_lease(of_go());
        let mut expected = of_go();
        expected["spec"] = json!({"acquireTime": NOW, "holderIdentity": "me_1", "leaseDurationSeconds": 15,
            "leaseTransitions": 4, "renewTime": NOW, "strategy": "OldestEmulationVersion"});
        assert_eq!(lease, expected);
    }

    #[test]
    fn a_renewal_keeps_since_when_and_how_often() {
        let timing = Timing::default();
        let first = Record::first("me_1", &timing, "2026-01-01T00:00:00Z".parse().unwrap());
        assert_eq!((first.transitions, first.acquired.as_str()), (0, "2026-01-01T00:00:00.000000Z"));
        let renewed = first.held_by("me_1", &timing, now());
        assert_eq!(renewed, Record { renewed: NOW.to_owned(), ..first });
    }

    #[test]
    fn a_released_lease_names_nobody_and_lasts_a_second() {
        let released = Record::of(&of_go()).released(now());
        let expected = Record {
            holder: String::new(),
            seconds: Some(1),
            acquired: NOW.to_owned(),
            renewed: NOW.to_owned(),
            transitions: 3,
        };
        assert_eq!(released, expected);
        let taken = released.held_by("me_1", &Timing::default(), now());
        assert_eq!(taken.transitions, 4);
    }

    #[test]
    fn a_lease_without_content_is_nobodys_and_one_without_duration_lasts_as_long_as_ours() {
        for lease in [json!({}), json!({"spec": null}), json!({"spec": {}})] {
            assert_eq!(Record::of(&lease), Record::default());
            let filled = Record::first("me_1", &Timing::default(), now()).into_lease(lease);
            assert_eq!(filled["spec"]["holderIdentity"], "me_1");
        }
        let endless = Record::of(&json!({"spec": {"leaseDurationSeconds": u64::MAX}}));
        assert_eq!(endless.seconds, Some(LONGEST), "an instant can be that far away");
        let without_duration = Record::of(&json!({"spec": {"holderIdentity": "other"}}));
        assert_eq!(without_duration.lasts(&Timing::default()), Duration::from_secs(15));
    }
}
