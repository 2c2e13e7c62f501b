//! Conditions in both generations: set, order and summarise them without touching what did not change.

use capm3_api::{
    conditions::{Condition, Deprecated, LegacyCondition, Severity},
    vocabulary::{condition, reason},
};

/// The time and generation that newly written conditions carry.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stamp<'a> {
    pub(crate) now: &'a str,
    pub(crate) generation: Option<i64>,
}

/// Sets a condition. The transition time moves only when the status changes.
pub(crate) fn set(
    conditions: &mut Vec<Condition>,
    stamp: Stamp<'_>,
    type_: &str,
    status: bool,
    reason: &str,
    message: impl Into<String>,
) {
    let status = if status { "True" } else { "False" };
    set_status(conditions, stamp, type_, status, reason, message.into());
}

fn set_status(
    conditions: &mut Vec<Condition>,
    stamp: Stamp<'_>,
    type_: &str,
    status: &str,
    reason: &str,
    message: String,
) {
    let old = conditions.iter().find(|c| c.type_ == type_);
    let since = old.filter(|c| c.status == status).map(|c| c.last_transition_time.clone());
    let new = Condition {
        type_: type_.to_owned(),
        status: status.to_owned(),
        observed_generation: stamp.generation,
        last_transition_time: since.unwrap_or_else(|| stamp.now.to_owned()),
        reason: reason.to_owned(),
        message,
    };
    match conditions.iter_mut().find(|c| c.type_ == type_) {
        Some(slot) => *slot = new,
        None => insert(conditions, new, |condition| &condition.type_),
    }
}

/// Adds a condition at its place: `Ready` first, `Paused` last, the others by name. Those that are there keep theirs: an order
/// that somebody else left is not worth a write.
fn insert<C>(conditions: &mut Vec<C>, new: C, type_of: impl Fn(&C) -> &str) {
    let order = |condition: &C| (rank(type_of(condition)), type_of(condition).to_owned());
    let at = conditions.iter().position(|other| order(other) > order(&new));
    conditions.insert(at.unwrap_or(conditions.len()), new);
}

/// Gives conditions that say the same as before the time since when they say it, however often they were set in
/// between.
pub(crate) fn keep_times(old: &[Condition], new: &mut [Condition]) {
    for condition in new {
        let before = old.iter().find(|c| c.type_ == condition.type_ && c.status == condition.status);
        if let Some(before) = before {
            condition.last_transition_time.clone_from(&before.last_transition_time);
        }
    }
}

/// The same for the older form, where every word counts.
pub(crate) fn keep_legacy_times(old: &[LegacyCondition], new: &mut [LegacyCondition]) {
    for condition in new {
        let same = |before: &&LegacyCondition| {
            let then = before.last_transition_time.clone();
            LegacyCondition { last_transition_time: then, ..condition.clone() } == **before
        };
        if let Some(before) = old.iter().find(same) {
            condition.last_transition_time.clone_from(&before.last_transition_time);
        }
    }
}

/// The counts of hosts that are shown already, if the new ones differ from them in numbers only: a count alone is not worth
/// a write.
pub(crate) fn keep_counts(shown: &str, new: String) -> String {
    let words = |text: &str| text.replace("hosts", "host").replace(|c: char| c.is_ascii_digit(), "");
    if words(shown) == words(&new) { shown.to_owned() } else { new }
}

/// `Ready` first, `Paused` last, the others by name.
fn rank(type_: &str) -> u8 {
    match type_ {
        condition::READY => 0,
        condition::PAUSED => 2,
        _ => 1,
    }
}

/// Sets `Ready` from the conditions named, in that order: any `False` makes it false, else any missing one unknown.
pub(crate) fn summarise(conditions: &mut Vec<Condition>, stamp: Stamp<'_>, parts: &[&str]) {
    let found: Vec<(&str, Option<&Condition>)> =
        parts.iter().map(|type_| (*type_, conditions.iter().find(|c| c.type_ == *type_))).collect();
    let is = |status: &str, c: &Option<&Condition>| c.map_or(status == "Unknown", |c| c.status == status);
    let (status, reason) = if found.iter().any(|(_, c)| is("False", c)) {
        ("False", reason::NOT_READY)
    } else if found.iter().any(|(_, c)| is("Unknown", c)) {
        ("Unknown", reason::READY_UNKNOWN)
    } else {
        ("True", reason::READY)
    };
    let lines: Vec<String> = found
        .iter()
        .filter(
            |(_, c)| {
                if status == "True" { c.is_some_and(|c| !c.message.is_empty()) } else { !is("True", c) }
            },
        )
        .map(|(type_, c)| format!("* {type_}: {}", words(*c)))
        .collect();
    set_status(conditions, stamp, condition::READY, status, reason, lines.join("\n"));
}

fn words(condition: Option<&Condition>) -> String {
    match condition {
        None => "Condition not yet reported".to_owned(),
        Some(c) if c.message.is_empty() => c.reason.clone(),
        Some(c) => c.message.clone(),
    }
}

/// The older conditions of an object, made on first use.
pub(crate) fn legacy(deprecated: &mut Option<Deprecated>) -> &mut Vec<LegacyCondition> {
    let v1beta1 = &mut deprecated.get_or_insert_default().v1beta1;
    &mut v1beta1.get_or_insert_default().conditions
}

/// Sets an older condition to `True`.
pub(crate) fn set_legacy_true(conditions: &mut Vec<LegacyCondition>, now: &str, type_: &str) {
    put_legacy(
        conditions,
        LegacyCondition {
            type_: type_.to_owned(),
            status: "True".to_owned(),
            last_transition_time: now.to_owned(),
            ..LegacyCondition::default()
        },
    );
}

/// Sets an older condition to `False`.
pub(crate) fn set_legacy_false(
    conditions: &mut Vec<LegacyCondition>,
    now: &str,
    type_: &str,
    severity: Severity,
    reason: &str,
    message: impl Into<String>,
) {
    let message = message.into();
    put_legacy(
        conditions,
        LegacyCondition {
            type_: type_.to_owned(),
            status: "False".to_owned(),
            severity: Some(severity.as_str().to_owned()),
            last_transition_time: now.to_owned(),
            reason: Some(reason.to_owned()),
            message: (!message.is_empty()).then_some(message),
        },
    );
}

/// The transition time of an older condition moves when anything else does.
fn put_legacy(conditions: &mut Vec<LegacyCondition>, mut new: LegacyCondition) {
    match conditions.iter_mut().find(|c| c.type_ == new.type_) {
        Some(old) => {
            let then = std::mem::take(&mut old.last_transition_time);
            let now = std::mem::take(&mut new.last_transition_time);
            new.last_transition_time = String::new();
            let same = *old == new;
            *old = new;
            old.last_transition_time = if same { then } else { now };
        }
        None => insert(conditions, new, |condition| &condition.type_),
    }
}

/// Sets the older `Ready` from those of the named ones that exist: the worst group speaks.
pub(crate) fn summarise_legacy(conditions: &mut Vec<LegacyCondition>, now: &str, parts: &[&str]) {
    let worst = parts
        .iter()
        .filter_map(|type_| conditions.iter().find(|c| c.type_ == *type_))
        .min_by_key(|c| match (c.status.as_str(), c.severity.as_deref()) {
            ("False", Some("Error")) => 0,
            ("False", Some("Warning")) => 1,
            ("False", _) => 2,
            ("True", _) => 3,
            _ => 4,
        })
        .cloned();
    if let Some(worst) = worst {
        put_legacy(
            conditions,
            LegacyCondition {
                type_: condition::READY.to_owned(),
                last_transition_time: now.to_owned(),
                ..worst
            },
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT_ONE: Stamp<'_> = Stamp { now: "1", generation: Some(1) };
    const AT_TWO: Stamp<'_> = Stamp { now: "2", generation: Some(2) };

    #[test]
    fn the_transition_time_moves_only_with_the_status() {
        let mut list = Vec::new();
        set(&mut list, AT_ONE, "A", false, "X", "");
        set(&mut list, AT_TWO, "A", false, "Y", "why");
        assert_eq!((list[0].last_transition_time.as_str(), list[0].reason.as_str()), ("1", "Y"));
        set(&mut list, AT_TWO, "A", true, "Z", "");
        assert_eq!(list[0].last_transition_time, "2");
    }

    #[test]
    fn ready_stands_first_and_paused_last() {
        let mut list = Vec::new();
        for type_ in ["Paused", "B", "Ready", "A"] {
            set(&mut list, AT_ONE, type_, true, "R", "");
        }
        let order: Vec<_> = list.iter().map(|c| c.type_.as_str()).collect();
        assert_eq!(order, ["Ready", "A", "B", "Paused"]);
    }

    #[test]
    fn conditions_of_others_stay_where_they_are() {
        let types = |list: &[Condition]| list.iter().map(|c| c.type_.clone()).collect::<Vec<_>>();
        let of = |type_: &str| Condition { type_: type_.to_owned(), ..Condition::default() };
        let mut list = ["Ready", "B", "Paused", "Audited"].map(of).to_vec();
        set(&mut list, AT_ONE, "B", true, "R", "");
        summarise(&mut list, AT_ONE, &["B"]);
        assert_eq!(types(&list), ["Ready", "B", "Paused", "Audited"]);
        set(&mut list, AT_ONE, "A", true, "R", "");
        assert_eq!(types(&list), ["Ready", "A", "B", "Paused", "Audited"]);
        let mut older = ["Ready", "Paused", "Audited"]
            .map(|type_| LegacyCondition { type_: type_.to_owned(), ..LegacyCondition::default() })
            .to_vec();
        set_legacy_true(&mut older, "1", "Ready");
        let older: Vec<_> = older.iter().map(|c| c.type_.as_str()).collect();
        assert_eq!(older, ["Ready", "Paused", "Audited"]);
    }

    #[test]
    fn a_summary_names_what_is_false_or_missing() {
        let mut list = Vec::new();
        set(&mut list, AT_ONE, "A", true, "R", "");
        summarise(&mut list, AT_ONE, &["A", "B"]);
        assert_eq!(
            (list[0].status.as_str(), list[0].message.as_str()),
            ("Unknown", "* B: Condition not yet reported")
        );
        set(&mut list, AT_ONE, "B", false, "Why", "");
        summarise(&mut list, AT_ONE, &["A", "B"]);
        assert_eq!((list[0].status.as_str(), list[0].message.as_str()), ("False", "* B: Why"));
        set(&mut list, AT_ONE, "B", true, "R", "");
        summarise(&mut list, AT_ONE, &["A", "B"]);
        assert_eq!((list[0].status.as_str(), list[0].message.as_str()), ("True", ""));
    }

    #[test]
    fn the_older_summary_takes_the_worst_group() {
        let mut list = Vec::new();
        set_legacy_true(&mut list, "1", "A");
        set_legacy_false(&mut list, "1", "B", Severity::Info, "Wait", "");
        set_legacy_false(&mut list, "1", "C", Severity::Error, "Bad", "text");
        summarise_legacy(&mut list, "1", &["A", "B", "C"]);
        assert_eq!((list[0].type_.as_str(), list[0].reason.as_deref()), ("Ready", Some("Bad")));
        set_legacy_false(&mut list, "2", "C", Severity::Error, "Bad", "text");
        assert_eq!(list.iter().find(|c| c.type_ == "C").unwrap().last_transition_time, "1");
    }
}
