//! Certificates of one cluster: its authority, the servers' pair, one client certificate per user.

use anyhow::{Context, Result};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose,
};

/// The group that may do everything.
pub const MASTERS: &str = "system:masters";

/// The certificate authority of one cluster.
pub struct Authority(CertifiedIssuer<'static, KeyPair>);

/// A certificate and its key, as PEM.
pub struct Pair {
    pub certificate: String,
    pub key: String,
}

impl Authority {
    /// A new authority that nobody else trusts.
    pub fn create() -> Result<Self> {
        let mut params = named("capm3-real-ca", None)?;
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate()?).context("making the CA")?;
        Ok(Self(issuer))
    }

    /// The authority's certificate as PEM.
    pub fn certificate(&self) -> String {
        self.0.pem()
    }

    /// The authority's key as PEM.
    pub fn key(&self) -> String {
        self.0.key().serialize_pem()
    }

    /// A pair for servers on the loopback interface, also under the names that pods have for an API server.
    pub fn server(&self) -> Result<Pair> {
        let names = ["localhost", "127.0.0.1", "kubernetes", "kubernetes.default", "kubernetes.default.svc"];
        let mut params = CertificateParams::new(names.map(str::to_owned))?;
        params.distinguished_name.push(DnType::CommonName, "localhost");
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        self.sign(params)
    }

    /// A pair with which a client is this user in this group.
    pub fn client(&self, user: &str, group: &str) -> Result<Pair> {
        let mut params = named(user, Some(group))?;
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        self.sign(params)
    }

    fn sign(&self, params: CertificateParams) -> Result<Pair> {
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, &self.0).context("signing a certificate")?;
        Ok(Pair { certificate: certificate.pem(), key: key.serialize_pem() })
    }
}

/// The key that signs service-account tokens, as PEM.
pub struct TokenKey {
    pub private: String,
    pub public: String,
}

impl TokenKey {
    /// A new key.
    pub fn create() -> Result<Self> {
        let key = KeyPair::generate()?;
        Ok(Self { private: key.serialize_pem(), public: key.public_key_pem() })
    }
}

fn named(common_name: &str, organization: Option<&str>) -> Result<CertificateParams> {
    let mut params = CertificateParams::new(Vec::new())?;
    params.distinguished_name.push(DnType::CommonName, common_name);
    if let Some(organization) = organization {
        params.distinguished_name.push(DnType::OrganizationName, organization);
    }
    Ok(params)
}
