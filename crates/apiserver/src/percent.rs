//! Takes percent-encoded text of a URL, gives plain text; malformed escapes stay as they are.

/// Decodes `%41` and, in queries, `+`.
pub(crate) fn decode(text: &str, plus_is_space: bool) -> String {
    if !text.bytes().any(|byte| byte == b'%' || byte == b'+') {
        return text.to_owned();
    }
    let mut bytes = text.bytes();
    let mut decoded = Vec::with_capacity(text.len());
    while let Some(byte) = bytes.next() {
        match byte {
            b'+' if plus_is_space => decoded.push(b' '),
            b'%' => {
                let mut ahead = bytes.clone();
                match (ahead.next().and_then(hex), ahead.next().and_then(hex)) {
                    (Some(high), Some(low)) => {
                        decoded.push(high * 16 + low);
                        bytes = ahead;
                    }
                    _ => decoded.push(b'%'),
                }
            }
            other => decoded.push(other),
        }
    }
    String::from_utf8_lossy(&decoded).into_owned()
}

fn hex(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
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
