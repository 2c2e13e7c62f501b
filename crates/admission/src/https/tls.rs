//! TLS of a server, chosen by the names that Go has for versions and cipher suites.

use std::sync::Arc;

use rustls::{
    CipherSuite, ServerConfig, SupportedCipherSuite, SupportedProtocolVersion,
    version::{TLS12, TLS13},
};
use thiserror::Error;

use super::certificate::Served;

/// Versions by Go's names. The first two are too old for this server, which then begins at TLS 1.2.
const VERSIONS: [&str; 4] = ["VersionTLS10", "VersionTLS11", "VersionTLS12", "VersionTLS13"];

/// Cipher suites that can be chosen, by Go's names. Those of TLS 1.3 cannot be left out, in Go neither.
const SUITES: [(&str, CipherSuite); 9] = [
    ("TLS_AES_128_GCM_SHA256", CipherSuite::TLS13_AES_128_GCM_SHA256),
    ("TLS_AES_256_GCM_SHA384", CipherSuite::TLS13_AES_256_GCM_SHA384),
    ("TLS_CHACHA20_POLY1305_SHA256", CipherSuite::TLS13_CHACHA20_POLY1305_SHA256),
    ("TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256),
    ("TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384", CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384),
    (
        "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
        CipherSuite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
    ),
    ("TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256),
    ("TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384", CipherSuite::TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384),
    ("TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256", CipherSuite::TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256),
];

/// Names that Go knows too, of suites that rustls leaves out because they are weak.
const WEAK: [&str; 15] = [
    "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA",
    "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256",
    "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA",
    "TLS_ECDHE_ECDSA_WITH_RC4_128_SHA",
    "TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA",
    "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA",
    "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256",
    "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA",
    "TLS_ECDHE_RSA_WITH_RC4_128_SHA",
    "TLS_RSA_WITH_3DES_EDE_CBC_SHA",
    "TLS_RSA_WITH_AES_128_CBC_SHA",
    "TLS_RSA_WITH_AES_128_GCM_SHA256",
    "TLS_RSA_WITH_AES_256_CBC_SHA",
    "TLS_RSA_WITH_AES_256_GCM_SHA384",
    "TLS_RSA_WITH_RC4_128_SHA",
];

/// A name that Go does not know.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("'{name}' cannot be used: use one of {known}")]
pub struct UnknownName {
    name: String,
    known: String,
}

/// Why there is no TLS with these options.
#[derive(Debug, Error)]
#[error("TLS cannot be set up: {0}")]
pub struct TlsError(#[from] rustls::Error);

/// The lowest version and the cipher suites that are offered.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TlsOptions {
    only_tls13: bool,
    /// Suites of TLS 1.2; none means all.
    suites: Vec<CipherSuite>,
    /// What was asked for and is not offered, for the log.
    not_offered: Vec<String>,
}

impl TlsOptions {
    /// Reads a version such as `VersionTLS12` and names of cipher suites; no suites means all that are safe.
    ///
    /// # Errors
    /// A name that Go does not know either, or suites of which none is supported.
    pub fn by_names(version: &str, suites: &[String]) -> Result<Self, UnknownName> {
        if !VERSIONS.contains(&version) {
            return Err(unknown(version, &VERSIONS));
        }
        let is_too_old = ["VersionTLS10", "VersionTLS11"].contains(&version);
        let mut options = Self {
            only_tls13: version == "VersionTLS13",
            suites: Vec::new(),
            not_offered: is_too_old.then(|| version.to_owned()).into_iter().collect(),
        };
        for name in suites {
            match by_name(name) {
                Some(suite) => options.suites.push(suite),
                None if WEAK.contains(&name.as_str()) => options.not_offered.push(name.clone()),
                None => return Err(unknown(name, &SUITES.map(|(name, _)| name))),
            }
        }
        match suites.first() {
            Some(name) if options.suites.is_empty() => Err(unknown(name, &SUITES.map(|(name, _)| name))),
            _ => Ok(options),
        }
    }

    /// What was asked for and is not offered, because it is not safe.
    pub fn not_offered(&self) -> &[String] {
        &self.not_offered
    }

    /// The configuration of a server with this certificate.
    ///
    /// # Errors
    /// If no version and suite is left.
    pub fn server(&self, served: Served) -> Result<ServerConfig, TlsError> {
        let mut provider = rustls::crypto::ring::default_provider();
        if !self.suites.is_empty() {
            let is_13 = |it: &SupportedCipherSuite| it.version() == &TLS13;
            provider.cipher_suites.retain(|it| is_13(it) || self.suites.contains(&it.suite()));
        }
        let both: &[&SupportedProtocolVersion] = &[&TLS13, &TLS12];
        let versions = if self.only_tls13 { &[&TLS13] } else { both };
        let mut config = ServerConfig::builder_with_provider(Arc::new(provider))
            .with_protocol_versions(versions)?
            .with_no_client_auth()
            .with_cert_resolver(Arc::new(served));
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(config)
    }
}

/// Kubernetes also takes the older names of two suites.
fn by_name(name: &str) -> Option<CipherSuite> {
    let same =
        |full: &str| full == name || full.strip_suffix("_SHA256") == Some(name) && name.ends_with("POLY1305");
    SUITES.iter().find(|(full, _)| same(full)).map(|(_, suite)| *suite)
}

fn unknown(name: &str, known: &[&str]) -> UnknownName {
    UnknownName { name: name.to_owned(), known: known.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::{super::certificate::tests::pair, *};

    fn offered(version: &str, suites: &[&str]) -> Result<(Vec<CipherSuite>, Vec<String>), String> {
        let suites: Vec<String> = suites.iter().map(|&name| name.to_owned()).collect();
        let options = TlsOptions::by_names(version, &suites).map_err(|error| error.to_string())?;
        let (certificate, key) = pair("a");
        let served = Served::new(super::super::certified(certificate.as_bytes(), key.as_bytes()).unwrap());
        let config = options.server(served).map_err(|error| error.to_string())?;
        let suites = config.crypto_provider().cipher_suites.iter().map(SupportedCipherSuite::suite).collect();
        Ok((suites, options.not_offered().to_vec()))
    }

    #[test]
    fn names_of_go_choose_suites_and_those_of_tls_13_stay() {
        let (all, not_offered) = offered("VersionTLS12", &[]).unwrap();
        assert_eq!((all.len(), not_offered.len()), (9, 0));
        for (name, suite) in SUITES {
            assert!(all.contains(&suite), "{name}");
        }
        let chosen = ["TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305", "TLS_RSA_WITH_AES_128_CBC_SHA"];
        let (suites, not_offered) = offered("VersionTLS10", &chosen).unwrap();
        assert_eq!(suites.len(), 4);
        assert!(suites.contains(&CipherSuite::TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256));
        assert_eq!(not_offered, ["VersionTLS10", "TLS_RSA_WITH_AES_128_CBC_SHA"]);
    }

    #[test]
    fn a_name_that_go_does_not_know_is_refused_with_those_that_can_be_used() {
        for (version, suites, name) in [
            ("TLS12", &[] as &[&str], "'TLS12' cannot be used: use one of VersionTLS10, "),
            ("", &[], "'' cannot be used: use one of VersionTLS10, "),
            ("VersionTLS13", &["AES"], "'AES' cannot be used: use one of TLS_AES_128_GCM_SHA256, "),
            ("VersionTLS12", &["TLS_AES_128_GCM"], "'TLS_AES_128_GCM' cannot be used: "),
            ("VersionTLS12", &["TLS_RSA_WITH_RC4_128_SHA"], "'TLS_RSA_WITH_RC4_128_SHA' cannot be used: "),
        ] {
            let message = offered(version, suites).unwrap_err();
            assert!(message.starts_with(name), "{message}");
        }
    }
}
