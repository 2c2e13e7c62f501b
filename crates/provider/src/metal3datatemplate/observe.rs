//! What a decision about a Metal3DataTemplate needs to know.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use capm3_api::{
    metadata::MetadataExt,
    neighbours::Cluster,
    reference::ObjectRef,
    v1beta2::{Metal3Data, Metal3DataClaim, Metal3DataTemplate},
    vocabulary::{finalizer, label},
};
use capm3_domain::{
    index::{FreeIndexes, Index, data_name, name_prefix, space_of_template},
    render::{Overlap, inline_limit, overlap},
    wait::Text,
};
use capm3_engine::{Object, ObjectKey, Reader};

use crate::{
    batch::by_age,
    indexes::{
        CLAIMS_BY_TEMPLATE, DATA_BY_SPACE, DATA_BY_TEMPLATE, OPEN_CLAIMS_BY_TEMPLATE,
        RANGED_TEMPLATES_BY_NAMESPACE, TEMPLATES_BY_SPACE,
    },
};

/// A Metal3DataTemplate, the claims that need something, and all data of the template.
#[derive(Debug, Clone)]
pub struct Snapshot {
    /// The object itself.
    pub template: Arc<Metal3DataTemplate>,
    /// Claims that are being deleted, then those that are not served yet; the oldest first.
    pub claims: Vec<Arc<Metal3DataClaim>>,
    /// Claims that were served and whose data was taken away by hand, with its index.
    pub bereaved: Vec<(Arc<Metal3DataClaim>, Index)>,
    /// Whether the template has claims at all; looked up only while the template is being deleted.
    pub has_claims: bool,
    /// Whether it is proven that the template has neither claims nor data; asked for only while it is being deleted.
    pub is_proven_empty: bool,
    /// All data of the template.
    pub datas: Vec<Arc<Metal3Data>>,
    /// Data of other templates that count in the same index space.
    pub shared: Vec<Arc<Metal3Data>>,
    /// Data of the template that no inline range can serve, never rendered, with its claim; the oldest claim first.
    pub misfits: Vec<(Arc<Metal3Data>, Arc<Metal3DataClaim>)>,
    /// Data that deleted claims name and that is not seen, by the names of the claims: it must be proven to be gone before the
    /// claims are let go.
    pub unseen_datas: BTreeMap<String, ObjectKey>,
    /// Data that is not the template's: it stands under a name that a new one would get, or a claim on its way out
    /// names it.
    pub strays: Vec<Arc<Metal3Data>>,
    /// Other templates that would give the same addresses out; looked for only when the template is first seen.
    pub overlaps: Vec<Overlap>,
    /// Names of paused Clusters among those of the claims.
    pub paused_clusters: BTreeSet<String>,
    /// Claims for which the server refused the data just now, with the server's words.
    pub refused: BTreeMap<String, Text>,
}

/// Reads the snapshot; `None` when the object is gone.
pub fn observe(reader: &impl Reader, key: &ObjectKey) -> Option<Snapshot> {
    let template = reader.get::<Metal3DataTemplate>(key)?;
    let datas = reader.by_index(&DATA_BY_TEMPLATE, &key.to_string());
    let mut claims = reader.by_index(&OPEN_CLAIMS_BY_TEMPLATE, &key.to_string());
    let going = |claim: &Metal3DataClaim| claim.metadata.is_deleting();
    claims.sort_by(|a, b| going(b).cmp(&going(a)).then_with(|| by_age(&a.metadata, &b.metadata)));
    let has_claims =
        template.metadata.is_deleting() && !reader.by_index(&CLAIMS_BY_TEMPLATE, &key.to_string()).is_empty();
    let misfits = misfits(reader, &template, &datas);
    let bereaved = bereaved(reader, &template, &datas);
    let mut snapshot = Snapshot {
        unseen_datas: unseen_datas(reader, &claims),
        paused_clusters: paused_clusters(reader, key, &claims),
        shared: shared(reader, &template, &datas),
        overlaps: overlaps(reader, &template),
        template,
        claims,
        bereaved,
        has_claims,
        is_proven_empty: reader.is_authoritative(),
        datas,
        misfits,
        strays: Vec::new(),
        refused: BTreeMap::new(),
    };
    snapshot.strays = squatters(reader, &snapshot);
    snapshot.strays.extend(snapshot.claims.iter().filter_map(|claim| named_by(reader, claim)));
    Some(snapshot)
}

impl Snapshot {
    /// Whether the template, which is being deleted, has neither claims nor data as far as is seen.
    pub(super) fn seems_empty(&self) -> bool {
        self.template.metadata.is_deleting() && !self.has_claims && self.datas.is_empty()
    }

    /// What stands before the index in the names of new data.
    fn prefix(&self) -> &str {
        name_prefix(space_of_template(&self.template), self.template.metadata.name_str())
    }

    /// The name of new data with an index: `<prefix>-<index>`.
    pub(super) fn name_of(&self, index: Index) -> String {
        data_name(self.prefix(), index)
    }

    /// Every index that may be given out, as far as the snapshot knows.
    pub(super) fn free(&self) -> FreeIndexes {
        let prefix = self.prefix();
        let counted = self.datas.iter().chain(&self.shared);
        let own = counted.clone().filter_map(|data| data.spec.index.and_then(Index::new));
        let names = counted.chain(&self.strays).filter_map(|data| index_of_name(data, prefix));
        FreeIndexes::from_used(own.chain(names))
    }
}

/// Data that deleted claims name and that is neither seen nor known to be gone.
pub(super) fn unseen_datas(
    reader: &impl Reader,
    claims: &[Arc<Metal3DataClaim>],
) -> BTreeMap<String, ObjectKey> {
    let unseen = claims.iter().filter(|claim| claim.metadata.is_deleting()).filter_map(|claim| {
        let data = claim.status.rendered_data.as_ref()?;
        let key = ObjectKey::new(claim.metadata.namespace_str(), data.name_str());
        let is_known =
            reader.get::<Metal3Data>(&key).is_some() || reader.is_known_gone::<Metal3Data>(&key, None);
        (!is_known).then(|| (claim.metadata.name_str().to_owned(), key))
    });
    unseen.collect()
}

/// Data of others that count in the template's index space: by their key, or because they name a template of this key.
fn shared(
    reader: &impl Reader,
    template: &Metal3DataTemplate,
    own: &[Arc<Metal3Data>],
) -> Vec<Arc<Metal3Data>> {
    let namespace = template.metadata.namespace_str();
    let space = format!("{namespace}/{}", space_of_template(template));
    let mut others: BTreeMap<ObjectKey, Arc<Metal3Data>> = BTreeMap::new();
    let mut add =
        |datas: Vec<Arc<Metal3Data>>| others.extend(datas.into_iter().map(|data| (data.key(), data)));
    add(reader.by_index(&DATA_BY_SPACE, &space));
    for sibling in reader.by_index(&TEMPLATES_BY_SPACE, &space) {
        if sibling.metadata.name != template.metadata.name {
            add(reader.by_index(&DATA_BY_TEMPLATE, &sibling.key().to_string()));
        }
    }
    for data in own {
        others.remove(&data.key());
    }
    others.into_values().collect()
}

/// Templates of the namespace whose inline ranges overlap with those of a template without finalizer.
fn overlaps(reader: &impl Reader, template: &Metal3DataTemplate) -> Vec<Overlap> {
    let is_new =
        !template.metadata.is_deleting() && !template.metadata.has_finalizer(finalizer::DATA_TEMPLATE);
    if !is_new || inline_limit(&template.spec).is_none() {
        return Vec::new();
    }
    let others = reader.by_index(&RANGED_TEMPLATES_BY_NAMESPACE, template.metadata.namespace_str());
    others.iter().filter_map(|other| overlap(template, other)).collect()
}

/// Served claims without data. Their index is told by the template's status, which is written after the data, so it names an
/// index that is in use even when the data is gone.
fn bereaved(
    reader: &impl Reader,
    template: &Metal3DataTemplate,
    datas: &[Arc<Metal3Data>],
) -> Vec<(Arc<Metal3DataClaim>, Index)> {
    let namespace = template.metadata.namespace_str();
    let held: BTreeSet<i32> = datas.iter().filter_map(|data| data.spec.index).collect();
    let lost = template.status.indexes.iter().filter(|entry| !held.contains(&entry.index));
    lost.filter_map(|entry| {
        let index = Index::new(entry.index)?;
        let claim = reader.get::<Metal3DataClaim>(&ObjectKey::new(namespace, &entry.name))?;
        let follows = || data_name(template.metadata.name_str(), index);
        let name = entry.data_name.clone().unwrap_or_else(follows);
        let used = claim.status.rendered_data.as_ref().map(|data| data.name_str());
        let is_gone = reader.get::<Metal3Data>(&ObjectKey::new(namespace, &name)).is_none();
        let is_served = used == Some(name.as_str()) && !claim.metadata.is_deleting();
        (is_served && is_gone).then_some((claim, index))
    })
    .collect()
}

/// Data whose index lies behind the last address of an inline range. It was never rendered, so it may be replaced by
/// one with a lower index.
fn misfits(
    reader: &impl Reader,
    template: &Metal3DataTemplate,
    datas: &[Arc<Metal3Data>],
) -> Vec<(Arc<Metal3Data>, Arc<Metal3DataClaim>)> {
    let Some(limit) = inline_limit(&template.spec) else { return Vec::new() };
    let is_beyond = |data: &&Arc<Metal3Data>| {
        let index = data.spec.index.and_then(|index| u128::try_from(index).ok());
        let rendered = data.status.ready == Some(true);
        index.is_some_and(|index| index > limit) && !rendered && !data.metadata.is_deleting()
    };
    let with_claim = |data: &Arc<Metal3Data>| {
        let name = data.spec.claim.as_ref()?.name_str();
        let claim = reader.get::<Metal3DataClaim>(&ObjectKey::new(data.metadata.namespace_str(), name))?;
        // A claim that was not told of its data yet is told first.
        let told = claim.status.rendered_data.is_some();
        let alive = is_of(data, &claim) && !claim.metadata.is_deleting();
        (alive && told).then(|| (Arc::clone(data), claim))
    };
    let mut found: Vec<_> = datas.iter().filter(is_beyond).filter_map(with_claim).collect();
    found.sort_by(|(_, a), (_, b)| by_age(&a.metadata, &b.metadata));
    found
}

/// Data of others under the names that the next indexes would give.
fn squatters(reader: &impl Reader, snapshot: &Snapshot) -> Vec<Arc<Metal3Data>> {
    let (prefix, namespace) = (snapshot.prefix(), snapshot.template.metadata.namespace_str());
    let mut free = snapshot.free();
    let mut found = Vec::new();
    let mut left = snapshot.claims.len() + snapshot.misfits.len();
    while left > 0 {
        let Some(index) = free.take_lowest() else { break };
        match reader.get::<Metal3Data>(&ObjectKey::new(namespace, data_name(prefix, index))) {
            Some(data) => found.push(data),
            None => left -= 1,
        }
    }
    found
}

/// The data that a claim on its way out names, if that data does not name the claim's template.
fn named_by(reader: &impl Reader, claim: &Metal3DataClaim) -> Option<Arc<Metal3Data>> {
    let named = claim.status.rendered_data.as_ref().filter(|_| claim.metadata.is_deleting())?;
    let data = reader.get::<Metal3Data>(&ObjectKey::new(claim.metadata.namespace_str(), named.name_str()))?;
    let template = |t: &Option<ObjectRef>| t.as_ref().map(|t| t.name_str().to_owned());
    (template(&data.spec.template) != template(&claim.spec.template)).then_some(data)
}

fn paused_clusters(
    reader: &impl Reader,
    key: &ObjectKey,
    claims: &[Arc<Metal3DataClaim>],
) -> BTreeSet<String> {
    let names: BTreeSet<&str> = claims.iter().filter_map(|c| c.metadata.label(label::CLUSTER_NAME)).collect();
    let is_paused = |name: &&str| {
        reader
            .get::<Cluster>(&ObjectKey::new(&key.namespace, *name))
            .is_some_and(|cluster| cluster.is_paused())
    };
    names.into_iter().filter(is_paused).map(str::to_owned).collect()
}

/// Whether the data is the claim's: the claim's name, and no owner that says it was an older claim of that name.
pub(super) fn is_of(data: &Metal3Data, claim: &Metal3DataClaim) -> bool {
    let named = data.spec.claim.as_ref().is_some_and(|c| c.name_str() == claim.metadata.name_str());
    let owner = data.metadata.owner(capm3_api::v1beta2::GROUP, "Metal3DataClaim");
    named && owner.is_none_or(|owner| owner.uid == claim.metadata.uid_str())
}

/// The index that an object's name stands for.
fn index_of_name(data: &Metal3Data, prefix: &str) -> Option<Index> {
    let digits = data.metadata.name_str().strip_prefix(prefix)?.strip_prefix('-')?;
    let index = digits.parse().ok().and_then(Index::new)?;
    (data_name(prefix, index) == data.metadata.name_str()).then_some(index)
}
