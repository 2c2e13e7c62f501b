//! Whether a YAML 1.1 reader takes plain text for a string, or for null, a boolean, a number or a date.

use super::timestamp::is_timestamp;

const WORDS: &[&str] = &[
    "", "~", "null", "Null", "NULL", "y", "Y", "yes", "Yes", "YES", "n", "N", "no", "No", "NO", "true",
    "True", "TRUE", "false", "False", "FALSE", "on", "On", "ON", "off", "Off", "OFF", ".nan", ".NaN", ".NAN",
    ".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF", "-.inf", "-.Inf", "-.INF",
];

pub(super) fn reads_as_string(text: &str) -> bool {
    if WORDS.contains(&text) {
        return false;
    }
    match text.chars().next() {
        Some('.') => !(underscores_separate_digits(text) && is_float(&text.replace('_', ""))),
        Some('+' | '-' | '0'..='9') => {
            let digits = text.replace('_', "");
            !(is_timestamp(text) || is_integer(&digits) || is_float(&digits) || is_base_60(text))
        }
        _ => true,
    }
}

/// Decimal, or with a prefix for another base; within 64 bits, without sign also within 64 unsigned bits.
fn is_integer(text: &str) -> bool {
    let (negative, unsigned) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let Some(magnitude) = magnitude(unsigned) else {
        return false;
    };
    let limit = match (negative, text == unsigned) {
        (true, _) => i64::MIN.unsigned_abs(),
        (false, true) => u64::MAX,
        (false, false) => i64::MAX.unsigned_abs(),
    };
    magnitude <= limit
}

fn magnitude(digits: &str) -> Option<u64> {
    let radix = match digits.get(..2) {
        Some("0x" | "0X") => 16,
        Some("0o" | "0O") => 8,
        Some("0b" | "0B") => 2,
        _ => 10,
    };
    let (radix, digits) = match (radix, digits.strip_prefix('0')) {
        (10, Some(octal)) if !octal.is_empty() => (8, octal),
        (10, _) => (10, digits),
        (radix, _) => (radix, digits.get(2..)?),
    };
    // `from_str_radix` would take a second sign.
    if !digits.chars().all(|c| c.is_digit(radix)) {
        return None;
    }
    u64::from_str_radix(digits, radix).ok()
}

/// Digits with at most one point and an exponent, within the range of 64-bit floats.
fn is_float(text: &str) -> bool {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent.strip_prefix(['+', '-']).unwrap_or(exponent))),
        None => (unsigned, None),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let some_digits = !whole.is_empty() || !fraction.is_empty();
    some_digits
        && all_digits(whole)
        && all_digits(fraction)
        && exponent.is_none_or(|exponent| !exponent.is_empty() && all_digits(exponent))
        && unsigned.parse().is_ok_and(f64::is_finite)
}

fn all_digits(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_digit())
}

/// Behind a leading point, underscores are allowed between digits only.
fn underscores_separate_digits(text: &str) -> bool {
    let is_digit = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
    let mut previous = None;
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        if c == '_' && !(is_digit(previous) && is_digit(rest.peek().copied())) {
            return false;
        }
        previous = Some(c);
    }
    true
}

/// Numbers to the base 60: `12:30:45.5`. Many MAC addresses and some IPv6 addresses look like that.
fn is_base_60(text: &str) -> bool {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let digits_or_underscores = |text: &str| text.bytes().all(|b| b.is_ascii_digit() || b == b'_');
    let (groups, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
    let Some((first, others)) = groups.split_once(':') else {
        return false;
    };
    first.starts_with(|c: char| c.is_ascii_digit())
        && digits_or_underscores(first)
        && digits_or_underscores(fraction)
        && others.split(':').all(is_below_60)
}

fn is_below_60(group: &str) -> bool {
    match group.as_bytes() {
        [unit] => unit.is_ascii_digit(),
        [b'0'..=b'5', unit] => unit.is_ascii_digit(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_every_notation_are_no_strings() {
        for text in [
            "0",
            "-1",
            "+1",
            "0644",
            "0o17",
            "0x1F",
            "0X1f",
            "0b101",
            "-0b11",
            "1_000",
            "1_",
            "08",
            "1.",
            ".5",
            "-.5",
            "1e3",
            ".5e1",
            ".1_0",
            "18446744073709551616",
            "12:30",
            "00:11:22:33:44:55",
            "1:2:3:4:5:6:7:8",
            "190:20:30.15",
            "0x_1",
        ] {
            assert!(!reads_as_string(text), "{text:?}");
        }
    }

    #[test]
    fn look_alikes_of_numbers_are_strings() {
        for text in [
            "_1",
            "0x",
            "0o8",
            "0b2",
            "1e",
            "e3",
            "1.2.3",
            "1e400",
            ".",
            ".9_",
            "1:60",
            "11:22:33:44:55:66",
            "1,000",
            "12:3_0",
            "0x10000000000000000",
            "52:54:00:aa:bb:cc",
            "+-1",
            "v1",
            "--1",
        ] {
            assert!(reads_as_string(text), "{text:?}");
        }
    }
}
