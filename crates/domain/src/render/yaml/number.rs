//! Numbers as Go programs write them.

use serde_json::Number;

pub(super) fn text(number: &Number) -> String {
    match number.as_f64() {
        Some(float) if number.is_f64() => float_text(float),
        _ => number.to_string(),
    }
}

/// Shortest form; with an exponent of a sign and at least two digits for large and small numbers.
fn float_text(float: f64) -> String {
    let scientific = format!("{float:e}");
    let parts = scientific
        .split_once('e')
        .and_then(|(digits, exponent)| Some((digits, exponent.parse::<i32>().ok()?)));
    match parts {
        Some((digits, exponent)) if !(-4..6).contains(&exponent) => {
            let sign = if exponent < 0 { '-' } else { '+' };
            format!("{digits}e{sign}{:02}", exponent.unsigned_abs())
        }
        _ => format!("{float}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_have_the_shortest_form() {
        for (float, expected) in [
            (1.5, "1.5"),
            (-0.5, "-0.5"),
            (3.0, "3"),
            (1e21, "1e+21"),
            (1e-7, "1e-07"),
            (0.0001, "0.0001"),
            (0.000_01, "1e-05"),
            (1_234_567.5, "1.2345675e+06"),
            (1e300, "1e+300"),
        ] {
            assert_eq!(float_text(float), expected);
        }
    }

    #[test]
    fn whole_numbers_keep_all_their_digits() {
        assert_eq!(text(&Number::from(9_007_199_254_740_993_i64)), "9007199254740993");
        assert_eq!(text(&Number::from(u64::MAX)), "18446744073709551615");
    }
}
