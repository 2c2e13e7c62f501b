//! Metal3Machine and Metal3MachineTemplate.

use serde_json::Value;

use super::{
    draft::Draft,
    names::{check_one_secret_for_both, check_reference},
    path::Path,
};

/// The first API wrapped the provider's part of a machine; today it is a kind of its own.
pub(super) fn lift_provider_spec(draft: &mut Draft<'_>) {
    let (wrapper, spec) = (Path::of("spec.providerSpec"), Path::of("spec"));
    let inner = wrapper.key("value");
    let Some(Value::Object(members)) = inner.find(&draft.value).cloned() else { return };
    for key in members.keys() {
        draft.relocate(
            &inner.key(key),
            &spec.key(key),
            "the provider's settings of a machine are in an object of their own",
        );
    }
    draft.drop_empty(&inner);
    draft.drop_empty(&wrapper);
}

/// What a machine needs that no rule can fill in.
pub(super) fn check(draft: &mut Draft<'_>, base: &str, is_fragment: bool) {
    let has = |member: &str| draft.get(&format!("{base}.{member}")).is_some();
    if !has("image") && !has("customDeploy.method") && !is_fragment {
        let message = "neither image nor customDeploy is set, so nothing can be written to the host";
        let proposal = "image with url and checksum, or customDeploy with method";
        draft.error(&Path::of(base), message, Some(proposal.to_owned()));
    }
    if is_fragment {
        draft.warn(
            &Path::default(),
            "a part of an object: metadata.name is missing",
            Some("take it into your object".to_owned()),
        );
    }
    for secret in ["userData", "metaData", "networkData"] {
        check_reference(draft, &format!("{base}.{secret}.name"), "Secret");
    }
    check_reference(draft, &format!("{base}.dataTemplate.name"), "Metal3DataTemplate");
    let stem = draft.text("metadata.name").to_owned();
    check_one_secret_for_both(draft, base, &stem);
}
