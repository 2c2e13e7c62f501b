//! Whether a text is a URL that the host operator can be asked to fetch.
//!
//! The same texts pass as with the Go provider, which uses Go's `ParseRequestURI`: a scheme with anything behind it,
//! an absolute path, or `*`; a host and a port must be well formed and percent signs must begin an escape.

use std::net::Ipv6Addr;

/// Characters that may stand in the user part as they are, beside letters and digits.
const USER_CHARACTERS: &str = "-._:~!$&'()*+,;=%@";
/// Characters that may stand in a host as they are, beside letters and digits.
const HOST_CHARACTERS: &str = "!$&'()*+,;=:[]<>\"-_.~";

/// Whether the text can be requested.
pub(super) fn is_request_uri(text: &str) -> bool {
    if text.is_empty() || text.bytes().any(|byte| byte < b' ' || byte == 0x7f) {
        return false;
    }
    if text == "*" {
        return true;
    }
    let Some((scheme, rest)) = split_scheme(text) else {
        return false;
    };
    let rest = rest.split_once('?').map_or(rest, |(path, _)| path);
    if !rest.starts_with('/') {
        return !scheme.is_empty();
    }
    match rest.strip_prefix("//").filter(|_| !scheme.is_empty()) {
        Some(rest) => {
            let (authority, path) = rest.find('/').map_or((rest, ""), |at| rest.split_at(at));
            is_authority(authority) && escapes_are_whole(path)
        }
        None => escapes_are_whole(rest),
    }
}

/// Scheme and rest; a text without a scheme has the empty one. None if the text begins with a colon.
fn split_scheme(text: &str) -> Option<(&str, &str)> {
    for (at, character) in text.char_indices() {
        match character {
            'a'..='z' | 'A'..='Z' => {}
            '0'..='9' | '+' | '-' | '.' if at > 0 => {}
            ':' if at == 0 => return None,
            ':' => return text.split_once(':'),
            _ => break,
        }
    }
    Some(("", text))
}

fn is_authority(authority: &str) -> bool {
    match authority.rsplit_once('@') {
        None => is_host(authority),
        Some((user, host)) => {
            let fits = |c: char| c.is_ascii_alphanumeric() || USER_CHARACTERS.contains(c);
            is_host(host) && user.chars().all(fits) && escapes_are_whole(user)
        }
    }
}

fn is_host(host: &str) -> bool {
    if let Some(inner) = host.strip_prefix('[') {
        return inner.rsplit_once(']').is_some_and(|(address, port)| is_bracketed(address) && is_port(port));
    }
    let (name, port) = host.find(':').map_or((host, ""), |at| host.split_at(at));
    is_port(port) && is_host_text(name)
}

/// An IPv6 address, perhaps with a zone.
fn is_bracketed(text: &str) -> bool {
    let (address, zone) = text.split_once("%25").unwrap_or((text, ""));
    address.parse::<Ipv6Addr>().is_ok() && escapes_are_whole(zone)
}

fn is_host_text(text: &str) -> bool {
    let plain =
        |c: char| !c.is_ascii() || c.is_ascii_alphanumeric() || HOST_CHARACTERS.contains(c) || c == '%';
    // A host may escape only what is no ASCII character.
    let escapes = text.match_indices('%').all(|(at, _)| {
        let digits = text.get(at + 1..at + 3).unwrap_or_default();
        digits == "25" || digits.starts_with(|c: char| c.is_ascii_hexdigit() && !('0'..='7').contains(&c))
    });
    text.chars().all(plain) && escapes && escapes_are_whole(text)
}

fn is_port(text: &str) -> bool {
    text.is_empty() || text.strip_prefix(':').is_some_and(|port| port.bytes().all(|b| b.is_ascii_digit()))
}

fn escapes_are_whole(text: &str) -> bool {
    text.match_indices('%').all(|(at, _)| {
        let digits = text.get(at + 1..at + 3).unwrap_or_default();
        digits.len() == 2 && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_be_requested_passes() {
        for text in [
            "http://x/i.qcow2",
            "HTTP://X/I",
            "file:///x",
            "/images/i",
            "//x/y",
            "*",
            "mailto:a@b",
            "oci://r/i:1",
            "http://[::1]:80/i",
            "http://[fe80::1%25eth0]/",
            "http://u:p@h/",
            "http://x/a b",
            "http://x/i#f",
            "http://x?q=%zz",
            "http://x:",
            "http://h%c3%a4/",
            "a+b-c.d:e",
        ] {
            assert!(is_request_uri(text), "{text}");
        }
    }

    #[test]
    fn what_cannot_be_requested_does_not() {
        for text in [
            "",
            "i.qcow2",
            "rel/x",
            ":x",
            "1:x",
            "http://:invalid",
            "http://x:port/i",
            "http://a b/",
            "http://u v@h/",
            "http://x/%zz",
            "http://x/%2",
            "http://[::1/i",
            "http://[x]/",
            "http://x/\u{7f}",
            "http://x\n/",
            "http://a:1:2/",
            "http://h%41/",
            "http://h\\x/",
        ] {
            assert!(!is_request_uri(text), "{text}");
        }
    }
}
