//! Who the server is and whom it trusts: takes randomness, gives an authority, a server certificate, a client
//! certificate, a token, and the texts that hand them to clients. Keeps everything in memory.

use std::{net::IpAddr, sync::Arc};

use base64::{Engine, prelude::BASE64_STANDARD};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose,
};
use rustls::{
    RootCertStore, ServerConfig,
    crypto::CryptoProvider,
    pki_types::{CertificateDer, PrivateKeyDer},
    server::WebPkiClientVerifier,
};

use crate::user;

/// Names the server certificate is good for, beside the address at which it listens.
const SERVER_NAMES: [&str; 3] = ["localhost", "127.0.0.1", "::1"];
const TOKEN_BYTES: usize = 32;

/// What clients need to know the server and to be let in.
pub(super) struct Identity {
    authority: String,
    client_certificate: String,
    client_key: String,
    pub(super) token: String,
}

impl std::fmt::Debug for Identity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Identity(secret)")
    }
}

type Authority = CertifiedIssuer<'static, KeyPair>;

impl Identity {
    /// Makes new keys and certificates for a server at this address, and what the TLS side of the listener needs of them.
    pub(super) fn generate(address: IpAddr) -> Result<(Self, ServerConfig), String> {
        let text = |error: rcgen::Error| error.to_string();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let authority = authority().map_err(text)?;
        let (certificate, key) = server_certificate(&authority, address).map_err(text)?;
        let (client_certificate, client_key) = client_certificate(&authority).map_err(text)?;
        let token = token(&provider)?;
        let config = tls_config(provider, authority.der(), certificate, key)?;
        let identity = Self { authority: authority.pem(), client_certificate, client_key, token };
        Ok((identity, config))
    }

    /// A kubeconfig for a server at this URL, with a namespace for those who name none. `others` are further clusters: each
    /// has a context of its name, and is at its URL.
    pub(super) fn kubeconfig(&self, url: &str, namespace: &str, others: &[(&str, String)]) -> String {
        let encoded = |pem: &str| BASE64_STANDARD.encode(pem);
        let (authority, certificate, key) =
            (encoded(&self.authority), encoded(&self.client_certificate), encoded(&self.client_key));
        let token = &self.token;
        let cluster = |(name, url): &(&str, String)| {
            format!(
                "- name: \"{name}\"\n  cluster:\n    server: \"{url}\"\n    certificate-authority-data: {authority}\n"
            )
        };
        let context = |(name, _): &(&str, String)| {
            format!("- name: \"{name}\"\n  context:\n    cluster: \"{name}\"\n    user: capm3\n")
        };
        let (clusters, contexts): (String, String) =
            (others.iter().map(cluster).collect(), others.iter().map(context).collect());
        format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: capm3\npreferences: {{}}\n\
             clusters:\n- name: capm3\n  cluster:\n    server: \"{url}\"\n    certificate-authority-data: {authority}\n\
             {clusters}contexts:\n- name: capm3\n  context:\n    cluster: capm3\n    user: capm3\n    namespace: \"{namespace}\"\n\
             - name: capm3-token\n  context:\n    cluster: capm3\n    user: capm3-token\n    namespace: \"{namespace}\"\n\
             {contexts}users:\n- name: capm3\n  user:\n    client-certificate-data: {certificate}\n    client-key-data: {key}\n\
             - name: capm3-token\n  user:\n    token: {token}\n"
        )
    }
}

/// The lifetime of certificates is left at its widest: they live as long as the process, and the server has no
/// clock that could be trusted to agree with its clients'.
fn authority() -> Result<Authority, rcgen::Error> {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, "capm3-ca");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
    CertifiedIssuer::self_signed(params, KeyPair::generate()?)
}

fn server_certificate(
    authority: &Authority,
    address: IpAddr,
) -> Result<(CertificateDer<'static>, PrivateKeyDer<'static>), rcgen::Error> {
    let mut params = CertificateParams::new(names(address))?;
    params.distinguished_name.push(DnType::CommonName, "capm3-apiserver");
    params.use_authority_key_identifier_extension = true;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    let key = KeyPair::generate()?;
    let certificate = params.signed_by(&key, authority)?;
    Ok((certificate.der().clone(), PrivateKeyDer::Pkcs8(key.serialize_der().into())))
}

/// Everything by which clients may call a server at this address.
fn names(address: IpAddr) -> Vec<String> {
    let address = address.to_string();
    let own = (!SERVER_NAMES.contains(&address.as_str())).then_some(address);
    SERVER_NAMES.map(str::to_owned).into_iter().chain(own).collect()
}

fn client_certificate(authority: &Authority) -> Result<(String, String), rcgen::Error> {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, user::NAME);
    params.distinguished_name.push(DnType::OrganizationName, user::MASTERS);
    params.use_authority_key_identifier_extension = true;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    let key = KeyPair::generate()?;
    let certificate = params.signed_by(&key, authority)?;
    Ok((certificate.pem(), key.serialize_pem()))
}

fn token(provider: &CryptoProvider) -> Result<String, String> {
    let mut bytes = [0; TOKEN_BYTES];
    provider.secure_random.fill(&mut bytes).map_err(|_| "the system gives no random bytes".to_owned())?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Client certificates are optional, because a token will do; one that is shown must be ours.
fn tls_config(
    provider: Arc<CryptoProvider>,
    authority: &CertificateDer<'static>,
    certificate: CertificateDer<'static>,
    key: PrivateKeyDer<'static>,
) -> Result<ServerConfig, String> {
    let mut roots = RootCertStore::empty();
    roots.add(authority.clone()).map_err(|error| error.to_string())?;
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider))
        .allow_unauthenticated()
        .build()
        .map_err(|error| error.to_string())?;
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_client_cert_verifier(verifier)
        .with_single_cert(vec![certificate, authority.clone()], key)
        .map_err(|error| error.to_string())?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_certificate_names_the_address_at_which_the_server_listens_once() {
        let table = [
            ("127.0.0.1", vec!["localhost", "127.0.0.1", "::1"]),
            ("::1", vec!["localhost", "127.0.0.1", "::1"]),
            ("127.0.0.2", vec!["localhost", "127.0.0.1", "::1", "127.0.0.2"]),
        ];
        for (address, expected) in table {
            assert_eq!(names(address.parse().unwrap()), expected, "{address}");
        }
    }
}
