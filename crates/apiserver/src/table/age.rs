//! Takes instants, gives how long ago they were, as short as people like it: `90s`, `5m30s`, `3h`, `12d`.

use jiff::Timestamp;

/// How long ago `text` (RFC 3339) was.
pub(super) fn since(text: &str, now: Timestamp) -> String {
    if text.is_empty() {
        return "<unknown>".to_owned();
    }
    text.parse::<Timestamp>()
        .map_or_else(|_| "<invalid>".to_owned(), |then| human(now.as_second() - then.as_second()))
}

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;
const YEAR: i64 = 365 * DAY;

/// Two units while the number is small, one when the second no longer matters.
fn human(seconds: i64) -> String {
    let whole = |unit: i64, name: &str| format!("{}{name}", seconds / unit);
    match seconds {
        i64::MIN..-1 => "<invalid>".to_owned(),
        -1..0 => "0s".to_owned(),
        0..120 => whole(1, "s"),
        120..600 => two(seconds, (MINUTE, "m"), (1, "s")),
        600..10_800 => whole(MINUTE, "m"),
        10_800..28_800 => two(seconds, (HOUR, "h"), (MINUTE, "m")),
        28_800..172_800 => whole(HOUR, "h"),
        172_800..691_200 => two(seconds, (DAY, "d"), (HOUR, "h")),
        691_200..63_072_000 => whole(DAY, "d"),
        63_072_000..252_288_000 => two(seconds, (YEAR, "y"), (DAY, "d")),
        252_288_000.. => whole(YEAR, "y"),
    }
}

fn two(seconds: i64, large: (i64, &str), small: (i64, &str)) -> String {
    let (first, second) = (seconds / large.0, seconds % large.0 / small.0);
    if second == 0 { format!("{first}{}", large.1) } else { format!("{first}{}{second}{}", large.1, small.1) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_read_as_kubectl_shows_them() {
        let table = [
            (-5, "<invalid>"),
            (-1, "0s"),
            (0, "0s"),
            (119, "119s"),
            (120, "2m"),
            (135, "2m15s"),
            (600, "10m"),
            (3 * HOUR - 1, "179m"),
            (3 * HOUR, "3h"),
            (3 * HOUR + 61, "3h1m"),
            (8 * HOUR, "8h"),
            (2 * DAY, "2d"),
            (2 * DAY + HOUR, "2d1h"),
            (8 * DAY, "8d"),
            (2 * YEAR, "2y"),
            (2 * YEAR + 3 * DAY, "2y3d"),
            (9 * YEAR, "9y"),
        ];
        for (seconds, text) in table {
            assert_eq!(human(seconds), text, "{seconds}");
        }
    }
}
