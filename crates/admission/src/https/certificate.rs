//! The certificate that is served: read from PEM, checked, and replaced while the server runs.

use std::{fmt, sync::Arc};

use parking_lot::RwLock;
use rustls::{
    pki_types::{CertificateDer, PrivateKeyDer, pem, pem::PemObject},
    server::{ClientHello, ResolvesServerCert},
    sign::CertifiedKey,
};
use thiserror::Error;

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
    use rcgen::{CertificateParams, KeyPair};

    use super::*;

    /// A self-signed certificate and its key, PEM.
    pub(in crate::https) fn pair(name: &str) -> (String, String) {
        let key = KeyPair::generate().unwrap();
        let certificate = CertificateParams::new([name.to_owned()]).unwrap().self_signed(&key).unwrap();
        (certificate.pem(), key.serialize_pem())
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
            let said = certified(certificate.as_bytes(), key.as_bytes()).err().map(|error| error.to_string());
            let said = said.unwrap_or_default();
            assert!(said.starts_with(expected) && said.is_empty() == expected.is_empty(), "{said}");
            assert!(!said.contains("MI"), "{said}");
        }
    }
}
