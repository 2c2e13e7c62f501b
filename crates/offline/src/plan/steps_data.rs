//! Which index and addresses a machine gets, as far as that is certain.
//!
//! Takes what machines have at the end of a moment; gives sets of outcomes. Machines that do not exist yet and get data from one
//! template at one moment share their indexes: the order of their names is not known. Where the data template of a machine depends on
//! its host, nothing is said any more of what its templates and their pools give afterwards.

use std::collections::{BTreeMap, BTreeSet};

use capm3_api::{ipam::IpPool, metadata::MetadataExt, v1beta2::Metal3DataTemplate};
use capm3_engine::{Memory, ObjectKey, Reader};

use super::super::{candidates::Candidates, facts::MachineFact};

/// What is known of the data of machines.
#[derive(Default)]
pub(super) struct Data {
    /// Machines that took a host at this moment.
    pub(super) took: BTreeSet<ObjectKey>,
    /// Machines that got data at this moment.
    pub(super) fresh: BTreeSet<ObjectKey>,
    /// Spaces of indexes that may have served somebody else.
    open_spaces: BTreeSet<(String, String)>,
    /// Pools that may have served somebody else.
    open_pools: BTreeSet<(String, String)>,
    given: BTreeMap<ObjectKey, Given>,
}

/// The outcomes for a machine that got data in the course of the plan.
#[derive(Debug, Clone, Default)]
struct Given {
    indexes: BTreeSet<i64>,
    addresses: BTreeSet<String>,
}

/// What a machine has, or may have.
#[derive(Debug, Clone, Default)]
pub(super) struct Got {
    /// Empty if the host is certain.
    pub(super) hosts: BTreeSet<String>,
    pub(super) racks: BTreeSet<String>,
    pub(super) templates: BTreeSet<String>,
    pub(super) indexes: BTreeSet<i64>,
    pub(super) addresses: BTreeSet<String>,
}

impl Data {
    /// The moment ends.
    pub(super) fn settle(
        &mut self,
        memory: &Memory,
        machines: &BTreeMap<ObjectKey, MachineFact>,
        new: &BTreeMap<ObjectKey, String>,
        candidates: &Candidates,
    ) {
        for key in std::mem::take(&mut self.took) {
            let templates = candidates.of(&key).map(|choice| choice.templates.clone()).unwrap_or_default();
            if templates.len() > 1 {
                templates.iter().for_each(|template| self.open(memory, &key.namespace, template));
            }
        }
        let fresh = std::mem::take(&mut self.fresh);
        let mut by_space: BTreeMap<(String, String), BTreeSet<ObjectKey>> = BTreeMap::new();
        let mut by_pool: BTreeMap<(String, String), BTreeSet<ObjectKey>> = BTreeMap::new();
        for key in &fresh {
            let Some(fact) = machines.get(key) else { continue };
            by_space.entry(space_of(memory, key, fact)).or_default().insert(key.clone());
            for (pool, _) in &fact.addresses {
                by_pool.entry((key.namespace.clone(), pool.clone())).or_default().insert(key.clone());
            }
        }
        let is_exact = |rivals: &BTreeSet<ObjectKey>| {
            rivals.len() == 1 || rivals.iter().all(|key| !new.contains_key(key))
        };
        for (_, rivals) in by_space.iter().filter(|(space, _)| !self.open_spaces.contains(*space)) {
            for key in rivals {
                let seen = if is_exact(rivals) { [key.clone()].into() } else { rivals.clone() };
                let indexes = seen.iter().filter_map(|key| machines.get(key)?.index);
                self.given.entry(key.clone()).or_default().indexes.extend(indexes);
            }
        }
        for ((_, pool), rivals) in by_pool.iter().filter(|(pool, _)| !self.open_pools.contains(*pool)) {
            for key in rivals {
                let seen = if is_exact(rivals) { [key.clone()].into() } else { rivals.clone() };
                let facts = seen.iter().filter_map(|key| machines.get(key));
                let addresses = facts.flat_map(|fact| fact.addresses.iter()).filter(|(of, _)| of == pool);
                let addresses: Vec<String> = addresses.map(|(_, address)| address.clone()).collect();
                self.given.entry(key.clone()).or_default().addresses.extend(addresses);
            }
        }
        for key in fresh {
            self.given.entry(key).or_default();
        }
    }

    /// Nothing is certain any more of what a template and its pools give.
    fn open(&mut self, memory: &Memory, namespace: &str, template: &str) {
        let key = ObjectKey::new(namespace, template);
        let Some(found) = memory.get::<Metal3DataTemplate>(&key) else { return };
        self.open_spaces.insert((namespace.to_owned(), space(&found)));
        let text = serde_json::to_string(&found.spec).unwrap_or_default();
        let pools = memory.caches().store::<IpPool>().map(|store| store.all()).unwrap_or_default();
        for pool in pools.iter().filter(|pool| pool.metadata.namespace_str() == namespace) {
            // Whichever field names it.
            if text.contains(&format!("\"{}\"", pool.metadata.name_str())) {
                self.open_pools.insert((namespace.to_owned(), pool.metadata.name_str().to_owned()));
            }
        }
    }

    /// What a machine has, or may have.
    pub(super) fn of(&self, key: &ObjectKey, fact: &MachineFact, candidates: &Candidates) -> Got {
        let choice = candidates.of(key);
        let hosts = choice.map(|choice| choice.hosts.clone()).unwrap_or_default();
        let certain = || fact.template.iter().cloned().collect();
        let templates = choice.map(|choice| choice.templates.clone()).filter(|all| all.len() > 1);
        let racks = choice.map(|choice| choice.racks.clone()).unwrap_or_default();
        let exact = Given {
            indexes: fact.index.into_iter().collect(),
            addresses: fact.addresses.iter().map(|(_, address)| address.clone()).collect(),
        };
        let given = self.given.get(key).cloned().unwrap_or(exact);
        let has_many = hosts.len() > 1;
        Got {
            hosts: if has_many { hosts } else { BTreeSet::new() },
            racks,
            templates: templates.unwrap_or_else(certain),
            indexes: given.indexes,
            addresses: given.addresses,
        }
    }
}

/// The space of indexes of a machine's template.
fn space_of(memory: &Memory, key: &ObjectKey, fact: &MachineFact) -> (String, String) {
    let name = fact.template.clone().unwrap_or_default();
    let template = memory.get::<Metal3DataTemplate>(&ObjectKey::new(&key.namespace, &*name));
    (key.namespace.clone(), template.map_or(name, |template| space(&template)))
}

fn space(template: &Metal3DataTemplate) -> String {
    let shared = template.spec.template_reference.as_deref().filter(|name| !name.is_empty());
    shared.unwrap_or_else(|| template.metadata.name_str()).to_owned()
}
