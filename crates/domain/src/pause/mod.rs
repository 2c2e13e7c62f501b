//! Pausing a host for a move to another management cluster, and waking it afterwards.
//!
//! Takes a host's annotations and, to pause it, its whole status as stored; gives one merge patch of the annotations.
//! One patch, so that nobody ever sees the host neither paused nor held back from the move.

mod status_text;

use std::collections::BTreeMap;

use capm3_api::{
    metadata::MetadataExt,
    neighbours::BareMetalHost,
    vocabulary::{annotation, label},
};
use serde_json::{Map, Value, json};
pub use status_text::status_text;

/// The annotations to merge so that the host's operator rests and the host may be moved: the pause with our mark, the
/// status for the operator of the other side, and the block on moving goes. A host that is paused already keeps its
/// pause, whosever it is. None if nothing is to be written.
///
/// ```
/// use capm3_domain::pause::pause;
/// use serde_json::json;
///
/// let patch = pause(None, &json!({})).unwrap();
/// assert_eq!(patch["baremetalhost.metal3.io/paused"], "metal3.io/capm3");
/// ```
pub fn pause(annotations: Option<&BTreeMap<String, String>>, status: &Value) -> Option<Map<String, Value>> {
    let has = |key: &str| annotations.is_some_and(|annotations| annotations.contains_key(key));
    let mut patch = Map::new();
    if !has(annotation::HOST_PAUSED) {
        patch.insert(annotation::HOST_PAUSED.to_owned(), json!(annotation::HOST_PAUSED_BY_US));
        patch.insert(annotation::HOST_STATUS.to_owned(), json!(status_text(status)));
    }
    if has(annotation::BLOCK_MOVE) {
        patch.insert(annotation::BLOCK_MOVE.to_owned(), Value::Null);
    }
    (!patch.is_empty()).then_some(patch)
}

/// The annotations to merge so that a host of this cluster works again: only a pause of our own is taken off, and the
/// block on moving comes back with it. None if nothing is to be written.
pub fn unpause(host: &BareMetalHost, cluster: &str) -> Option<Map<String, Value>> {
    let here = host.metadata.label(label::CLUSTER_NAME) == Some(cluster);
    end_own_pause(host).filter(|_| here)
}

/// The same for the host of a machine being deleted, whose claim alone says that it is ours: its Cluster may be gone and
/// its labels with it.
pub fn end_own_pause(host: &BareMetalHost) -> Option<Map<String, Value>> {
    let ours = host.metadata.annotation(annotation::HOST_PAUSED) == Some(annotation::HOST_PAUSED_BY_US);
    let patch = [(annotation::HOST_PAUSED, Value::Null), (annotation::BLOCK_MOVE, json!(""))];
    ours.then(|| patch.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
}

/// Whether a host in use still lacks the block on moving, which it carries whenever it is not paused.
pub fn lacks_block(host: &BareMetalHost) -> bool {
    let has = |key: &str| host.metadata.annotation(key).is_some();
    !has(annotation::HOST_PAUSED) && !has(annotation::BLOCK_MOVE)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(annotations: Value, cluster: &str) -> BareMetalHost {
        let metadata = json!({"annotations": annotations, "labels": {label::CLUSTER_NAME: cluster}});
        serde_json::from_value(json!({ "metadata": metadata })).unwrap()
    }

    #[test]
    fn only_our_own_pause_of_our_own_cluster_is_taken_off() {
        let ours = json!({annotation::HOST_PAUSED: annotation::HOST_PAUSED_BY_US});
        let off = json!({annotation::HOST_PAUSED: null, annotation::BLOCK_MOVE: ""});
        assert_eq!(unpause(&host(ours.clone(), "c"), "c").map(Value::Object), Some(off));
        assert_eq!(unpause(&host(ours, "other"), "c"), None);
        assert_eq!(unpause(&host(json!({annotation::HOST_PAUSED: "mine"}), "c"), "c"), None);
        assert_eq!(unpause(&host(json!({}), "c"), "c"), None);
    }

    #[test]
    fn a_host_in_use_is_blocked_unless_it_is_paused() {
        assert!(lacks_block(&host(json!({}), "c")));
        assert!(!lacks_block(&host(json!({annotation::BLOCK_MOVE: ""}), "c")));
        assert!(!lacks_block(&host(json!({annotation::HOST_PAUSED: "mine"}), "c")));
    }
}
