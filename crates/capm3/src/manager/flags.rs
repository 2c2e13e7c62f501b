//! Values of flags as Go's flag packages take them, so that the arguments of an existing Deployment are taken unchanged.

use std::time::Duration;

use capm3_api::conversion::duration::nanoseconds;

/// A duration such as `15s`, `1h2m3s` or `500ms`; not a negative one.
pub fn duration(text: &str) -> Result<Duration, String> {
    let nanoseconds = nanoseconds(text).and_then(|it| u64::try_from(it).ok());
    let wrong = || format!("'{text}' is not a duration; use numbers with units, such as 15s or 1m30s");
    nanoseconds.map(Duration::from_nanos).ok_or_else(wrong)
}

/// A truth value in any of Go's spellings.
pub fn boolean(text: &str) -> Result<bool, String> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(false),
        _ => Err(format!("'{text}' is neither true nor false")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_those_of_go() {
        for (text, milliseconds) in [
            ("15s", 15_000),
            ("1h2m3s", 3_723_000),
            ("500ms", 500),
            ("1.5m", 90_000),
            ("0", 0),
            ("+2s", 2000),
        ] {
            assert_eq!(duration(text), Ok(Duration::from_millis(milliseconds)), "{text}");
        }
        for text in ["", "15", "s", "-15s", "15 s", "1d", "99999999999h"] {
            assert!(duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn truth_has_the_spellings_of_go() {
        for text in ["1", "t", "T", "true", "TRUE", "True"] {
            assert_eq!(boolean(text), Ok(true), "{text}");
        }
        for text in ["0", "f", "F", "false", "FALSE", "False"] {
            assert_eq!(boolean(text), Ok(false), "{text}");
        }
        for text in ["", "yes", "tRUE", "2"] {
            assert!(boolean(text).is_err(), "{text}");
        }
    }
}
