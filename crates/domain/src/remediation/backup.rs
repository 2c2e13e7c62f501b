//! Labels and annotations of a Node that is deleted, kept until the Node is back.

use std::collections::BTreeMap;

use capm3_api::{
    metadata::MetadataExt,
    neighbours::WholeNode,
    v1beta2::Metal3Remediation,
    vocabulary::annotation::{NODE_ANNOTATIONS_BACKUP, NODE_LABELS_BACKUP},
};

type Map = BTreeMap<String, String>;

/// Labels and annotations of a Node, as the annotations of a Metal3Remediation keep them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NodeBackup {
    labels: Option<Map>,
    annotations: Option<Map>,
}

/// Labels and annotations that a Node has lost.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Restoration {
    /// Labels to set.
    pub labels: Map,
    /// Annotations to set.
    pub annotations: Map,
}

impl Restoration {
    /// Whether nothing is lost.
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty() && self.annotations.is_empty()
    }
}

impl NodeBackup {
    /// Of a Node.
    pub fn of_node(node: &WholeNode) -> Self {
        Self { labels: node.metadata.labels.clone(), annotations: node.metadata.annotations.clone() }
    }

    /// What a Metal3Remediation keeps; none if it keeps nothing. A part that cannot be read is as good as none.
    pub fn of_remediation(remediation: &Metal3Remediation) -> Option<Self> {
        let kept = |key: &str| remediation.metadata.annotation(key);
        let (labels, annotations) = (kept(NODE_LABELS_BACKUP), kept(NODE_ANNOTATIONS_BACKUP));
        if labels.is_none() && annotations.is_none() {
            return None;
        }
        let read = |text: Option<&str>| serde_json::from_str(text?).ok();
        Some(Self { labels: read(labels), annotations: read(annotations) })
    }

    /// Keeps it on a Metal3Remediation.
    pub fn write_to(&self, remediation: &mut Metal3Remediation) {
        let text = |map: &Option<Map>| match map {
            Some(map) => serde_json::to_string(map).unwrap_or_default(),
            None => String::new(),
        };
        let annotations = remediation.metadata.annotations.get_or_insert_default();
        annotations.insert(NODE_ANNOTATIONS_BACKUP.to_owned(), text(&self.annotations));
        annotations.insert(NODE_LABELS_BACKUP.to_owned(), text(&self.labels));
    }

    /// Takes it off a Metal3Remediation.
    pub fn remove_from(remediation: &mut Metal3Remediation) {
        if let Some(annotations) = &mut remediation.metadata.annotations {
            annotations.remove(NODE_ANNOTATIONS_BACKUP);
            annotations.remove(NODE_LABELS_BACKUP);
        }
    }

    /// What a Node that is back has lost. What it has, it keeps, whatever the value.
    pub fn lost_by(&self, node: &WholeNode) -> Restoration {
        let lost = |kept: &Option<Map>, there: &Option<Map>| {
            let is_lost = |key: &String| !there.as_ref().is_some_and(|there| there.contains_key(key));
            let kept = kept.iter().flatten().filter(|(key, _)| is_lost(key));
            kept.map(|(key, value)| (key.clone(), value.clone())).collect()
        };
        Restoration {
            labels: lost(&self.labels, &node.metadata.labels),
            annotations: lost(&self.annotations, &node.metadata.annotations),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn node(labels: Value, annotations: Value) -> WholeNode {
        serde_json::from_value(json!({"metadata": {"labels": labels, "annotations": annotations}})).unwrap()
    }

    #[test]
    fn no_labels_are_kept_as_an_empty_text_and_others_as_json() {
        let mut remediation = Metal3Remediation::default();
        NodeBackup::of_node(&node(json!(null), json!({"a": "1"}))).write_to(&mut remediation);
        assert_eq!(remediation.metadata.annotation(NODE_LABELS_BACKUP), Some(""));
        assert_eq!(remediation.metadata.annotation(NODE_ANNOTATIONS_BACKUP), Some(r#"{"a":"1"}"#));
        NodeBackup::remove_from(&mut remediation);
        assert_eq!(NodeBackup::of_remediation(&remediation), None);
    }

    #[test]
    fn a_node_that_is_back_gets_what_it_lacks_and_keeps_what_it_has() {
        let mut remediation = Metal3Remediation::default();
        let before = node(json!({"role": "db", "zone": "a"}), json!({"note": "x"}));
        NodeBackup::of_node(&before).write_to(&mut remediation);
        let backup = NodeBackup::of_remediation(&remediation).unwrap();
        let lost = backup.lost_by(&node(json!({"zone": "b"}), json!(null)));
        assert_eq!(lost.labels, Map::from([("role".into(), "db".into())]));
        assert_eq!(lost.annotations, Map::from([("note".into(), "x".into())]));
        assert!(backup.lost_by(&before).is_empty());
    }

    #[test]
    fn a_part_that_cannot_be_read_is_left_out() {
        let object = json!({"metadata": {"annotations": {
            NODE_LABELS_BACKUP: r#"{"role":"db"}"#, NODE_ANNOTATIONS_BACKUP: "{broken"}}});
        let remediation: Metal3Remediation = serde_json::from_value(object).unwrap();
        let lost = NodeBackup::of_remediation(&remediation).unwrap().lost_by(&node(json!({}), json!({})));
        assert_eq!((lost.labels.len(), lost.annotations.len()), (1, 0));
    }
}
