//! Years of certificates in virtual time: whatever a replica serves, the API server trusts.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use rustls::{
    RootCertStore,
    client::{WebPkiServerVerifier, danger::ServerCertVerifier},
    pki_types::{CertificateDer, ServerName, UnixTime, pem::PemObject},
};

use super::*;
use crate::self_managed::decide;

const NAME: &str = "capm3-webhook-service.capm3-system.svc";

fn names() -> Vec<String> {
    vec![NAME.to_owned(), format!("{NAME}.cluster.local")]
}

fn start() -> Timestamp {
    Timestamp::from_second(1_800_000_000).unwrap()
}

/// Whether a client that trusts a bundle accepts a certificate at that time.
fn is_trusted(bundle: &str, certificate: &str, now: Timestamp) -> Result<(), rustls::Error> {
    let mut roots = RootCertStore::empty();
    for authority in CertificateDer::pem_slice_iter(bundle.as_bytes()) {
        roots.add(authority.unwrap()).unwrap();
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider).build().unwrap();
    let time =
        UnixTime::since_unix_epoch(std::time::Duration::from_secs(now.as_second().try_into().unwrap()));
    let certificate = CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap();
    let name = ServerName::try_from(NAME).unwrap();
    verifier.verify_server_cert(&certificate, &[], &name, &[], time).map(drop)
}

fn next(material: Option<&Material>, now: Timestamp) -> (Step, Option<Material>) {
    let facts = material.and_then(Material::facts);
    let step = decide(facts.as_ref(), &names(), now);
    (step, carry_out(step, material, &names(), now).unwrap())
}

/// Two replicas read the Secret, one of them half an hour late, and caBundle is what that one reads. After
/// two years the authority is replaced, and at no time is one of them refused.
#[test]
fn a_rotation_never_serves_what_is_not_trusted() {
    let (_, first) = next(None, start());
    let mut stored = first.unwrap();
    let (mut late, mut steps) = (stored.clone(), Vec::new());
    let (mut now, mut last_step) = (start(), start());
    while now.duration_since(start()) < SignedDuration::from_hours(24 * 800) {
        // Only around a step does half an hour matter.
        let is_quiet = now.duration_since(last_step) > SignedDuration::from_hours(4);
        now += if is_quiet { SignedDuration::from_hours(12) } else { SignedDuration::from_mins(30) };
        let before = stored.clone();
        if let (step, Some(new)) = next(Some(&stored), now) {
            steps.push(step);
            (stored, last_step) = (new, now);
        }
        if stored != before || late != before {
            for served in [&before, &late, &stored] {
                for trusted in [&before, &late] {
                    is_trusted(&trusted.bundle(), served.certificate(), now).unwrap();
                }
            }
        }
        late = before;
    }
    let rotation = [Step::AddAuthority, Step::Reissue, Step::ForgetOthers];
    assert!(steps.windows(3).any(|window| window == rotation), "{steps:?}");
    assert!(steps.iter().filter(|step| **step == Step::Reissue).count() >= 12, "{steps:?}");
    assert!(!steps.contains(&Step::Start), "{steps:?}");
    assert_eq!(stored.authorities.len(), 1);
}

#[test]
fn what_is_stored_is_read_again_and_parts_that_do_not_fit_are_not_used() {
    let (step, material) = next(None, start());
    assert_eq!(step, Step::Start);
    let material = material.unwrap();
    let read = |change: &dyn Fn(&mut serde_json::Value)| {
        let mut secret = serde_json::json!({"data": material.secret_data()});
        change(&mut secret["data"]);
        Material::of_secret(&secret)
    };
    assert_eq!(read(&|_| ()), Some(material.clone()));
    let facts = material.facts().unwrap();
    assert_eq!((facts.names, facts.others, facts.is_of_signer), (names().into_iter().collect(), 0, true));
    assert_eq!(facts.serving.to, start() + SERVING_LIFE);
    assert_eq!(facts.signer.from, start() - BACKDATED);
    for name in ["tls.crt", "tls.key", "ca.crt", "ca.key"] {
        let missing = read(&|data| drop(data.as_object_mut().unwrap().remove(name)));
        assert_eq!(missing, None, "without {name}");
        let no_pem = read(&|data| data[name] = "AAAA".into());
        assert_eq!(no_pem.and_then(|it| it.facts()), None, "{name}");
        let other = next(None, start()).1.unwrap();
        let of_another = read(&|data| data[name] = other.secret_data()[name].clone());
        assert_eq!(of_another.unwrap().facts(), None, "{name} of another authority");
    }
}

#[test]
fn keys_are_not_shown() {
    let material = next(None, start()).1.unwrap();
    assert_eq!(format!("{material:?}"), "Material(secret)");
    assert!(material.key.contains("PRIVATE KEY") && !material.bundle().contains("PRIVATE KEY"));
    assert!(!material.certificate().contains("PRIVATE KEY"));
}
