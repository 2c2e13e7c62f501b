//! The formats Kubernetes checks: takes a name and a value, gives whether it fits. Unknown formats always fit.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use base64::{Engine, prelude::BASE64_STANDARD};

/// A format the server checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Int32,
    Int64,
    DateTime,
    Date,
    Duration,
    Ipv4,
    Ipv6,
    Cidr,
    Mac,
    Uri,
    Uuid,
    Hostname,
    Email,
    Byte,
}

const NAMES: [(&str, Format); 15] = [
    ("int32", Format::Int32),
    ("int64", Format::Int64),
    ("date-time", Format::DateTime),
    ("datetime", Format::DateTime),
    ("date", Format::Date),
    ("duration", Format::Duration),
    ("ipv4", Format::Ipv4),
    ("ipv6", Format::Ipv6),
    ("cidr", Format::Cidr),
    ("mac", Format::Mac),
    ("uri", Format::Uri),
    ("uuid", Format::Uuid),
    ("hostname", Format::Hostname),
    ("email", Format::Email),
    ("byte", Format::Byte),
];

impl Format {
    pub(super) fn named(name: &str) -> Option<Self> {
        NAMES.iter().find(|(it, _)| *it == name).map(|(_, format)| *format)
    }

    pub(super) fn name(self) -> &'static str {
        NAMES.iter().find(|(_, it)| *it == self).map_or("", |(name, _)| name)
    }

    /// Whether a string fits; the number formats say nothing about strings.
    pub(super) fn fits_text(self, text: &str) -> bool {
        match self {
            Self::Int32 | Self::Int64 => true,
            Self::DateTime => date_time(text),
            Self::Date => text.len() == 10 && text.parse::<jiff::civil::Date>().is_ok(),
            Self::Duration => duration(text),
            Self::Ipv4 => text.parse::<Ipv4Addr>().is_ok(),
            Self::Ipv6 => text.parse::<Ipv6Addr>().is_ok(),
            Self::Cidr => cidr(text),
            Self::Mac => mac(text),
            Self::Uri => uri(text),
            Self::Uuid => uuid(text),
            Self::Hostname => text.len() <= 255 && text.trim_end_matches('.').split('.').all(host_label),
            Self::Email => text
                .split_once('@')
                .is_some_and(|(user, host)| !user.is_empty() && host.split('.').all(host_label)),
            Self::Byte => BASE64_STANDARD.decode(text).is_ok(),
        }
    }

    /// Whether an integer fits; the text formats say nothing about numbers.
    pub(super) fn fits_integer(self, number: f64) -> bool {
        match self {
            Self::Int32 => (f64::from(i32::MIN)..=f64::from(i32::MAX)).contains(&number),
            _ => true,
        }
    }
}

fn date_time(text: &str) -> bool {
    let separated = text.as_bytes().get(10).is_some_and(|byte| matches!(byte, b'T' | b't'));
    let zoned = text.ends_with(['Z', 'z'])
        || text.get(text.len().saturating_sub(6)..).is_some_and(|tail| tail.starts_with(['+', '-']));
    separated && zoned && text.parse::<jiff::Timestamp>().is_ok()
}

/// Go's notation, such as `1h30m` or `1.5s`; a bare number has no unit and is refused, `0` is not.
fn duration(text: &str) -> bool {
    let mut rest = text.trim_start_matches(['+', '-']);
    if rest == "0" {
        return true;
    }
    while !rest.is_empty() {
        let digits = rest.len() - rest.trim_start_matches(|it: char| it.is_ascii_digit() || it == '.').len();
        let (number, tail) = rest.split_at(digits);
        let unit =
            ["ns", "us", "µs", "ms", "h", "m", "s"].into_iter().find_map(|unit| tail.strip_prefix(unit));
        match unit {
            Some(tail) if number.parse::<f64>().is_ok() => rest = tail,
            _ => return false,
        }
    }
    !text.is_empty()
}

fn cidr(text: &str) -> bool {
    let Some((address, bits)) = text.split_once('/') else {
        return false;
    };
    let plain = !bits.is_empty() && bits.bytes().all(|byte| byte.is_ascii_digit());
    match (address.parse::<IpAddr>(), bits.parse::<u8>()) {
        (Ok(IpAddr::V4(_)), Ok(bits)) => plain && bits <= 32,
        (Ok(IpAddr::V6(_)), Ok(bits)) => plain && bits <= 128,
        _ => false,
    }
}

fn mac(text: &str) -> bool {
    let separator = if text.contains(':') { ':' } else { '-' };
    let groups: Vec<&str> = text.split(separator).collect();
    let pair = |group: &&str| group.len() == 2 && group.bytes().all(|byte| byte.is_ascii_hexdigit());
    matches!(groups.len(), 6 | 8 | 20) && groups.iter().all(pair)
}

/// What Go's `url.ParseRequestURI` takes: an absolute path, `*`, or a scheme and anything without broken escapes.
fn uri(text: &str) -> bool {
    if text.is_empty() || text.bytes().any(|byte| byte.is_ascii_control()) || !escapes_are_whole(text) {
        return false;
    }
    if text.starts_with('/') || text == "*" {
        return true;
    }
    let Some((scheme, rest)) = text.split_once(':') else {
        return false;
    };
    let letter = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
    let named = scheme.starts_with(|first: char| first.is_ascii_alphabetic()) && scheme.bytes().all(letter);
    named && rest.strip_prefix("//").is_none_or(authority)
}

fn authority(rest: &str) -> bool {
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    if host.contains([' ', '<', '>', '"', '\\', '^', '`', '{', '|', '}']) {
        return false;
    }
    let port = match host.rsplit_once(']') {
        Some((_, tail)) => tail.strip_prefix(':'),
        None if host.starts_with('[') => return false,
        None => host.split_once(':').map(|(_, port)| port),
    };
    port.is_none_or(|port| port.bytes().all(|byte| byte.is_ascii_digit()))
}

fn escapes_are_whole(text: &str) -> bool {
    let hex = |tail: &str| tail.bytes().take(2).filter(u8::is_ascii_hexdigit).count() == 2;
    text.split('%').skip(1).all(hex)
}

fn uuid(text: &str) -> bool {
    let lengths: Vec<usize> = text.split('-').map(str::len).collect();
    matches!(lengths.as_slice(), [8, 4, 4, 4, 12] | [32])
        && text.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
}

fn host_label(label: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    (1..=63).contains(&label.len())
        && label.bytes().all(inner)
        && !label.starts_with('-')
        && !label.ends_with('-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_format_takes_the_good_and_refuses_the_bad() {
        let table: [(&str, &[&str], &[&str]); 12] = [
            (
                "date-time",
                &["2026-01-02T03:04:05Z", "2026-01-02T03:04:05.123+02:00"],
                &["2026-01-02", "now", "2026-13-02T03:04:05Z", "2026-01-02T03:04:05"],
            ),
            ("date", &["2026-01-02"], &["2026-02-30", "02.01.2026"]),
            ("duration", &["1h30m", "1.5s", "0", "10ms"], &["", "1", "h", "1d"]),
            ("ipv4", &["10.0.0.1"], &["10.0.0", "::1", "10.0.0.256"]),
            ("ipv6", &["::1", "2001:db8::1"], &["10.0.0.1", ":"]),
            ("cidr", &["10.0.0.0/8", "2001:db8::/64"], &["10.0.0.0", "10.0.0.0/33", "10.0.0.0/+8"]),
            ("mac", &["00:11:22:33:44:55", "00-11-22-33-44-55"], &["00:11:22:33:44", "zz:11:22:33:44:55"]),
            (
                "uri",
                &["http://a.b/c", "/path", "*", "urn:x:y", "redfish+https://[::1]:8000/x", "http://h/%20"],
                &["", "a/b", "http://h/%zz", "http://a b/", "http://h:x/"],
            ),
            ("uuid", &["5f2b3a1c-0000-4000-8000-000000000000"], &["5f2b3a1c", "x"]),
            ("hostname", &["a.example"], &["-a", "a..b"]),
            ("email", &["a@b.c"], &["a", "@b"]),
            ("byte", &["aGk="], &["***"]),
        ];
        for (name, good, bad) in table {
            let format = Format::named(name).unwrap();
            for text in good {
                assert!(format.fits_text(text), "{name} {text}");
            }
            for text in bad {
                assert!(!format.fits_text(text), "{name} {text}");
            }
        }
    }

    #[test]
    fn int32_has_limits_and_unknown_formats_have_none() {
        assert!(Format::Int32.fits_integer(2_147_483_647.0));
        assert!(!Format::Int32.fits_integer(2_147_483_648.0));
        assert_eq!(Format::named("password"), None);
    }
}
