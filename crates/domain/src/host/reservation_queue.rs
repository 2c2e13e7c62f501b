//! Who goes first among machines that wait for hosts which are reserved for the same owner and not ready yet.
//!
//! Such a host is worth waiting for, because it carries the owner's data; but only one machine can have it, and the
//! others of the owner must not stand idle before free hosts.

use std::cmp::Ordering;

use capm3_api::{metadata::MetadataExt, neighbours::BareMetalHost, v1beta2::Metal3Machine};

use super::eligibility::{is_available, is_reserved, unfit};

/// Whether a machine waits for reserved hosts that are not ready, of which it could have `unready`: only while machines
/// ahead of it in the line do not need them all.
///
/// ```
/// use capm3_domain::host::waits_for_reserved;
///
/// assert!(waits_for_reserved(1, 0));
/// assert!(!waits_for_reserved(1, 1), "the one ahead takes it");
/// ```
pub fn waits_for_reserved(unready: usize, ahead: usize) -> bool {
    ahead < unready
}

/// The order of the line: the older machine goes first.
pub fn reservation_order(a: &Metal3Machine, b: &Metal3Machine) -> Ordering {
    let place = |machine: &Metal3Machine| machine.metadata.creation_timestamp.as_ref().map(|time| time.0);
    place(a).cmp(&place(b)).then_with(|| a.metadata.name_str().cmp(b.metadata.name_str()))
}

/// What a host can do for whoever it is reserved for, going by the host alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Readiness {
    Usable,
    Unready,
    Unusable,
}

/// Whether a host that is or was reserved means something else now to machines that wait for it: it came or went, can or
/// cannot be used, or has other labels or another consumer.
///
/// ```
/// use capm3_domain::host::reservation_changed;
///
/// let host = serde_json::from_str(r#"{"metadata": {"labels": {"infrastructure.cluster.x-k8s.io/node-reuse": "md-a"}}}"#).unwrap();
/// assert!(reservation_changed(Some(&host), None));
/// assert!(!reservation_changed(Some(&host), Some(&host)));
/// ```
pub fn reservation_changed(old: Option<&BareMetalHost>, new: Option<&BareMetalHost>) -> bool {
    if ![old, new].into_iter().flatten().any(is_reserved) {
        return false;
    }
    let seen = |host: &BareMetalHost| {
        let readiness = match (unfit(host), is_available(host)) {
            (Some(_), _) => Readiness::Unusable,
            (None, true) => Readiness::Usable,
            (None, false) => Readiness::Unready,
        };
        (readiness, host.metadata.labels.clone(), host.spec.consumer_ref.clone())
    };
    old.map(seen) != new.map(seen)
}

#[cfg(test)]
mod tests {
    use capm3_api::vocabulary::label;
    use serde_json::{Value, json};

    use super::*;

    fn host(change: Value) -> BareMetalHost {
        let mut host = json!({"metadata": {"name": "h", "labels": {label::NODE_REUSE: "md-a"}, "annotations": {}},
            "spec": {"consumerRef": {"kind": "Cluster", "name": "c"}},
            "status": {"provisioning": {"state": "preparing"}}});
        for (part, members) in change.as_object().unwrap() {
            for (key, value) in members.as_object().unwrap() {
                host[part][key] = value.clone();
            }
        }
        serde_json::from_value(host).unwrap()
    }

    #[test]
    fn a_reserved_host_turns_when_the_verdict_on_it_changes_and_not_with_every_step() {
        let note = |key: &str| json!({"metadata": {"annotations": {key: ""}}});
        let state = |state: &str| json!({"status": {"provisioning": {"state": state}}});
        for (what, change, turns) in [
            ("nothing", json!({}), false),
            ("another step of the operator", state("match profile"), false),
            ("a field of no matter", json!({"spec": {"online": true}}), false),
            ("ready", state("available"), true),
            ("unhealthy", note("capm3.metal3.io/unhealthy"), true),
            ("paused", note("baremetalhost.metal3.io/paused"), true),
            ("detached", note("baremetalhost.metal3.io/detached"), true),
            ("in error", json!({"status": {"errorMessage": "boom"}}), true),
            ("on its way out", json!({"metadata": {"deletionTimestamp": "2026-01-02T03:04:05Z"}}), true),
            ("taken", json!({"spec": {"consumerRef": {"kind": "Metal3Machine", "name": "m"}}}), true),
            ("reserved for others", json!({"metadata": {"labels": {label::NODE_REUSE: "md-b"}}}), true),
            ("not reserved any more", json!({"metadata": {"labels": {}}}), true),
            (
                "labelled, so that a selector may turn it down",
                json!({"metadata": {"labels": {label::NODE_REUSE: "md-a", "size": "s"}}}),
                true,
            ),
        ] {
            let (old, new) = (host(json!({})), host(change));
            assert_eq!(reservation_changed(Some(&old), Some(&new)), turns, "{what}");
            assert_eq!(reservation_changed(Some(&new), Some(&old)), turns, "{what}, and back");
        }
    }

    #[test]
    fn a_host_that_nobody_reserved_never_turns() {
        let free = |state: &str| {
            host(json!({"metadata": {"labels": {}}, "status": {"provisioning": {"state": state}}}))
        };
        assert!(!reservation_changed(Some(&free("preparing")), Some(&free("available"))));
        assert!(!reservation_changed(None, Some(&free("available"))));
        assert!(!reservation_changed(None, None));
    }

    #[test]
    fn the_older_machine_goes_first_and_among_equals_the_name_decides() {
        let machine = |name: &str, created: Value| -> Metal3Machine {
            serde_json::from_value(json!({"metadata": {"name": name, "creationTimestamp": created}})).unwrap()
        };
        let (early, late) = (json!("2026-01-02T03:04:05Z"), json!("2026-01-02T03:04:06Z"));
        let mut line =
            [machine("a", late), machine("c", early.clone()), machine("b", early), machine("z", Value::Null)];
        line.sort_by(reservation_order);
        assert_eq!(line.map(|m| m.metadata.name.unwrap()), ["z", "b", "c", "a"]);
    }

    #[test]
    fn as_many_machines_wait_as_there_are_reserved_hosts() {
        for (unready, waiting) in [(0, 0), (1, 1), (3, 3)] {
            assert_eq!((0..5).filter(|ahead| waits_for_reserved(unready, *ahead)).count(), waiting);
        }
    }
}
