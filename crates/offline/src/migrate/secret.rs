//! Secrets as the first documents showed them: with a spec.

use capm3_api::vocabulary;
use serde_json::json;

use super::{draft::Draft, path::Path};

const OLD_TYPE: &str = "infrastructure.cluster.k8s.io/secret";

/// Moves the content to where a Secret has it and corrects the type.
pub(super) fn convert(draft: &mut Draft<'_>) {
    let (spec, data) = (Path::of("spec"), Path::of("stringData"));
    for key in ["metaData", "networkData", "userData"] {
        draft.relocate(&spec.key(key), &data.key(key), "a Secret has its text in stringData");
    }
    draft.drop_empty(&spec);
    if draft.get("spec").is_some() {
        draft.error(&spec, "a Secret has no spec", Some("stringData".to_owned()));
    }
    if draft.text("type") == OLD_TYPE {
        draft.replace(&Path::of("type"), json!(vocabulary::SECRET_TYPE), "the group of the provider's kinds");
    }
}
