//! Takes percent-encoded text of a URL, gives plain text; malformed escapes stay as they are.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;

/// Decodes `%41` and, in queries, `+`.
pub(crate) fn decode(text: &str, plus_is_space: bool) -> String {
    let spaced =
        if plus_is_space && text.contains('+') { text.replace('+', " ").into() } else { Cow::Borrowed(text) };
    percent_decode_str(&spaced).decode_utf8_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::decode;

    #[test]
    fn escapes_are_decoded_and_broken_ones_are_kept() {
        let table = [
            ("a%3Db", true, "a=b"),
            ("a+b", true, "a b"),
            ("a+b", false, "a+b"),
            ("%4", true, "%4"),
            ("%zz", true, "%zz"),
        ];
        for (text, plus, plain) in table {
            assert_eq!(decode(text, plus), plain);
        }
    }
}
