//! Whether the Secrets of a Metal3Data still hold what would be rendered today, judged by their digests alone.
//!
//! Takes a snapshot; gives the Secrets that differ. It reads no content of a Secret, and writes nothing. Where not everything
//! is there that rendering needs, nothing can be compared.

use std::sync::Arc;

use capm3_api::{metadata::MetadataExt, neighbours::SecretMetadata, vocabulary::annotation};
use capm3_domain::render::{Content, Inputs, Objects, digest, inputs_digest, referenced_pools};

use super::{DataSnapshot, render, wanted_documents, wanted_spec};

/// A Secret that would be another one today.
#[derive(Debug, Clone)]
pub(crate) struct Differing {
    /// The Secret.
    pub(crate) secret: Arc<SecretMetadata>,
    /// Digest of its content.
    pub(crate) recorded: String,
    /// Digest of what would be rendered.
    pub(crate) rendered: String,
}

/// The Secrets of the data that differ. Those that were rendered from the very inputs of today are not rendered again.
pub(crate) fn differing_secrets(snapshot: &DataSnapshot) -> Vec<Differing> {
    compare(snapshot).unwrap_or_default()
}

fn compare(snapshot: &DataSnapshot) -> Option<Vec<Differing>> {
    let (machine, host) = (snapshot.metal3_machine.as_deref()?, snapshot.host.as_deref()?);
    let spec = wanted_spec(snapshot.template.as_deref()?, Some(machine));
    let objects = Objects {
        metal3_machine: Some(machine),
        machine: Some(snapshot.machine.as_deref()?),
        host: Some(host),
    };
    let pools = referenced_pools(&spec, objects).ok()?;
    let address = |(name, pool)| {
        let claim = snapshot.ip_claims.iter().find(|claim| claim.claim.is_on(pool))?;
        Some((String::clone(name), claim.address.clone()?))
    };
    let addresses = pools.iter().map(address).collect::<Option<_>>()?;
    let inputs = Inputs { data: &snapshot.data, objects, addresses: &addresses };
    let from = inputs_digest(&spec, &inputs);
    let differs = |content: Content| {
        let secret = snapshot.secrets.get(content.key())?;
        let recorded = secret.metadata.annotation(annotation::CONTENT_DIGEST)?;
        let is_own = secret.metadata.is_owned_by_uid(snapshot.data.metadata.uid_str());
        if !is_own || secret.metadata.annotation(annotation::INPUTS_DIGEST) == Some(from.as_str()) {
            return None;
        }
        let rendered = digest(&render(content, &spec, &inputs).ok()?);
        (rendered != recorded).then(|| Differing {
            secret: Arc::clone(secret),
            recorded: recorded.to_owned(),
            rendered,
        })
    };
    Some(wanted_documents(&spec).into_iter().filter_map(differs).collect())
}
