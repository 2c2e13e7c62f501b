//! The out-of-service taint: with it, what ran on a Node whose host is powered off may run elsewhere at once.

use capm3_api::{
    neighbours::{Pod, Toleration},
    vocabulary::out_of_service::{EFFECT, KEY, VALUE},
};
use serde_json::{Value, json};

/// The version of Kubernetes from which on the taint is always heeded.
const SINCE: (u32, u32) = (1, 28);

/// Whether a workload cluster of this version heeds the taint. A version that is not known does not.
pub fn is_supported(version: Option<(u32, u32)>) -> bool {
    version.is_some_and(|version| version >= SINCE)
}

/// Whether the taint is there, whoever put it there.
pub fn has_taint(taints: &[Value]) -> bool {
    taints.iter().any(is_it)
}

/// The taints with the out-of-service taint, which begins `now`.
pub fn with_taint(taints: &[Value], now: &str) -> Vec<Value> {
    let added =
        (!has_taint(taints)).then(|| json!({"key": KEY, "value": VALUE, "effect": EFFECT, "timeAdded": now}));
    taints.iter().cloned().chain(added).collect()
}

/// The taints without the out-of-service taint.
pub fn without_taint(taints: &[Value]) -> Vec<Value> {
    taints.iter().filter(|taint| !is_it(taint)).cloned().collect()
}

/// Whether a Pod stays on a Node that has the taint.
pub fn is_tolerated_by(pod: &Pod) -> bool {
    pod.spec.tolerations.iter().any(tolerates)
}

fn tolerates(toleration: &Toleration) -> bool {
    let Toleration { key, operator, value, effect, toleration_seconds } = toleration;
    let given = |text: &Option<String>| text.clone().unwrap_or_default();
    let fits_key = match operator.as_deref() {
        Some("Exists") => given(key).is_empty() || given(key) == KEY,
        _ => given(key) == KEY && given(value) == VALUE,
    };
    let fits_effect = given(effect).is_empty() || given(effect) == EFFECT;
    fits_key && fits_effect && toleration_seconds.is_none()
}

/// A taint is identified by key and effect.
fn is_it(taint: &Value) -> bool {
    let member = |name: &str| taint.get(name).and_then(Value::as_str);
    member("key") == Some(KEY) && member("effect") == Some(EFFECT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_taint_is_heeded_from_1_28_on_and_not_where_the_version_is_unknown() {
        for (version, expected) in [
            (Some((1, 28)), true),
            (Some((1, 34)), true),
            (Some((2, 0)), true),
            (Some((1, 27)), false),
            (None, false),
        ] {
            assert_eq!(is_supported(version), expected, "{version:?}");
        }
    }

    #[test]
    fn a_pod_stays_if_it_tolerates_the_taint_for_ever() {
        for (toleration, expected) in [
            (json!({"operator": "Exists"}), true),
            (json!({"operator": "Exists", "effect": "NoExecute"}), true),
            (json!({"key": KEY, "operator": "Exists"}), true),
            (json!({"key": KEY, "value": VALUE}), true),
            (json!({"key": KEY, "value": "other"}), false),
            (json!({"key": KEY, "operator": "Exists", "effect": "NoSchedule"}), false),
            (json!({"key": KEY, "operator": "Exists", "tolerationSeconds": 300}), false),
            (json!({"key": "node.kubernetes.io/unreachable", "operator": "Exists"}), false),
        ] {
            let pod: Pod = serde_json::from_value(json!({"spec": {"tolerations": [toleration]}})).unwrap();
            assert_eq!(is_tolerated_by(&pod), expected, "{toleration}");
        }
        assert!(!is_tolerated_by(&Pod::default()));
    }

    #[test]
    fn the_taint_is_added_once_and_taken_away_without_touching_others() {
        let others = vec![json!({"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"})];
        let tainted = with_taint(&others, "2026-01-01T00:00:00Z");
        assert_eq!(tainted.len(), 2);
        assert_eq!(tainted[1]["value"], "nodeshutdown");
        assert_eq!(with_taint(&tainted, "later"), tainted, "the time of the first one stays");
        assert_eq!(without_taint(&tainted), others);
    }

    /// In the reference all Nodes share one taint, whose time each of them overwrites.
    #[test]
    fn the_taint_of_each_node_has_its_own_time() {
        let (first, second) =
            (with_taint(&[], "2026-01-01T00:00:00Z"), with_taint(&[], "2026-01-01T00:00:09Z"));
        assert_eq!(first[0]["timeAdded"], "2026-01-01T00:00:00Z");
        assert_eq!(second[0]["timeAdded"], "2026-01-01T00:00:09Z");
    }
}
