//! Who gets which index in one pass, before any object is written.

use std::{collections::BTreeSet, sync::Arc};

use capm3_api::{
    metadata::MetadataExt,
    v1beta2::{self, IndexEntry, Metal3Data, Metal3DataClaim},
    vocabulary::finalizer,
};
use capm3_domain::{
    index::{FreeIndexes, Index},
    render::inline_limit,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;

use super::{
    DataTemplateSnapshot, claim,
    observe::is_of,
    status::{entries, entry, sorted},
};

/// What happens to one claim.
#[derive(Debug)]
pub(super) enum Step<'a> {
    /// Nothing: it is paused, or its machine still runs on its data.
    Hold,
    /// It is pointed at data that is there already.
    Link(&'a Metal3Data),
    /// It gets new data with this index.
    Create(Given<'a>),
    /// Its data, which no inline range can serve, makes room for another.
    Replace {
        /// What it had.
        unfit: &'a Metal3Data,
        /// What it gets.
        by: Replacement<'a>,
    },
    /// Its data is taken back and it may go.
    Release(Vec<&'a Metal3Data>),
    /// It gets none, for this reason.
    Report(String),
}

/// Data with a lower index.
#[derive(Debug)]
pub(super) enum Replacement<'a> {
    /// It is there already: made just before a crash.
    Made(&'a Metal3Data),
    /// It is to be made.
    New(Given<'a>),
}

/// An index for a claim, and the claim's reference to its Metal3Machine.
#[derive(Debug, Clone, Copy)]
pub(super) struct Given<'a> {
    pub(super) index: Index,
    pub(super) machine: &'a OwnerReference,
}

/// What happens to each claim.
#[derive(Debug)]
pub(super) struct Allocations<'a> {
    pub(super) steps: Vec<(&'a Metal3DataClaim, Step<'a>)>,
    /// Entries of `status.indexes` of the data that this pass creates.
    created: Vec<IndexEntry>,
    /// Names of the data that this pass takes back.
    released: BTreeSet<&'a str>,
    /// Whether a pause kept a claim waiting.
    pub(super) is_paused: bool,
}

/// Goes through the claims: data that was lost and data that does not fit first, then the claims in the order of the snapshot.
pub(super) fn allocate<'a>(snapshot: &'a DataTemplateSnapshot<'_>) -> Allocations<'a> {
    let mut allocator = IndexAllocator::new(snapshot);
    let lost = snapshot.claims_without_data.iter();
    let mut steps: Vec<_> =
        lost.filter_map(|(claim, index)| Some((claim.as_ref(), allocator.restore(claim, *index)?))).collect();
    let unfit = snapshot.beyond_range.iter();
    steps.extend(unfit.filter_map(|(unfit, claim)| Some((claim.as_ref(), allocator.replace(unfit, claim)?))));
    steps.extend(snapshot.claims.iter().map(|claim| (claim.as_ref(), allocator.claim(claim))));
    let IndexAllocator { created, released, is_paused, .. } = allocator;
    Allocations { steps, created, released, is_paused }
}

fn is_paused(snapshot: &DataTemplateSnapshot<'_>, claim: &Metal3DataClaim) -> bool {
    claim::is_paused(claim, |cluster| snapshot.paused_clusters.contains(cluster))
}

/// Allocates in one pass over the claims.
struct IndexAllocator<'a> {
    snapshot: &'a DataTemplateSnapshot<'a>,
    free: FreeIndexes,
    /// Entries of the data that this pass makes.
    created: Vec<IndexEntry>,
    /// Data that this pass takes back.
    released: BTreeSet<&'a str>,
    is_paused: bool,
}

impl<'a> IndexAllocator<'a> {
    fn new(snapshot: &'a DataTemplateSnapshot<'_>) -> Self {
        let free = snapshot.free();
        Self { snapshot, free, created: Vec::new(), released: BTreeSet::new(), is_paused: false }
    }

    /// Recreates the data that a claim has lost, with its index: the machine runs on what was rendered from it. While its Cluster
    /// is paused, as when a move deletes what has been moved, the index stays the claim's and nothing is made.
    fn restore(&mut self, claim: &'a Metal3DataClaim, index: Index) -> Option<Step<'a>> {
        let machine = machine_of(claim)?;
        let given = self.free.take(index).then(|| self.give(claim, machine, index))?;
        if is_paused(self.snapshot, claim) {
            self.is_paused = true;
            return Some(Step::Hold);
        }
        Some(Step::Create(given))
    }

    /// Gives a claim whose data no inline range can serve a lower index, if there is one.
    fn replace(&mut self, unfit: &'a Metal3Data, claim: &'a Metal3DataClaim) -> Option<Step<'a>> {
        if is_paused(self.snapshot, claim) {
            return None;
        }
        let is_lower =
            |data: &&Metal3Data| data.spec.index < unfit.spec.index && !data.metadata.is_deleting();
        let made = self.datas_of(claim).find(is_lower);
        let by = match made {
            Some(made) => Replacement::Made(made),
            None => Replacement::New(self.lower(unfit, claim)?),
        };
        self.released.insert(unfit.metadata.name_str());
        Some(Step::Replace { unfit, by })
    }

    /// A lower index than the one that does not fit.
    fn lower(&mut self, unfit: &Metal3Data, claim: &'a Metal3DataClaim) -> Option<Given<'a>> {
        let machine = machine_of(claim)?;
        let lowest = self.free.lowest().filter(|lowest| Some(lowest.get()) < unfit.spec.index)?;
        let fits = inline_limit(&self.snapshot.template.spec)
            .is_none_or(|limit| u128::try_from(lowest.get()).is_ok_and(|index| index <= limit));
        (fits && self.free.take(lowest)).then(|| self.give(claim, machine, lowest))
    }

    fn claim(&mut self, claim: &'a Metal3DataClaim) -> Step<'a> {
        if is_paused(self.snapshot, claim) {
            self.is_paused = true;
            Step::Hold
        } else if claim.metadata.is_deleting() {
            self.release(claim)
        } else {
            self.serve(claim)
        }
    }

    fn serve(&mut self, claim: &'a Metal3DataClaim) -> Step<'a> {
        let own = self.datas_of(claim).find(|data| !data.metadata.is_deleting());
        if let Some(data) = own {
            return Step::Link(data);
        }
        if let Some(words) = self.snapshot.refused.get(claim.metadata.name_str()) {
            return Step::Report(format!("Failed to create associated Metal3Data object: {words}"));
        }
        let Some(machine) = machine_of(claim) else {
            return Step::Report("metal3Machine not found in owner references".to_owned());
        };
        match self.free.take_lowest() {
            Some(index) => Step::Create(self.give(claim, machine, index)),
            None => Step::Report("every index of the template is in use".to_owned()),
        }
    }

    fn give(&mut self, claim: &Metal3DataClaim, machine: &'a OwnerReference, index: Index) -> Given<'a> {
        let template = self.snapshot.template.metadata.name_str();
        let name = self.snapshot.name_of(index);
        self.created.extend(entry(template, claim.metadata.name_str(), index.get(), &name));
        Given { index, machine }
    }

    fn release(&mut self, claim: &'a Metal3DataClaim) -> Step<'a> {
        if self.snapshot.unseen_datas.contains_key(claim.metadata.name_str()) {
            return Step::Hold;
        }
        let mut datas: Vec<&Metal3Data> = self.datas_of(claim).collect();
        datas.extend(self.named_by(claim));
        if claim.metadata.has_finalizer(finalizer::MACHINE) && !datas.is_empty() {
            // The machine still runs on this data: taking it back would give its addresses to somebody else.
            return Step::Hold;
        }
        self.released.extend(datas.iter().map(|data| data.metadata.name_str()));
        Step::Release(datas)
    }

    fn datas_of<'c>(
        &self,
        claim: &'c Metal3DataClaim,
    ) -> impl Iterator<Item = &'a Metal3Data> + use<'a, 'c, '_> {
        let named = self.snapshot.datas.get(claim.metadata.name_str()).into_iter().flatten();
        named.map(AsRef::as_ref).filter(move |data| is_of(data, claim))
    }

    /// Data that the claim names although it is not the template's; never that of another claim.
    fn named_by(&self, claim: &Metal3DataClaim) -> Option<&'a Metal3Data> {
        let named = claim.status.rendered_data.as_ref()?;
        let data =
            self.snapshot.foreign_datas.iter().find(|data| data.metadata.name_str() == named.name_str())?;
        let free = data.spec.claim.as_ref().is_none_or(|c| c.name_str() == claim.metadata.name_str());
        free.then_some(data.as_ref())
    }
}

impl Allocations<'_> {
    /// `status.indexes` after this pass, if these are all data of the template.
    pub(super) fn indexes(&self, template: &str, datas: &[Arc<Metal3Data>]) -> Vec<IndexEntry> {
        let kept = datas.iter().filter(|data| !self.released.contains(data.metadata.name_str()));
        let kept = entries(template, kept.map(AsRef::as_ref));
        sorted(kept.into_iter().chain(self.created.iter().cloned()).collect())
    }
}

fn machine_of(claim: &Metal3DataClaim) -> Option<&OwnerReference> {
    claim.metadata.owner(v1beta2::GROUP, "Metal3Machine")
}
