//! Makes what a decision asks for. Takes the time; randomness for keys comes from the system.

use jiff::{SignedDuration, Timestamp};
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use thiserror::Error;

use super::{
    Material, Step,
    decide::{AUTHORITY_LIFE, BACKDATED, SERVING_LIFE},
};

/// Why a certificate cannot be made.
#[derive(Debug, Error)]
pub enum IssueError {
    /// What the library says; it never quotes a key.
    #[error("a certificate cannot be made: {0}")]
    Generate(#[from] rcgen::Error),
    /// A step needs an authority, and there is none.
    #[error("a certificate cannot be made: there is no authority to sign it")]
    NoAuthority,
}

/// Carries out a step on what is there. None if nothing is to be done.
///
/// # Errors
/// If a key or a certificate cannot be made.
pub fn carry_out(
    step: Step,
    material: Option<&Material>,
    names: &[String],
    now: Timestamp,
) -> Result<Option<Material>, IssueError> {
    let there = || material.ok_or(IssueError::NoAuthority);
    Ok(Some(match step {
        Step::Keep => return Ok(None),
        Step::Start => {
            let (authority, authority_key) = authority(now)?;
            let (certificate, key) = serving(&authority, &authority_key, names, now)?;
            Material { certificate, key, authorities: vec![authority], authority_key }
        }
        Step::AddAuthority => {
            let (authority, authority_key) = authority(now)?;
            let authorities =
                std::iter::once(authority).chain(there()?.authorities.iter().cloned()).collect();
            Material { authorities, authority_key, ..there()?.clone() }
        }
        Step::Reissue => {
            let there = there()?;
            let signer = there.authorities.first().ok_or(IssueError::NoAuthority)?;
            let (certificate, key) = serving(signer, &there.authority_key, names, now)?;
            Material { certificate, key, ..there.clone() }
        }
        Step::ForgetOthers => {
            let there = there()?;
            Material { authorities: there.authorities.iter().take(1).cloned().collect(), ..there.clone() }
        }
    }))
}

/// An authority and its key.
fn authority(now: Timestamp) -> Result<(String, String), IssueError> {
    let mut params = CertificateParams::default();
    // The name distinguishes rotations.
    let name = format!("capm3-webhook-ca-{}", now.as_second());
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
    limit(&mut params, now, AUTHORITY_LIFE);
    let key = KeyPair::generate()?;
    Ok((params.self_signed(&key)?.pem(), key.serialize_pem()))
}

/// A serving certificate and its key.
fn serving(
    authority: &str,
    authority_key: &str,
    names: &[String],
    now: Timestamp,
) -> Result<(String, String), IssueError> {
    let issuer = Issuer::from_ca_cert_pem(authority, KeyPair::from_pem(authority_key)?)?;
    let mut params = CertificateParams::new(names)?;
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, "capm3-webhook-service");
    params.use_authority_key_identifier_extension = true;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    limit(&mut params, now, SERVING_LIFE);
    let key = KeyPair::generate()?;
    Ok((params.signed_by(&key, &issuer)?.pem(), key.serialize_pem()))
}

fn limit(params: &mut CertificateParams, now: Timestamp, life: SignedDuration) {
    let epoch = rcgen::date_time_ymd(1970, 1, 1);
    let time = |time: Timestamp| {
        epoch + std::time::Duration::from_secs(u64::try_from(time.as_second()).unwrap_or_default())
    };
    params.not_before = time(now.saturating_sub(BACKDATED).unwrap_or(now));
    params.not_after = time(now.saturating_add(life).unwrap_or(now));
}

#[cfg(test)]
#[path = "life_tests.rs"]
mod tests;
