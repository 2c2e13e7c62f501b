//! What this provider says in a status and the schemas of the reference implementation have no place for.
//!
//! Whoever goes back loses it: the API server drops it with the first write. Every other status is written again, or is read as it is.

use serde_json::Value;

use super::super::{
    draft::{Draft, brief},
    path::Path,
};

/// Most indexes that a status can list there.
const INDEXES: usize = 512;

/// Kind, member of its status, and what is lost without it.
const ONLY_HERE: [(&str, &str, &str); 6] = [
    ("Metal3Machine", "failureDomain", "Cluster API does not see in which failure domain the host is"),
    ("Metal3MachineTemplate", "capacity", "a cluster autoscaler cannot scale from zero by it"),
    ("Metal3MachineTemplate", "nodeInfo", "a cluster autoscaler cannot scale from zero by it"),
    ("Metal3DataTemplate", "conditions", "why it waits is not shown"),
    ("Metal3DataClaim", "conditions", "why it waits is not shown; errorMessage stays"),
    ("Metal3Data", "conditions", "what was rendered is not shown; ready and errorMessage stay"),
];

/// Names what is dropped.
pub(super) fn report(draft: &mut Draft<'_>) {
    let kind = draft.text("kind").to_owned();
    let status = Path::of("status");
    for (_, member, lost) in ONLY_HERE.iter().filter(|(of, ..)| *of == kind) {
        drop_member(draft, &status.key(member), lost);
    }
    if kind == "Metal3DataTemplate" {
        indexes(draft, &status.key("indexes"));
    }
}

/// The list of indexes can be shorter there, and does not name data.
fn indexes(draft: &mut Draft<'_>, path: &Path) {
    let count = draft.original(path).and_then(Value::as_array).map_or(0, Vec::len);
    for index in 0..count {
        let lost = "the name of the data is taken to be that of the template and the index";
        drop_member(draft, &path.item(index).key("dataName"), lost);
    }
    if count > INDEXES {
        let message = format!(
            "has {count} entries; the reference implementation can list {INDEXES} and gives no index while there are more"
        );
        draft.warn(path, message, Some("move machines to a second template".to_owned()));
    }
}

fn drop_member(draft: &mut Draft<'_>, path: &Path, lost: &str) {
    let Some(from) = draft.original(path).map(brief) else { return };
    draft.note(path, from, "dropped", format!("the reference implementation does not have it: {lost}"));
}
