//! The data template of each failure domain, which only this provider knows.

use serde_json::Value;

use super::super::{draft::Draft, path::Path};

/// Takes the map out where it has no effect; elsewhere it stays, for without it machines would get the addresses and
/// VLANs of another rack.
pub(super) fn settle(draft: &mut Draft<'_>) {
    let path = Path::of("spec.failureDomainDataTemplates");
    let Some(Value::Array(entries)) = path.find(&draft.value).cloned() else { return };
    let default = draft.text("spec.template.spec.dataTemplate.name").to_owned();
    let text = |entry: &Value, pointer| {
        entry.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let others: Vec<String> = entries
        .iter()
        .filter(|entry| text(entry, "/dataTemplate/name") != default || default.is_empty())
        .map(|entry| text(entry, "/failureDomain"))
        .collect();
    if others.is_empty() {
        draft.remove(
            &path,
            "the reference implementation does not support it; all domains have one data template",
        );
        return;
    }
    let instead = if default.is_empty() { "none".to_owned() } else { default };
    let message = format!(
        "the reference implementation does not support it: machines of {} would get data template {instead}",
        others.join(", ")
    );
    let proposal = "a Metal3MachineTemplate with its own dataTemplate for each failure domain, and a \
                    MachineDeployment of that domain for each";
    draft.error(&path, message, Some(proposal.to_owned()));
}
