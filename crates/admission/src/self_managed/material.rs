//! Certificates and keys as the Secret holds them. Keys are never shown: neither by `Debug` nor in an error.

use std::{collections::BTreeSet, fmt};

use base64::{Engine, prelude::BASE64_STANDARD};
use jiff::Timestamp;
use rcgen::{KeyPair, PublicKeyData};
use serde_json::{Value, json};
use x509_parser::{certificate::X509Certificate, extensions::GeneralName, parse_x509_certificate, pem::Pem};

use super::decide::{Facts, Span};
use crate::https::certified;

const CERTIFICATE: &str = "tls.crt";
const KEY: &str = "tls.key";
const AUTHORITIES: &str = "ca.crt";
const AUTHORITY_KEY: &str = "ca.key";

/// Everything in PEM.
#[derive(Clone, PartialEq, Eq)]
pub struct Material {
    pub(super) certificate: String,
    pub(super) key: String,
    /// First the one that signs, then others that are trusted.
    pub(super) authorities: Vec<String>,
    pub(super) authority_key: String,
}

impl fmt::Debug for Material {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Material(secret)")
    }
}

impl Material {
    /// Type of the Secret; one of another type is somebody else's.
    pub const SECRET_TYPE: &str = "infrastructure.cluster.x-k8s.io/webhook-certificates";

    /// What a Secret holds; none if something is missing or is no text.
    pub fn of_secret(secret: &Value) -> Option<Self> {
        let text = |name: &str| {
            let encoded = secret.get("data")?.get(name)?.as_str()?;
            String::from_utf8(BASE64_STANDARD.decode(encoded).ok()?).ok()
        };
        Some(Self {
            certificate: text(CERTIFICATE)?,
            key: text(KEY)?,
            authorities: split(&text(AUTHORITIES)?)?,
            authority_key: text(AUTHORITY_KEY)?,
        })
    }

    /// The data of a Secret that holds it.
    pub fn secret_data(&self) -> Value {
        let encoded = |text: &str| BASE64_STANDARD.encode(text);
        json!({
            CERTIFICATE: encoded(&self.certificate),
            KEY: encoded(&self.key),
            AUTHORITIES: encoded(&self.bundle()),
            AUTHORITY_KEY: encoded(&self.authority_key),
        })
    }

    /// The certificate that is served.
    pub fn certificate(&self) -> &str {
        &self.certificate
    }

    /// The certificate and its key, as TLS needs them.
    ///
    /// # Errors
    /// If they do not belong together.
    pub fn certified(&self) -> Result<rustls::sign::CertifiedKey, crate::https::PairError> {
        certified(self.certificate.as_bytes(), self.key.as_bytes())
    }

    /// All authorities that are to be trusted.
    pub fn bundle(&self) -> String {
        self.authorities.concat()
    }

    /// What a decision must know; none if the parts do not fit together.
    pub fn facts(&self) -> Option<Facts> {
        self.certified().ok()?;
        let authorities: Vec<Pem> = self.authorities.iter().map(|text| pem(text)).collect::<Option<_>>()?;
        let authorities: Vec<X509Certificate<'_>> = authorities.iter().map(parse).collect::<Option<_>>()?;
        let (signer, others) = authorities.split_first()?;
        let authority_key = KeyPair::from_pem(&self.authority_key).ok()?;
        if authority_key.subject_public_key_info() != signer.public_key().raw {
            return None;
        }
        let serving = pem(&self.certificate)?;
        let serving = parse(&serving)?;
        let has_signed =
            |authority: &X509Certificate<'_>| serving.verify_signature(Some(authority.public_key())).is_ok();
        let is_of_signer = has_signed(signer);
        if !is_of_signer && !others.iter().any(has_signed) {
            return None;
        }
        Some(Facts {
            signer: span(signer)?,
            others: others.len(),
            serving: span(&serving)?,
            is_of_signer,
            names: names(&serving),
        })
    }
}

/// Every certificate of a text; none if one cannot be read.
fn split(text: &str) -> Option<Vec<String>> {
    let blocks: Result<Vec<Pem>, _> = Pem::iter_from_buffer(text.as_bytes()).collect();
    let encode = |block: Pem| {
        let lines = BASE64_STANDARD.encode(block.contents);
        let lines: Vec<&str> =
            lines.as_bytes().chunks(64).filter_map(|line| str::from_utf8(line).ok()).collect();
        format!("-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n", lines.join("\n"))
    };
    Some(blocks.ok()?.into_iter().map(encode).collect())
}

fn pem(text: &str) -> Option<Pem> {
    Pem::iter_from_buffer(text.as_bytes()).next()?.ok()
}

fn parse(block: &Pem) -> Option<X509Certificate<'_>> {
    parse_x509_certificate(&block.contents).ok().map(|(_, certificate)| certificate)
}

fn span(certificate: &X509Certificate<'_>) -> Option<Span> {
    let time = |time: x509_parser::time::ASN1Time| Timestamp::from_second(time.timestamp()).ok();
    let validity = certificate.validity();
    Some(Span { from: time(validity.not_before)?, to: time(validity.not_after)? })
}

fn names(certificate: &X509Certificate<'_>) -> BTreeSet<String> {
    let alternatives = certificate.subject_alternative_name().ok().flatten();
    let names = alternatives.into_iter().flat_map(|it| it.value.general_names.iter());
    names
        .filter_map(|name| match name {
            GeneralName::DNSName(name) => Some((*name).to_owned()),
            _ => None,
        })
        .collect()
}
