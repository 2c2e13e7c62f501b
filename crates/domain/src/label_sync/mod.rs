//! Which labels of a host its Node gets.
//!
//! Takes the annotations of a Metal3Cluster ([`Settings`]), the labels of a host ([`Goal`]) and those of its Node, gives what
//! is to change on the Node ([`Correction`]). Only this direction exists. What was written before is known by the record on the
//! Node, so it also goes when the prefix does.

mod settings;

use std::collections::{BTreeMap, BTreeSet};

use capm3_api::vocabulary::label;

pub use settings::{Settings, SettingsError};

/// Labels by key.
pub type Labels = BTreeMap<String, String>;

/// Labels by which a Node is found and scheduled to. A host gives none of them, and none is taken off, whatever prefix is
/// listed.
const PROTECTED: [&str; 4] =
    [label::NODE_UUID, label::NODE_HOSTNAME, "kubernetes.io/os", "kubernetes.io/arch"];

/// What a Node gets from its host.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Goal {
    settings: Settings,
    labels: Labels,
    zone: Option<String>,
}

/// What is to change on a Node.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Correction {
    /// Labels to set, or to remove where there is no value.
    pub labels: BTreeMap<String, Option<String>>,
    /// The keys that the Node has from its host afterwards, separated by commas; none if there are none.
    pub record: Option<String>,
    /// Whether that differs from the record that the Node has.
    pub is_new_record: bool,
}

impl Goal {
    /// The labels of a host that are to be synced, and its zone if zones are.
    pub fn new(settings: Settings, labels: Option<&Labels>, zone: Option<&str>) -> Self {
        let is_synced = |key: &str| settings.covers(key) && !PROTECTED.contains(&key);
        let labels = labels.into_iter().flatten().filter(|(key, _)| is_synced(key));
        let labels = labels.map(|(key, value)| (key.clone(), value.clone())).collect();
        let zone = zone.filter(|zone| settings.gives_zone() && is_label_value(zone)).map(str::to_owned);
        Self { settings, labels, zone }
    }

    /// What is to change on a Node with these labels and this record. Of labels with a listed prefix it keeps those of the
    /// host only, whoever set the others. A zone that somebody else set stays.
    pub fn correct(&self, node: &Labels, record: Option<&str>) -> Correction {
        let recorded: BTreeSet<&str> = record.into_iter().flat_map(settings::entries).collect();
        let is_ours =
            |key: &str| (self.settings.covers(key) || recorded.contains(key)) && !PROTECTED.contains(&key);
        let mut wanted = self.labels.clone();
        if let Some(zone) = &self.zone
            && (!node.contains_key(label::NODE_ZONE) || is_ours(label::NODE_ZONE))
        {
            wanted.entry(label::NODE_ZONE.to_owned()).or_insert_with(|| zone.clone());
        }
        let stale = node.keys().filter(|key| is_ours(key) && !wanted.contains_key(*key));
        let stale = stale.map(|key| (key.clone(), None));
        let differing = wanted.iter().filter(|(key, value)| node.get(*key) != Some(*value));
        let differing = differing.map(|(key, value)| (key.clone(), Some(value.clone())));
        let keys: Vec<&str> = wanted.keys().map(String::as_str).collect();
        let new_record = (!keys.is_empty()).then(|| keys.join(","));
        Correction {
            labels: stale.chain(differing).collect(),
            is_new_record: new_record.as_deref() != record,
            record: new_record,
        }
    }
}

impl Correction {
    /// Whether nothing is to change.
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty() && !self.is_new_record
    }

    /// The labels of the Node afterwards.
    pub fn apply_to(&self, node: &Labels) -> Labels {
        let mut labels = node.clone();
        for (key, value) in &self.labels {
            match value {
                Some(value) => labels.insert(key.clone(), value.clone()),
                None => labels.remove(key),
            };
        }
        labels
    }
}

/// A failure domain may be any text; a label value may not.
fn is_label_value(text: &str) -> bool {
    !text.is_empty() && crate::host::value_problem(text).is_none()
}

#[cfg(test)]
mod tests;
