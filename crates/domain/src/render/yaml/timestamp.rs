//! Whether text is a date, alone or with a time of day.

pub(super) fn is_timestamp(text: &str) -> bool {
    date_and_rest(text).is_some_and(|rest| {
        rest.is_empty()
            || rest
                .strip_prefix(' ')
                .is_some_and(|time| time_and_rest(time.trim_start_matches(' ')).is_some_and(str::is_empty))
            || rest.strip_prefix(['T', 't']).is_some_and(|time| time_and_rest(time).is_some_and(is_zone))
    })
}

/// `Y-M-D` with four digits for the year and one or two for the others, as far as the calendar knows the day.
fn date_and_rest(text: &str) -> Option<&str> {
    let (year, rest) = text.split_at_checked(4)?;
    if !year.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let (month, rest) = number(rest.strip_prefix('-')?)?;
    let (day, rest) = number(rest.strip_prefix('-')?)?;
    let last = last_day(year.parse().ok()?, month)?;
    (1..=last).contains(&day).then_some(rest)
}

fn last_day(year: u32, month: u32) -> Option<u32> {
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    match month {
        2 => Some(if leap { 29 } else { 28 }),
        4 | 6 | 9 | 11 => Some(30),
        1..=12 => Some(31),
        _ => None,
    }
}

/// `h:m:s` and any fraction of a second.
fn time_and_rest(text: &str) -> Option<&str> {
    let (hour, rest) = number(text)?;
    let (minute, rest) = number(rest.strip_prefix(':')?)?;
    let (second, rest) = number(rest.strip_prefix(':')?)?;
    let valid = hour < 24 && minute < 60 && second < 60;
    let fraction = rest.strip_prefix(['.', ',']).filter(|rest| rest.starts_with(is_digit));
    let rest = fraction.map_or(rest, |fraction| fraction.trim_start_matches(is_digit));
    valid.then_some(rest)
}

/// `Z` or `+hh:mm`; the limits are those of Go, which lets a full day pass.
fn is_zone(text: &str) -> bool {
    let offset = |text: &str| {
        let (hours, minutes) = text.strip_prefix(['+', '-'])?.split_once(':')?;
        let two = |text: &str| text.len() == 2 && text.chars().all(is_digit);
        let in_range = |text: &str, limit: u32| text.parse::<u32>().is_ok_and(|number| number <= limit);
        Some(two(hours) && two(minutes) && in_range(hours, 24) && in_range(minutes, 60))
    };
    text == "Z" || offset(text) == Some(true)
}

/// One or two digits.
fn number(text: &str) -> Option<(u32, &str)> {
    let length = text.bytes().take(2).take_while(u8::is_ascii_digit).count();
    let (digits, rest) = text.split_at_checked(length)?;
    Some((digits.parse().ok()?, rest))
}

fn is_digit(c: char) -> bool {
    c.is_ascii_digit()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_of_the_calendar_and_times_of_the_day_are_timestamps() {
        for text in [
            "2026-01-02",
            "2026-1-2",
            "2024-02-29",
            "2026-01-01 0:00:00",
            "2026-01-01  00:00:00.25",
            "2026-01-01T00:00:00Z",
            "2026-01-01t1:2:3.5-05:00",
        ] {
            assert!(is_timestamp(text), "{text}");
        }
    }

    #[test]
    fn impossible_days_and_zones_in_the_wrong_place_are_not() {
        for text in [
            "2026-13-01",
            "2026-02-29",
            "2026-10-00",
            "26-01-02",
            "12026-01-01",
            "2026-01-01T00:00:00",
            "2026-01-01 00:00:00Z",
            "2026-01-01T24:00:00Z",
            "2026-01-01T00:00:00+01",
            "2026-01-01x",
            "2026-01",
        ] {
            assert!(!is_timestamp(text), "{text}");
        }
    }
}
