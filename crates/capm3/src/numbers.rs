//! Numbers as values of flags, with errors that say what a flag takes.

use std::str::FromStr;

/// A whole number.
pub fn whole<T: FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| "expected a whole number, such as 3".to_owned())
}

/// A whole number of a type that has no zero.
pub fn positive<T: FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| "expected a whole number above 0, such as 10".to_owned())
}

/// A number that may have a fraction.
pub fn fraction(text: &str) -> Result<f64, String> {
    text.parse().map_err(|_| "expected a number above 0, such as 2 or 0.5".to_owned())
}

/// A rate, of which 0 stands for none.
pub fn rate(text: &str) -> Result<f64, String> {
    let rate = text.parse().ok().filter(|rate: &f64| rate.is_finite());
    rate.ok_or_else(|| "expected a number, such as 20; 0 means no limit".to_owned())
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroUsize;

    use super::*;

    #[test]
    fn a_wrong_number_is_answered_with_what_is_expected() {
        assert_eq!(whole::<usize>("3"), Ok(3));
        for text in ["", "x", "-1", "1.5"] {
            assert_eq!(whole::<usize>(text), Err("expected a whole number, such as 3".to_owned()), "{text}");
        }
        assert_eq!(positive::<NonZeroUsize>("10"), Ok(NonZeroUsize::new(10).unwrap()));
        assert!(positive::<NonZeroUsize>("0").is_err());
        assert_eq!((rate("20"), rate("0.5")), (Ok(20.0), Ok(0.5)));
        assert!(rate("inf").is_err() && rate("fast").is_err());
        assert!(fraction("0.5").is_ok());
        assert!(fraction("fast").is_err());
    }
}
