//! Whether anything may be done about unhealthy Machines: not if there are too many of them, for then it is rather the network
//! or the check itself that is broken.

use serde_json::Value;

use crate::kinds::TriggerIf;

/// How many Machines are looked at, and how many are healthy. One without a Node is neither healthy nor unhealthy, and counts
/// as not healthy here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) expected: usize,
    pub(super) healthy: usize,
}

/// What may be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Allowance {
    pub(super) is_allowed: bool,
    /// How many more Machines may become unhealthy before nothing is done any more.
    pub(super) further: usize,
    /// Why nothing may be done.
    pub(super) message: String,
}

pub(super) fn allowance(trigger: &TriggerIf, counts: Counts) -> Allowance {
    let Counts { expected, healthy } = counts;
    let unhealthy = expected.saturating_sub(healthy);
    let reported =
        |limit: &str| format!("no remediation: {unhealthy} of {expected} machines are unhealthy, {limit}");
    if let Some((text, (least, most))) =
        trigger.unhealthy_in_range.as_deref().and_then(|text| Some((text, range(text)?)))
    {
        let is_allowed = (least..=most).contains(&unhealthy);
        let further = if is_allowed { most.saturating_sub(unhealthy) } else { 0 };
        return Allowance { is_allowed, further, message: reported(&format!("which is outside of {text}")) };
    }
    let most =
        trigger.unhealthy_less_than_or_equal_to.as_ref().map_or(Some(expected), |it| scaled(it, expected));
    let is_allowed = most.is_some_and(|most| unhealthy <= most);
    let most = most.unwrap_or(0);
    Allowance {
        is_allowed,
        further: most.saturating_sub(unhealthy),
        message: reported(&format!("and unhealthyLessThanOrEqualTo allows {most}")),
    }
}

/// Both ends of a text such as `[3-5]`.
fn range(text: &str) -> Option<(usize, usize)> {
    let (least, most) = text.strip_prefix('[')?.strip_suffix(']')?.split_once('-')?;
    Some((least.parse().ok()?, most.parse().ok()?))
}

/// A number, or a percentage of all rounded down.
fn scaled(value: &Value, all: usize) -> Option<usize> {
    if let Some(number) = value.as_u64() {
        return usize::try_from(number).ok();
    }
    let percent: usize = value.as_str()?.strip_suffix('%')?.parse().ok()?;
    Some(all.saturating_mul(percent) / 100)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_number_a_percentage_or_a_range_limits_what_is_done() {
        let most = |value: Value| json!({"unhealthyLessThanOrEqualTo": value});
        let within = |text: &str| json!({"unhealthyInRange": text, "unhealthyLessThanOrEqualTo": 0});
        let rows = [
            // (limit, expected, healthy) => (allowed, further)
            (json!({}), 3, 0, true, 0),
            (json!({}), 3, 2, true, 2),
            (most(json!(1)), 3, 2, true, 0),
            (most(json!(1)), 3, 1, false, 0),
            (most(json!(0)), 3, 3, true, 0),
            (most(json!("40%")), 5, 3, true, 0),
            (most(json!("40%")), 4, 3, true, 0),
            (most(json!("40%")), 2, 1, false, 0),
            (most(json!("100%")), 4, 1, true, 1),
            (most(json!("nonsense")), 4, 4, false, 0),
            (within("[1-2]"), 4, 4, false, 0),
            (within("[1-2]"), 4, 3, true, 1),
            (within("[1-2]"), 4, 1, false, 0),
        ];
        for (trigger, expected, healthy, is_allowed, further) in rows {
            let parsed: TriggerIf = serde_json::from_value(trigger.clone()).unwrap();
            let found = allowance(&parsed, Counts { expected, healthy });
            assert_eq!(
                (found.is_allowed, found.further),
                (is_allowed, further),
                "{trigger} {healthy}/{expected}"
            );
        }
    }

    #[test]
    fn a_refusal_names_the_numbers() {
        let trigger: TriggerIf = serde_json::from_value(json!({"unhealthyLessThanOrEqualTo": 1})).unwrap();
        let message = allowance(&trigger, Counts { expected: 3, healthy: 1 }).message;
        assert!(message.contains("2 of 3 machines") && message.ends_with("allows 1"), "{message}");
    }
}
