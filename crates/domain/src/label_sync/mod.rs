//! Which labels of a host its Node gets.
//!
//! Takes the annotations of a Metal3Cluster ([`Settings`]), the labels of a host ([`DesiredLabels`]) and those of its Node
//! ([`NodeLabels`]), gives what is to change on the Node ([`LabelPatch`]). Only this direction exists. What was set before is
//! known by the record on the Node, so it also goes when the prefix does.

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

/// Domains whose labels Cluster API keeps as the Machine has them. It writes them back at once, so they are protected too.
const CLUSTER_API_DOMAINS: [&str; 3] =
    ["node-role.kubernetes.io", "node-restriction.kubernetes.io", "node.cluster.x-k8s.io"];

/// Domains in which a kubelet may not set or remove labels. The record, which it may write, removes none of them either.
const RESTRICTED_DOMAINS: [&str; 3] = ["kubernetes.io", "k8s.io", "cluster.x-k8s.io"];

/// What a Node gets from its host.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DesiredLabels {
    settings: Settings,
    labels: Labels,
    zone: Option<String>,
}

/// What a Node says of its labels.
#[derive(Debug, Clone, Copy)]
pub struct NodeLabels<'a> {
    /// All of them.
    pub labels: &'a Labels,
    /// The keys that were set from its host, separated by commas. Kubelets may write it.
    pub record: Option<&'a str>,
    /// The keys that Cluster API gave it from its Machine, separated by commas.
    pub from_machine: Option<&'a str>,
}

/// What is to change on a Node.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LabelPatch {
    /// Labels to set, or to remove where there is no value.
    pub labels: BTreeMap<String, Option<String>>,
    /// The keys that were set from the host, separated by commas; none if there are none.
    pub record: Option<String>,
    /// Whether that differs from the record that the Node has.
    pub is_new_record: bool,
}

impl DesiredLabels {
    /// The labels of a host that are to be synced, and its zone if zones are.
    pub fn new(settings: Settings, labels: Option<&Labels>, zone: Option<&str>) -> Self {
        let is_synced = |key: &str| settings.covers(key) && !is_protected(key);
        let labels = labels.into_iter().flatten().filter(|(key, _)| is_synced(key));
        let labels = labels.map(|(key, value)| (key.clone(), value.clone())).collect();
        let zone = zone.filter(|zone| settings.gives_zone() && is_label_value(zone)).map(str::to_owned);
        Self { settings, labels, zone }
    }

    /// What is to change on a Node. Of labels with a listed prefix it keeps those of the host only, whoever set the others.
    /// Labels that Cluster API gave it stay, and so does a zone that was there before.
    pub fn correct(&self, node: &NodeLabels<'_>) -> LabelPatch {
        let NodeLabels { labels, record, from_machine } = *node;
        let recorded = keys_of(record).into_iter().filter(|key| may_be_recorded(key));
        let (recorded, from_machine): (BTreeSet<&str>, _) = (recorded.collect(), keys_of(from_machine));
        let is_free = |key: &str| !is_protected(key) && !from_machine.contains(key);
        let is_ours = |key: &str| is_free(key) && (self.settings.covers(key) || recorded.contains(key));
        let mut wanted = self.labels.clone();
        if let Some(zone) = &self.zone
            && (!labels.contains_key(label::NODE_ZONE) || is_ours(label::NODE_ZONE))
        {
            wanted.entry(label::NODE_ZONE.to_owned()).or_insert_with(|| zone.clone());
        }
        wanted.retain(|key, _| is_free(key));
        let differs = |key: &str| labels.get(key) != wanted.get(key);
        let stale = labels.keys().filter(|key| is_ours(key) && !wanted.contains_key(*key));
        let stale = stale.map(|key| (key.clone(), None));
        let differing = wanted.iter().filter(|(key, _)| differs(key));
        let differing = differing.map(|(key, value)| (key.clone(), Some(value.clone())));
        // A label that somebody else had set to the same value is theirs: it stays when its prefix is no longer listed.
        let set_from_host = |key: &&str| may_be_recorded(key) && (recorded.contains(*key) || differs(key));
        let keys: Vec<&str> = wanted.keys().map(String::as_str).filter(set_from_host).collect();
        let new_record = (!keys.is_empty()).then(|| keys.join(","));
        LabelPatch {
            labels: stale.chain(differing).collect(),
            is_new_record: new_record.as_deref() != record,
            record: new_record,
        }
    }
}

impl LabelPatch {
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

fn keys_of(list: Option<&str>) -> BTreeSet<&str> {
    list.into_iter().flat_map(settings::entries).collect()
}

/// Whether no label of this key is ever copied, changed or removed.
fn is_protected(key: &str) -> bool {
    PROTECTED.contains(&key) || has_domain(key, &CLUSTER_API_DOMAINS)
}

/// Whether the record is believed that a label of this key was set from the host.
fn may_be_recorded(key: &str) -> bool {
    key == label::NODE_ZONE || (key.contains('/') && !has_domain(key, &RESTRICTED_DOMAINS))
}

/// Whether the prefix of a key is one of these domains or a domain below one.
fn has_domain(key: &str, domains: &[&str]) -> bool {
    let prefix = key.split_once('/').map_or("", |(prefix, _)| prefix);
    let is_in = |domain: &&str| {
        prefix.strip_suffix(*domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    };
    domains.iter().any(is_in)
}

/// A failure domain may be any text; a label value may not.
fn is_label_value(text: &str) -> bool {
    !text.is_empty() && crate::host::value_problem(text).is_none()
}

#[cfg(test)]
mod tests;
