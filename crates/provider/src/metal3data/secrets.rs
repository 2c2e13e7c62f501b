//! The Secrets of a Metal3Data: which are there, which are missing, and whether they still say what would be rendered
//! today.

use std::collections::BTreeMap;

use capm3_api::{
    metadata::MetadataExt,
    neighbours::{Machine, SecretMetadata},
    v1beta2::{Metal3Data, Metal3DataTemplateSpec, Metal3Machine},
    vocabulary::annotation,
};
use capm3_domain::{
    render::{Content, Inputs, RenderError, RenderedSecret, inputs_digest},
    wait::{DataError, Wait},
};
use capm3_engine::{ObjectKey, ResourceKind};
use serde_json::Value;

use super::{
    DataSnapshot,
    decide::Step,
    wanted_documents::{render, wanted_documents},
};

/// Characters of a digest that people are shown.
const SHORT: usize = 16;

/// Rendered documents by key, and the digest of what they were rendered from.
pub(super) struct Documents {
    by_key: BTreeMap<&'static str, String>,
    inputs: String,
}

/// Renders every half of the template.
pub(super) fn render_all(
    spec: &Metal3DataTemplateSpec,
    inputs: &Inputs<'_>,
) -> Result<Documents, RenderError> {
    let mut by_key = BTreeMap::new();
    for content in wanted_documents(spec) {
        by_key.insert(content.key(), render(content, spec, inputs)?);
    }
    Ok(Documents { by_key, inputs: inputs_digest(spec, inputs) })
}

/// What is reported of the Secrets that are there.
#[derive(Debug, Clone, Default)]
pub(super) struct SecretReport {
    pub(super) message: String,
    /// Whether rendering today would give something else.
    pub(super) differs: bool,
}

/// Whether a Secret of the data's own is missing. One of somebody else in its place is no replacement: a node that was
/// made from it would get whatever somebody put there.
pub(super) fn lacks_own(snapshot: &DataSnapshot, wanted: &[Content]) -> bool {
    let is_own = |secret: &SecretMetadata| secret.metadata.is_owned_by_uid(snapshot.data.metadata.uid_str());
    !wanted.iter().all(|content| snapshot.secrets.get(content.key()).is_some_and(|secret| is_own(secret)))
}

/// Which Secrets are there and which must be made.
pub(super) struct Secrets {
    pub(super) missing: Vec<Content>,
    digests: BTreeMap<&'static str, String>,
}

impl Secrets {
    /// A Secret that is there is never rewritten; one of somebody else is refused.
    pub(super) fn of(snapshot: &DataSnapshot, wanted: &[Content]) -> Step<Self> {
        let mut found = Self { missing: Vec::new(), digests: BTreeMap::new() };
        let uid = snapshot.data.metadata.uid_str();
        for content in wanted {
            let Some(secret) = snapshot.secrets.get(content.key()) else {
                found.missing.push(*content);
                continue;
            };
            let name = secret.metadata.name_str();
            if secret.metadata.is_deleting() {
                return Err(Wait::OldSecret(name.to_owned()));
            }
            if !secret.metadata.is_owned_by_uid(uid) {
                return Err(DataError::ForeignSecret(name.to_owned()).into());
            }
            found.digests.extend(digest_of(secret).map(|digest| (content.key(), digest)));
        }
        Ok(found)
    }

    pub(super) fn add(&mut self, content: Content, digest: String) {
        self.digests.insert(content.key(), digest);
    }

    /// The digests of what is there, for people.
    pub(super) fn report(&self) -> SecretReport {
        let words = self.digests.iter().map(|(key, digest)| word(key, digest));
        SecretReport { message: words.collect::<Vec<_>>().join(", "), differs: false }
    }

    /// The same, and which of them would differ if they were rendered today. They are left alone: a node that is
    /// provisioned again must find its data unchanged.
    pub(super) fn compare(&self, rendered: Option<Result<Documents, RenderError>>) -> SecretReport {
        let Some(Ok(rendered)) = rendered else { return self.report() };
        let differ = |(key, document): (&&'static str, &String)| {
            let digest = self.digests.get(*key)?;
            (*digest != capm3_domain::render::digest(document)).then_some(*key)
        };
        let differing: Vec<&str> = rendered.by_key.iter().filter_map(differ).collect();
        if differing.is_empty() {
            return self.report();
        }
        let message =
            format!("{}; {} rendered today would differ", self.report().message, differing.join(" and "));
        SecretReport { message, differs: true }
    }
}

fn word(key: &str, digest: &str) -> String {
    format!("{key} {}", digest.get(..SHORT).unwrap_or(digest))
}

fn digest_of(secret: &SecretMetadata) -> Option<String> {
    secret.metadata.annotation(annotation::CONTENT_DIGEST).map(str::to_owned)
}

/// A Secret to create.
pub(super) struct Made {
    pub(super) name: String,
    secret: RenderedSecret,
}

impl Made {
    pub(super) fn digest(&self) -> String {
        self.secret.digest()
    }

    pub(super) fn kind(&self) -> ResourceKind {
        ResourceKind::of::<SecretMetadata>()
    }

    pub(super) fn key(&self) -> ObjectKey {
        ObjectKey::new(&self.secret.namespace, &self.secret.name)
    }

    pub(super) fn to_object(&self) -> Value {
        self.secret.to_object()
    }
}

/// The Secret of a half.
pub(super) fn create(
    content: Content,
    documents: &Documents,
    data: &Metal3Data,
    machine: &Metal3Machine,
    owner: &Machine,
) -> Made {
    let document = documents.by_key.get(content.key()).cloned().unwrap_or_default();
    let name = machine.metadata.name_str();
    let secret = RenderedSecret::new(content, data, name, &owner.spec.cluster_name, document)
        .rendered_from(documents.inputs.clone());
    Made { name: secret.name.clone(), secret }
}
