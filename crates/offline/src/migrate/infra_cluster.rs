//! Metal3Cluster and Metal3ClusterTemplate.

use serde_json::{Value, json};

use super::{draft::Draft, path::Path};

/// `noCloudProvider` meant the opposite of `cloudProviderEnabled`.
pub(super) fn cloud_provider(draft: &mut Draft<'_>) {
    for spec in ["spec", "spec.template.spec"].map(Path::of) {
        let Some(old) = spelled(draft, &spec, "noCloudProvider") else { continue };
        let Some(Value::Bool(without)) = old.find(&draft.value).cloned() else { continue };
        let new =
            spelled(draft, &spec, "cloudProviderEnabled").unwrap_or_else(|| spec.key("cloudProviderEnabled"));
        match new.find(&draft.value).cloned() {
            Some(Value::Bool(with)) if with == without => {
                let message = format!(
                    "noCloudProvider: {without} and cloudProviderEnabled: {with} contradict each other"
                );
                draft.error(&old, message, Some("keep cloudProviderEnabled alone".to_owned()));
            }
            Some(_) => {
                draft.remove(&old, "cloudProviderEnabled says it");
            }
            None => {
                draft.note(
                    &old,
                    format!("noCloudProvider: {without}"),
                    format!("cloudProviderEnabled: {}", !without),
                    "inverted in v1beta2",
                );
                draft.shift(&old, &new);
                if let Some(value) = new.find_mut(&mut draft.value) {
                    *value = json!(!without);
                }
                if !without {
                    let message = "nodes get their provider ID from a cloud provider; without one they never become ready";
                    draft.warn(&new, message, None);
                }
            }
        }
    }
}

/// The path of a member whose case may be wrong.
fn spelled(draft: &Draft<'_>, parent: &Path, member: &str) -> Option<Path> {
    let map = parent.find(&draft.value)?.as_object()?;
    map.keys().find(|key| key.eq_ignore_ascii_case(member)).map(|key| parent.key(key))
}
