//! Durations as Go writes them (`1h2m3.5s`), of which v1beta2 keeps whole seconds.

const NANOSECONDS: i128 = 1_000_000_000;

/// Whole seconds of a Go duration, towards zero, cut to 32 bits; none if the text is no duration.
pub(super) fn whole_seconds(text: &str) -> Option<i32> {
    let seconds = nanoseconds(text)? / 1_000_000_000;
    let limit = if seconds < 0 { i32::MIN } else { i32::MAX };
    Some(i32::try_from(seconds).unwrap_or(limit))
}

/// Nanoseconds of a Go duration; none if the text is no duration.
pub fn nanoseconds(text: &str) -> Option<i64> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if digits == "0" {
        return Some(0);
    }
    let nanoseconds = i64::try_from(sum(digits)?).ok()?;
    Some(if negative { -nanoseconds } else { nanoseconds })
}

/// The sum of at least one `<number><unit>`.
fn sum(mut text: &str) -> Option<i128> {
    if text.is_empty() {
        return None;
    }
    let mut total: i128 = 0;
    while !text.is_empty() {
        let number_end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let (number, rest) = text.split_at(number_end);
        let unit_end = rest.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(rest.len());
        let (unit, rest) = rest.split_at(unit_end);
        total = total.checked_add(part(number, nanoseconds_of(unit)?)?)?;
        text = rest;
    }
    Some(total)
}

fn part(number: &str, unit: i128) -> Option<i128> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() && fraction.is_empty() || fraction.contains('.') {
        return None;
    }
    let whole: i128 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    // Digits beyond the nanosecond of an hour say nothing.
    let fraction = fraction.get(..fraction.len().min(15)).unwrap_or_default();
    let scale = 10_i128.checked_pow(u32::try_from(fraction.len()).ok()?)?;
    let fraction: i128 = if fraction.is_empty() { 0 } else { fraction.parse().ok()? };
    whole.checked_mul(unit)?.checked_add(fraction * unit / scale)
}

fn nanoseconds_of(unit: &str) -> Option<i128> {
    Some(match unit {
        "ns" => 1,
        "us" | "\u{b5}s" | "\u{3bc}s" => 1_000,
        "ms" => 1_000_000,
        "s" => NANOSECONDS,
        "m" => 60 * NANOSECONDS,
        "h" => 3600 * NANOSECONDS,
        _ => return None,
    })
}

/// Seconds as Go prints them: `5m0s`.
pub(super) fn text(seconds: i64) -> String {
    let sign = if seconds < 0 { "-" } else { "" };
    let seconds = seconds.unsigned_abs();
    let (hours, minutes, rest) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    match (hours, minutes) {
        (0, 0) => format!("{sign}{rest}s"),
        (0, _) => format!("{sign}{minutes}m{rest}s"),
        _ => format!("{sign}{hours}h{minutes}m{rest}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_go_reads_them() {
        for (text, seconds) in [
            ("5m30s", Some(330)),
            ("300s", Some(300)),
            ("1.9s", Some(1)),
            ("1h.5m", Some(3630)),
            ("900ms", Some(0)),
            ("-5s", Some(-5)),
            ("+2m", Some(120)),
            ("0", Some(0)),
            ("1000000\u{b5}s", Some(1)),
            ("700000h", Some(i32::MAX)),
            ("-700000h", Some(i32::MIN)),
            ("", None),
            ("5", None),
            ("s", None),
            (".s", None),
            ("1.2.3s", None),
            ("5 m", None),
            ("1d", None),
            ("9999999999999h", None),
            ("99999999999999999999999999999999999999999999h", None),
        ] {
            assert_eq!(whole_seconds(text), seconds, "{text:?}");
        }
    }

    #[test]
    fn durations_are_written_as_go_writes_them() {
        for (seconds, expected) in [
            (0, "0s"),
            (59, "59s"),
            (300, "5m0s"),
            (3600, "1h0m0s"),
            (3661, "1h1m1s"),
            (-65, "-1m5s"),
            (2_147_483_647, "596523h14m7s"),
        ] {
            assert_eq!(text(seconds), expected);
        }
    }
}
