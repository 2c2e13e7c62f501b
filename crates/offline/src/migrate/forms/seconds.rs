//! Durations, which v1beta2 writes as a number of seconds.

use serde_json::{Value, json};

use super::super::{draft::Draft, path::Path};

/// A duration such as `5m` becomes its seconds.
pub(in super::super) fn timeout(draft: &mut Draft<'_>, path: &Path) {
    let Some(Value::String(text)) = path.find(&draft.value) else { return };
    match in_seconds(text) {
        Some(seconds) => draft.replace(path, json!(seconds), "a number of seconds in v1beta2"),
        None => {
            let message = format!("{text:?} is not a duration");
            draft.error(path, message, Some("a number of seconds, such as 300".to_owned()));
        }
    }
}

/// The whole seconds of a duration as Go writes it, such as `1h30m` or `0.5s`, as far as 32 bits hold them.
fn in_seconds(text: &str) -> Option<i32> {
    const UNITS: [(&str, u128); 7] = [
        ("ms", 1_000_000),
        ("us", 1_000),
        ("\u{b5}s", 1_000),
        ("ns", 1),
        ("h", 3_600_000_000_000),
        ("m", 60_000_000_000),
        ("s", 1_000_000_000),
    ];
    if text == "0" {
        return Some(0);
    }
    let mut rest = text;
    let mut nanoseconds: u128 = 0;
    while !rest.is_empty() || text.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, after) = rest.split_at_checked(end)?;
        let (unit, worth) = UNITS.iter().find(|(unit, _)| after.starts_with(unit))?;
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        let fraction: String = fraction.chars().chain(std::iter::repeat('0')).take(9).collect();
        let billionths =
            whole.parse::<u64>().ok().map(u128::from)? * 1_000_000_000 + fraction.parse::<u128>().ok()?;
        nanoseconds = nanoseconds.checked_add(billionths.checked_mul(*worth)? / 1_000_000_000)?;
        rest = after.strip_prefix(unit)?;
    }
    Some(i32::try_from(nanoseconds / 1_000_000_000).unwrap_or(i32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_go_writes_them() {
        for (text, seconds) in [
            ("300s", Some(300)),
            ("5m", Some(300)),
            ("1h30m", Some(5400)),
            ("5m0s", Some(300)),
            ("0.5s", Some(0)),
            ("1.5m", Some(90)),
            ("1500ms", Some(1)),
            ("0", Some(0)),
            ("999999999h", Some(i32::MAX)),
            ("99999999999999999999h", None),
            ("", None),
            ("5", None),
            ("5x", None),
            ("-5s", None),
            ("s", None),
        ] {
            assert_eq!(in_seconds(text), seconds, "{text}");
        }
    }
}
