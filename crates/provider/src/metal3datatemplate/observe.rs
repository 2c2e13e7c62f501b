//! What a decision about a Metal3DataTemplate needs to know.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use capm3_api::{
    metadata::MetadataExt,
    neighbours::Cluster,
    reference::ObjectRef,
    v1beta2::{Metal3Data, Metal3DataClaim, Metal3DataTemplate, Metal3Machine},
    vocabulary::{finalizer, label},
};
use capm3_domain::{
    index::{FreeIndexes, Index, data_name, name_prefix, space_of_template},
    numbers::UsedNumbers,
    render::{Overlap, inline_limit, overlap},
    wait::Text,
};
use capm3_engine::{Object, ObjectKey, Reader};

use crate::{
    Lazy,
    aggregates::{ByNamePrefix, BySpace, ByTemplate, ClustersOfTemplate, InStatus, Used},
    batch::by_age,
    indexes::{
        CLAIMS_BY_TEMPLATE, DATA_BY_CLAIM, DATA_BY_TEMPLATE, OPEN_CLAIMS_BY_TEMPLATE,
        RANGED_TEMPLATES_BY_NAMESPACE, TEMPLATES_BY_SPACE, UNRENDERED_DATA_BY_TEMPLATE,
    },
};

/// A Metal3DataTemplate, the claims that need something, and the indexes in use. It costs what these claims touch, not what the
/// template holds.
#[derive(Debug, Clone)]
pub struct DataTemplateSnapshot<'r> {
    /// The object itself.
    pub template: Arc<Metal3DataTemplate>,
    /// Claims that are being deleted, then those that are not served yet; the oldest first.
    pub claims: Vec<Arc<Metal3DataClaim>>,
    /// Claims that were served and whose data was taken away by hand, with its index.
    pub claims_without_data: Vec<(Arc<Metal3DataClaim>, Index)>,
    /// Whether the template has claims at all; looked up only while the template is being deleted.
    pub has_claims: bool,
    /// Whether the template has data.
    pub has_data: bool,
    /// Whether it is proven that the template has neither claims nor data; asked for only while it is being deleted.
    pub is_proven_empty: bool,
    /// Data of the template that these claims have, by the name of the claim.
    pub datas: BTreeMap<String, Vec<Arc<Metal3Data>>>,
    /// All data of the template.
    pub all_datas: Lazy<'r, (), Vec<Arc<Metal3Data>>>,
    /// Indexes that data use in the index space of the template, and indexes in the names that new data would get.
    pub used: Vec<Arc<UsedNumbers>>,
    /// Clusters of the data of the template.
    pub clusters: Arc<ClustersOfTemplate>,
    /// Data of the template that no inline range can serve, never rendered, with its claim; the oldest claim first.
    pub beyond_range: Vec<(Arc<Metal3Data>, Arc<Metal3DataClaim>)>,
    /// Data that deleted claims name and that is not seen, by the names of the claims: it must be proven to be gone before the
    /// claims are released.
    pub unseen_datas: BTreeMap<String, ObjectKey>,
    /// Data of other templates that claims being deleted name.
    pub foreign_datas: Vec<Arc<Metal3Data>>,
    /// Other templates that would give the same addresses out; looked for only when the template is first seen.
    pub overlaps: Vec<Overlap>,
    /// The machine of a name, read for the data that is made for it.
    pub machines: Lazy<'r, String, Option<Arc<Metal3Machine>>>,
    /// Names of paused Clusters among those of all claims that may be given data.
    pub paused_clusters: BTreeSet<String>,
    /// Claims for which the server refused the data just now, with the server's words.
    pub refused: BTreeMap<String, Text>,
}

/// Reads the snapshot; `None` when the object is gone.
pub fn observe<'r, R: Reader>(reader: &'r R, key: &ObjectKey) -> Option<DataTemplateSnapshot<'r>> {
    let template = reader.get::<Metal3DataTemplate>(key)?;
    let value = key.to_string();
    let mut claims = reader.by_index(&OPEN_CLAIMS_BY_TEMPLATE, &value);
    let going = |claim: &Metal3DataClaim| claim.metadata.is_deleting();
    claims.sort_by(|a, b| going(b).cmp(&going(a)).then_with(|| by_age(&a.metadata, &b.metadata)));
    let beyond_range = beyond_range(reader, &template);
    let claims_without_data = claims_without_data(reader, &template);
    let served = claims.iter().chain(beyond_range.iter().map(|(_, claim)| claim));
    let given_data = served.clone().chain(claims_without_data.iter().map(|(claim, _)| claim));
    Some(DataTemplateSnapshot {
        paused_clusters: paused_clusters(reader, key, given_data),
        datas: served.map(|claim| datas_of(reader, key, claim)).collect(),
        unseen_datas: unseen_datas(reader, &claims),
        claims_without_data,
        foreign_datas: claims.iter().filter_map(|claim| named_by(reader, claim)).collect(),
        used: used(reader, &template),
        clusters: reader.aggregate::<Metal3Data, ClustersOfTemplate>(&value),
        overlaps: overlaps(reader, &template),
        has_claims: template.metadata.is_deleting() && reader.count(&CLAIMS_BY_TEMPLATE, &value) > 0,
        has_data: reader.count(&DATA_BY_TEMPLATE, &value) > 0,
        is_proven_empty: reader.is_authoritative(),
        machines: Lazy::new(machine_of(reader, key)),
        all_datas: Lazy::new(move |()| reader.by_index(&DATA_BY_TEMPLATE, &value)),
        template,
        claims,
        beyond_range,
        refused: BTreeMap::new(),
    })
}

impl DataTemplateSnapshot<'_> {
    /// Whether the template, which is being deleted, has neither claims nor data as far as is seen.
    pub(super) fn seems_empty(&self) -> bool {
        self.template.metadata.is_deleting() && !self.has_claims && !self.has_data
    }

    /// The name of new data with an index: `<prefix>-<index>`.
    pub(super) fn name_of(&self, index: Index) -> String {
        data_name(prefix_of(&self.template), index)
    }

    /// Every index that may be given out.
    pub(super) fn free(&self) -> FreeIndexes {
        FreeIndexes::beside(self.used.clone())
    }
}

/// What stands before the index in the names of new data.
fn prefix_of(template: &Metal3DataTemplate) -> &str {
    name_prefix(space_of_template(template), template.metadata.name_str())
}

/// Sets of indexes that are not free: of data that count in the template's index space, by their key or because they name a
/// template of this key, and of any data whose name new data would get.
fn used(reader: &impl Reader, template: &Metal3DataTemplate) -> Vec<Arc<UsedNumbers>> {
    let namespace = template.metadata.namespace_str();
    let space = format!("{namespace}/{}", space_of_template(template));
    let prefix = format!("{namespace}/{}", prefix_of(template));
    let siblings = reader.by_index(&TEMPLATES_BY_SPACE, &space);
    let siblings = siblings.iter().map(|sibling| sibling.key().to_string());
    let by_template = siblings.map(|key| reader.aggregate::<Metal3Data, Used<ByTemplate>>(&key).numbers());
    let by_space = reader.aggregate::<Metal3Data, Used<BySpace>>(&space).numbers();
    let by_name = reader.aggregate::<Metal3Data, Used<ByNamePrefix>>(&prefix).numbers();
    by_template.chain([by_space, by_name]).collect()
}

/// The name of a claim, and the data of the template that names it.
fn datas_of(
    reader: &impl Reader,
    template: &ObjectKey,
    claim: &Metal3DataClaim,
) -> (String, Vec<Arc<Metal3Data>>) {
    let mut datas = reader.by_index(&DATA_BY_CLAIM, &claim.key().to_string());
    datas.retain(|data| data.spec.template.as_ref().is_some_and(|of| of.name_str() == template.name));
    (claim.metadata.name_str().to_owned(), datas)
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

/// Served claims without data. Their index is in the template's status, which is written after the data, so it names an
/// index that is in use even when the data is gone.
fn claims_without_data(
    reader: &impl Reader,
    template: &Metal3DataTemplate,
) -> Vec<(Arc<Metal3DataClaim>, Index)> {
    let (namespace, key) = (template.metadata.namespace_str(), template.key().to_string());
    let shown = reader.aggregate::<Metal3DataTemplate, Used<InStatus>>(&key).numbers();
    let held = reader.aggregate::<Metal3Data, Used<ByTemplate>>(&key).numbers();
    let lost = shown.numbers().minus(held.numbers());
    if lost.is_empty() {
        return Vec::new();
    }
    let indexes = template.status.indexes.iter();
    let indexes = indexes.filter_map(|entry| Some((entry, Index::new(entry.index)?)));
    let lost = indexes.filter(|(_, index)| lost.contains(index.number()));
    lost.filter_map(|(entry, index)| {
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
fn beyond_range(
    reader: &impl Reader,
    template: &Metal3DataTemplate,
) -> Vec<(Arc<Metal3Data>, Arc<Metal3DataClaim>)> {
    let Some(limit) = inline_limit(&template.spec) else { return Vec::new() };
    let is_beyond = |data: &Arc<Metal3Data>| {
        let index = data.spec.index.and_then(|index| u128::try_from(index).ok());
        index.is_some_and(|index| index > limit)
    };
    let with_claim = |data: Arc<Metal3Data>| {
        let name = data.spec.claim.as_ref()?.name_str();
        let claim = reader.get::<Metal3DataClaim>(&ObjectKey::new(data.metadata.namespace_str(), name))?;
        // A claim whose status does not name its data yet gets that first.
        let is_served = claim.status.rendered_data.is_some();
        let is_alive = is_of(&data, &claim) && !claim.metadata.is_deleting();
        (is_alive && is_served).then_some((data, claim))
    };
    let unrendered = reader.by_index(&UNRENDERED_DATA_BY_TEMPLATE, &template.key().to_string());
    let mut found: Vec<_> = unrendered.into_iter().filter(is_beyond).filter_map(with_claim).collect();
    found.sort_by(|(_, a), (_, b)| by_age(&a.metadata, &b.metadata));
    found
}

/// The data that a claim being deleted names, if that data does not name the claim's template.
fn named_by(reader: &impl Reader, claim: &Metal3DataClaim) -> Option<Arc<Metal3Data>> {
    let named = claim.status.rendered_data.as_ref().filter(|_| claim.metadata.is_deleting())?;
    let data = reader.get::<Metal3Data>(&ObjectKey::new(claim.metadata.namespace_str(), named.name_str()))?;
    let template = |t: &Option<ObjectRef>| t.as_ref().map(|t| t.name_str().to_owned());
    (template(&data.spec.template) != template(&claim.spec.template)).then_some(data)
}

fn paused_clusters<'c>(
    reader: &impl Reader,
    key: &ObjectKey,
    claims: impl Iterator<Item = &'c Arc<Metal3DataClaim>>,
) -> BTreeSet<String> {
    let names: BTreeSet<&str> = claims.filter_map(|c| c.metadata.label(label::CLUSTER_NAME)).collect();
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

/// Reads the machine of a name beside the template.
fn machine_of<'r, R: Reader>(
    reader: &'r R,
    template: &ObjectKey,
) -> impl Fn(String) -> Option<Arc<Metal3Machine>> + use<'r, R> {
    let namespace = template.namespace.clone();
    move |name| reader.get(&ObjectKey::new(namespace.clone(), name))
}
