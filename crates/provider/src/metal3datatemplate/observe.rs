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
    vocabulary::label,
};
use capm3_domain::index::{FreeIndexes, Index, data_name};
use capm3_engine::{ObjectKey, Reader};

use crate::batch::by_age;
use crate::indexes::{CLAIMS_BY_TEMPLATE, DATA_BY_TEMPLATE, OPEN_CLAIMS_BY_TEMPLATE};

/// A Metal3DataTemplate, the claims that need something, and all data of the template.
#[derive(Debug, Clone)]
pub struct Snapshot {
    /// The object itself.
    pub template: Arc<Metal3DataTemplate>,
    /// Claims that are being deleted, then those that are not served yet; the oldest first.
    pub claims: Vec<Arc<Metal3DataClaim>>,
    /// Whether the template has claims at all; looked up only while the template is being deleted.
    pub has_claims: bool,
    /// All data of the template.
    pub datas: Vec<Arc<Metal3Data>>,
    /// Data that is not the template's: it stands under a name that a new one would get, or a claim on its way out
    /// names it.
    pub strays: Vec<Arc<Metal3Data>>,
    /// Names of paused Clusters among those of the claims.
    pub paused_clusters: BTreeSet<String>,
    /// Claims for which the server refused the data just now, with the server's words.
    pub refused: BTreeMap<String, String>,
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
    let mut strays = squatters(reader, key, &datas, claims.len());
    strays.extend(claims.iter().filter_map(|claim| named_by(reader, claim)));
    Some(Snapshot {
        paused_clusters: paused_clusters(reader, key, &claims),
        template,
        claims,
        has_claims,
        datas,
        strays,
        refused: BTreeMap::new(),
    })
}

/// Data of others under the names that the next `needed` indexes would give.
fn squatters(
    reader: &impl Reader,
    key: &ObjectKey,
    datas: &[Arc<Metal3Data>],
    needed: usize,
) -> Vec<Arc<Metal3Data>> {
    let mut free = FreeIndexes::from_used(datas.iter().flat_map(|data| occupied_by(data, &key.name)));
    let mut found = Vec::new();
    let mut left = needed;
    while left > 0 {
        let Some(index) = free.take_lowest() else { break };
        match reader.get::<Metal3Data>(&ObjectKey::new(&key.namespace, data_name(&key.name, index))) {
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

/// The indexes that an object keeps from being given out: its own, and the one that its name stands for.
pub(super) fn occupied_by(data: &Metal3Data, template: &str) -> impl Iterator<Item = Index> {
    let by_name = data.metadata.name_str().strip_prefix(template).and_then(|rest| rest.strip_prefix('-'));
    let by_name = by_name.and_then(|digits| digits.parse().ok()).and_then(Index::new);
    let by_name = by_name.filter(|index| data_name(template, *index) == data.metadata.name_str());
    let own = data.spec.index.and_then(Index::new);
    // Another template's data may have any index; only its name is in the way.
    let ours = data.spec.template.as_ref().is_some_and(|t| t.name_str() == template);
    by_name.into_iter().chain(own.filter(|_| ours))
}
