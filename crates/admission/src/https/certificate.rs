//! The certificate that is served: read from PEM, checked, and replaced while the server runs.

use std::{fmt, sync::Arc};

use parking_lot::RwLock;
use rcgen::{CertificateParams, KeyPair};
use rustls::{
    pki_types::{CertificateDer, PrivateKeyDer, pem, pem::PemObject},
    server::{ClientHello, ResolvesServerCert},
    sign::CertifiedKey,
};
use thiserror::Error;
use x509_parser::prelude::{FromDer, X509Certificate};

/// Why a certificate and a key cannot be served. The texts never quote the key.
#[derive(Debug, Error)]
pub enum PairError {
    /// The certificate is no PEM.
    #[error("the certificate cannot be read: {0}")]
    Certificate(#[source] pem::Error),
    /// There is no certificate.
    #[error("there is no certificate: expected a block BEGIN CERTIFICATE")]
    NoCertificate,
    /// The key is no PEM.
    #[error("the private key cannot be read: expected a block BEGIN PRIVATE KEY")]
    Key,
    /// The key is of a kind that is not supported, or of another certificate.
    #[error("certificate and private key cannot be used together: {0}")]
    Mismatch(#[source] rustls::Error),
}

/// A certificate chain and its private key, both PEM, as TLS needs them.
///
/// # Errors
/// If one of them cannot be read, or they do not belong together.
pub fn certified(certificate: &[u8], key: &[u8]) -> Result<CertifiedKey, PairError> {
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(certificate).collect();
    let chain = chain.map_err(PairError::Certificate)?;
    if chain.is_empty() {
        return Err(PairError::NoCertificate);
    }
    // The cause may quote what stands in the file.
    let key = PrivateKeyDer::from_pem_slice(key).map_err(|_| PairError::Key)?;
    let key = rustls::crypto::ring::sign::any_supported_type(&key).map_err(PairError::Mismatch)?;
    let certified = CertifiedKey::new(chain, key);
    certified.keys_match().map_err(PairError::Mismatch)?;
    Ok(certified)
}

/// A new certificate for this name that only itself vouches for: for clients that do not ask who answers.
///
/// # Errors
/// If there is no randomness.
pub fn self_signed(name: &str) -> Result<CertifiedKey, SelfSignedError> {
    let key = KeyPair::generate()?;
    let certificate = CertificateParams::new([name.to_owned()])?.self_signed(&key)?;
    Ok(certified(certificate.pem().as_bytes(), key.serialize_pem().as_bytes())?)
}

/// Why there is no such certificate.
#[derive(Debug, Error)]
pub enum SelfSignedError {
    /// It cannot be made.
    #[error("a certificate cannot be made: {0}")]
    Issue(#[from] rcgen::Error),
    /// It cannot be used.
    #[error(transparent)]
    Pair(#[from] PairError),
}

/// The certificate for the next connection; without one no handshake succeeds. Clones share it.
#[derive(Clone, Default)]
pub struct Served(Arc<RwLock<Option<Arc<CertifiedKey>>>>);

impl Served {
    /// Serves this certificate.
    pub fn new(certified: CertifiedKey) -> Self {
        Self(Arc::new(RwLock::new(Some(Arc::new(certified)))))
    }

    /// Serves another certificate from the next connection on; open ones keep theirs.
    pub fn replace(&self, certified: CertifiedKey) {
        *self.0.write() = Some(Arc::new(certified));
    }

    /// Whether there is one.
    pub fn has_certificate(&self) -> bool {
        self.0.read().is_some()
    }

    /// Until when it is valid, in seconds since 1970; none without a certificate.
    pub fn not_after(&self) -> Option<i64> {
        let certified = self.0.read().clone()?;
        let (_, certificate) = X509Certificate::from_der(certified.end_entity_cert().ok()?).ok()?;
        Some(certificate.validity().not_after.timestamp())
    }
}

impl fmt::Debug for Served {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Served(secret)")
    }
}

impl ResolvesServerCert for Served {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        self.0.read().clone()
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A self-signed certificate and its key, PEM.
    pub(in crate::https) fn pair(name: &str) -> (String, String) {
        let key = KeyPair::generate().unwrap();
        let certificate = CertificateParams::new([name.to_owned()]).unwrap().self_signed(&key).unwrap();
        (certificate.pem(), key.serialize_pem())
    }

    #[test]
    fn the_expiry_of_the_certificate_is_reported() {
        let served = Served::default();
        assert_eq!(served.not_after(), None);
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(["a".to_owned()]).unwrap();
        params.not_after = rcgen::date_time_ymd(2030, 1, 2);
        let certificate = params.self_signed(&key).unwrap();
        served.replace(certified(certificate.pem().as_bytes(), key.serialize_pem().as_bytes()).unwrap());
        assert_eq!(served.not_after(), Some(1_893_542_400));
        served.replace(self_signed("b").unwrap());
        assert!(served.not_after() > Some(1_893_542_400), "nobody renews it");
    }

    #[test]
    fn only_a_key_and_its_certificate_are_taken() {
        let ((certificate, key), (_, other)) = (pair("a"), pair("b"));
        let both = format!("{key}\n{certificate}");
        let broken = certificate.replace("MII", "!!!");
        let table = [
            (certificate.as_str(), key.as_str(), ""),
            (&both, &both, ""),
            ("", &key, "there is no certificate"),
            (&key, &key, "there is no certificate"),
            (&broken, &key, "the certificate cannot be read"),
            (&certificate, "", "the private key cannot be read"),
            (&certificate, &certificate, "the private key cannot be read"),
            (&certificate, &other, "certificate and private key cannot be used together"),
        ];
        for (certificate, key, expected) in table {
            let message =
                certified(certificate.as_bytes(), key.as_bytes()).err().map(|error| error.to_string());
            let message = message.unwrap_or_default();
            assert!(message.starts_with(expected) && message.is_empty() == expected.is_empty(), "{message}");
            assert!(!message.contains("MI"), "{message}");
        }
    }
}
