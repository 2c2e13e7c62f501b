//! Values of flags as Go's flag packages take them, so that the arguments of an existing Deployment are taken unchanged.

use std::{fmt, io, net::Ipv4Addr, net::Ipv6Addr, net::SocketAddr, time::Duration};

use capm3_api::conversion::duration::nanoseconds;
use tokio::net::TcpListener;

/// A flag of the Go manager that was set and does nothing here, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WithoutEffect {
    /// The flag, with its dashes.
    pub flag: &'static str,
    /// Why, or what does it instead.
    pub why: &'static str,
}

/// The flags of a list that were set.
pub fn without_effect(
    flags: impl IntoIterator<Item = (bool, &'static str, &'static str)>,
) -> Vec<WithoutEffect> {
    let set = flags.into_iter().filter(|(is_set, ..)| *is_set);
    set.map(|(_, flag, why)| WithoutEffect { flag, why }).collect()
}

/// Where a server listens, as `host:port`; without a host on every interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListenAddress {
    host: String,
    port: u16,
}

impl ListenAddress {
    /// Listens there.
    pub async fn bind(&self) -> io::Result<TcpListener> {
        if !self.host.is_empty() {
            return TcpListener::bind((self.host.as_str(), self.port)).await;
        }
        // The first serves IPv4 too; the second is for machines without IPv6.
        let every: [SocketAddr; 2] =
            [(Ipv6Addr::UNSPECIFIED, self.port).into(), (Ipv4Addr::UNSPECIFIED, self.port).into()];
        TcpListener::bind(every.as_slice()).await
    }
}

impl fmt::Display for ListenAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host.contains(':') {
            true => write!(f, "[{}]:{}", self.host, self.port),
            false => write!(f, "{}:{}", self.host, self.port),
        }
    }
}

/// An address such as `:9440`, `127.0.0.1:9440` or `[::1]:9440`.
pub fn listen_address(text: &str) -> Result<ListenAddress, String> {
    let wrong = || format!("'{text}' is not an address; use HOST:PORT, such as 127.0.0.1:9440, or :9440");
    let (host, port) = text.rsplit_once(':').ok_or_else(wrong)?;
    let inner = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    if inner.is_none() && host.contains(':') {
        return Err(wrong());
    }
    let port = port.parse().map_err(|_| wrong())?;
    Ok(ListenAddress { host: inner.unwrap_or(host).to_owned(), port })
}

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
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Every duration reads back from Go's own way of writing it.
        #[test]
        fn a_duration_reads_back_from_its_parts(h in 0_u64..10_000, m in 0_u64..60, s in 0_u64..60, ms in 0_u64..1000) {
            let expected = Duration::from_millis(((h * 60 + m) * 60 + s) * 1000 + ms);
            prop_assert_eq!(duration(&format!("{h}h{m}m{s}s{ms}ms")), Ok(expected));
            prop_assert_eq!(duration(&format!("{h}h{m}m{s}.{ms:03}s")), Ok(expected));
        }

        /// Whatever is given, the answer is a duration or says what is expected.
        #[test]
        fn any_text_is_a_duration_or_refused_with_an_example(text in ".{0,20}") {
            if let Err(message) = duration(&text) {
                prop_assert!(message.contains("such as 15s"), "{}", message);
            }
        }
    }

    #[test]
    fn addresses_are_those_of_go() {
        for text in [":9440", "127.0.0.1:0", "localhost:80", "[::1]:9440"] {
            assert_eq!(listen_address(text).unwrap().to_string(), text);
        }
        for text in ["", "9440", "::1:9440", "host:", "host:http", "host:70000"] {
            assert!(listen_address(text).unwrap_err().contains("such as 127.0.0.1:9440"), "{text}");
        }
    }

    #[tokio::test]
    async fn without_a_host_every_interface_is_listened_on() {
        let address = listen_address(":0").unwrap().bind().await.unwrap().local_addr().unwrap();
        assert!(address.ip().is_unspecified(), "{address}");
        let loopback = listen_address("127.0.0.1:0").unwrap().bind().await.unwrap().local_addr().unwrap();
        assert!(loopback.ip().is_loopback(), "{loopback}");
    }

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
