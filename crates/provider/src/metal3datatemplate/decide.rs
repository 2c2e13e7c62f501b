//! What to do with a Metal3DataTemplate and its claims, all in one pass.

use std::collections::{BTreeMap, BTreeSet};

use capm3_api::{
    metadata::MetadataExt,
    v1beta2::{self, Metal3Data, Metal3DataClaim, Metal3DataTemplate},
    vocabulary::{annotation, finalizer, label},
};
use capm3_domain::{index::FreeIndexes, render::inline_limit};
use capm3_engine::{End, Plan};

use super::{Snapshot, claim, observe::is_of, status::indexes, template::keep};
use crate::{
    batch::{Batch, end, may_write_status},
    finalizers::{add_finalizer, remove_finalizer},
};

/// Decides; `now` is written where something changes.
pub fn decide(snapshot: &Snapshot, now: &str) -> Plan {
    batch(snapshot, now).into_plan()
}

/// The same in parts: the template's finalizer, each claim by itself, the template's status.
pub(super) fn batch(snapshot: &Snapshot, now: &str) -> Batch {
    let template = snapshot.template.as_ref();
    if template.metadata.annotation(annotation::PAUSED).is_some() {
        return Batch { tail: Plan::wait_for("the end of the template's pause"), ..Batch::default() };
    }
    let mut held = template.clone();
    if !template.metadata.is_deleting() {
        add_finalizer(&mut held.metadata, finalizer::DATA_TEMPLATE);
        keep(&mut held, snapshot);
    }
    let mut head = Plan::done();
    head.update_object(template, &held);
    let mut pass = Pass::new(snapshot, now);
    let mut claims = pass.replace_misfits();
    claims.extend(snapshot.claims.iter().map(|claim| (name_of(claim), pass.claim(claim))));
    let mut tail = Plan::done();
    let end = finish(&mut tail, &held, &pass, now);
    Batch { head, claims, tail: tail.ending(end) }
}

fn name_of(claim: &Metal3DataClaim) -> String {
    claim.metadata.name_str().to_owned()
}

/// The last writes: the status, or the end of the template.
fn finish(tail: &mut Plan, held: &Metal3DataTemplate, pass: &Pass<'_>, now: &str) -> End {
    let mut new = held.clone();
    if held.metadata.is_deleting() && !pass.snapshot.has_claims && pass.snapshot.datas.is_empty() {
        remove_finalizer(&mut new.metadata, finalizer::DATA_TEMPLATE);
        tail.update_object(held, &new);
        return End::Done;
    }
    let mut due = false;
    new.status.indexes = indexes(held.metadata.name_str(), pass.holders());
    if new.status.indexes != held.status.indexes {
        due = !may_write_status(held.status.last_updated.as_deref(), now);
        if !due {
            new.status.last_updated = Some(now.to_owned());
            tail.update_status(held, &new);
        }
    }
    end(due, pass.waits_for())
}

/// The books of one pass over the claims.
struct Pass<'a> {
    snapshot: &'a Snapshot,
    now: &'a str,
    by_claim: BTreeMap<&'a str, Vec<&'a Metal3Data>>,
    free: FreeIndexes,
    created: Vec<Metal3Data>,
    /// Data that this pass takes back.
    released: BTreeSet<&'a str>,
    paused: bool,
}

impl<'a> Pass<'a> {
    fn new(snapshot: &'a Snapshot, now: &'a str) -> Self {
        let mut by_claim: BTreeMap<&str, Vec<&Metal3Data>> = BTreeMap::new();
        for data in &snapshot.datas {
            if let Some(claim) = &data.spec.claim {
                by_claim.entry(claim.name_str()).or_default().push(data);
            }
        }
        Self {
            snapshot,
            now,
            by_claim,
            free: snapshot.free(),
            created: Vec::new(),
            released: BTreeSet::new(),
            paused: false,
        }
    }

    /// Gives claims whose data no inline range can serve a lower index, as far as there are any.
    fn replace_misfits(&mut self) -> Vec<(String, Plan)> {
        let mut plans = Vec::new();
        for (unfit, claim) in &self.snapshot.misfits {
            if self.is_paused(claim) {
                continue;
            }
            let lower =
                |data: &&Metal3Data| data.spec.index < unfit.spec.index && !data.metadata.is_deleting();
            if let Some(made) = self.datas_of(claim).find(lower) {
                // Made just before a crash.
                plans.push((name_of(claim), claim::replace(claim, unfit, made, false)));
            } else if let Some(data) = self.lower_data(unfit, claim) {
                plans.push((name_of(claim), claim::replace(claim, unfit, &data, true)));
                self.created.push(data);
            } else {
                continue;
            }
            self.released.insert(unfit.metadata.name_str());
        }
        plans
    }

    /// New data with a lower index than the one that does not fit.
    fn lower_data(&mut self, unfit: &Metal3Data, claim: &Metal3DataClaim) -> Option<Metal3Data> {
        let machine = claim.metadata.owner(v1beta2::GROUP, "Metal3Machine")?;
        let lowest = self.free.lowest().filter(|lowest| Some(lowest.get()) < unfit.spec.index)?;
        let fits = inline_limit(&self.snapshot.template.spec)
            .is_none_or(|limit| u128::try_from(lowest.get()).is_ok_and(|index| index <= limit));
        if !fits || !self.free.take(lowest) {
            return None;
        }
        Some(claim::data(&self.snapshot.template, self.snapshot.prefix(), claim, machine, lowest))
    }

    fn claim(&mut self, claim: &'a Metal3DataClaim) -> Plan {
        if self.is_paused(claim) {
            self.paused = true;
            Plan::done()
        } else if claim.metadata.is_deleting() {
            self.release(claim)
        } else {
            self.serve(claim)
        }
    }

    fn is_paused(&self, claim: &Metal3DataClaim) -> bool {
        let cluster = claim.metadata.label(label::CLUSTER_NAME);
        claim.metadata.annotation(annotation::PAUSED).is_some()
            || cluster.is_some_and(|name| self.snapshot.paused_clusters.contains(name))
    }

    fn serve(&mut self, claim: &Metal3DataClaim) -> Plan {
        let own = self.datas_of(claim).find(|data| !data.metadata.is_deleting());
        if let Some(data) = own {
            return claim::link(claim, data);
        }
        let name = claim.metadata.name_str();
        if let Some(words) = self.snapshot.refused.get(name) {
            let words = format!("Failed to create associated Metal3Data object: {words}");
            return claim::report(claim, &words, self.now);
        }
        let Some(machine) = claim.metadata.owner(v1beta2::GROUP, "Metal3Machine") else {
            return claim::report(claim, "metal3Machine not found in owner references", self.now);
        };
        let Some(index) = self.free.take_lowest() else {
            return claim::report(claim, "every index of the template is in use", self.now);
        };
        let data = claim::data(&self.snapshot.template, self.snapshot.prefix(), claim, machine, index);
        let plan = claim::create(claim, &data);
        self.created.push(data);
        plan
    }

    fn release(&mut self, claim: &'a Metal3DataClaim) -> Plan {
        let mut datas: Vec<&Metal3Data> = self.datas_of(claim).collect();
        datas.extend(self.named_by(claim));
        if claim.metadata.has_finalizer(finalizer::MACHINE) && !datas.is_empty() {
            // The machine still runs on this data: taking it back would give its addresses to somebody else.
            return Plan::done();
        }
        self.released.extend(datas.iter().map(|data| data.metadata.name_str()));
        claim::release(claim, datas.into_iter())
    }

    fn datas_of(&self, claim: &Metal3DataClaim) -> impl Iterator<Item = &'a Metal3Data> {
        let named = self.by_claim.get(claim.metadata.name_str()).cloned().unwrap_or_default();
        let own: Vec<&Metal3Data> = named.into_iter().filter(|data| is_of(data, claim)).collect();
        own.into_iter()
    }

    /// Data that the claim names although it is not the template's; never that of another claim.
    fn named_by(&self, claim: &Metal3DataClaim) -> Option<&'a Metal3Data> {
        let named = claim.status.rendered_data.as_ref()?;
        let data = self.snapshot.strays.iter().find(|data| data.metadata.name_str() == named.name_str())?;
        let free = data.spec.claim.as_ref().is_none_or(|c| c.name_str() == claim.metadata.name_str());
        free.then_some(data.as_ref())
    }

    /// Who holds an index after this pass.
    fn holders(&self) -> impl Iterator<Item = &Metal3Data> {
        let kept = self.snapshot.datas.iter().map(AsRef::as_ref);
        kept.filter(|data| !self.released.contains(data.metadata.name_str())).chain(&self.created)
    }

    fn waits_for(&self) -> Option<String> {
        if self.paused {
            return Some("the end of the pause of a Cluster or claim".to_owned());
        }
        let deleting = self.snapshot.template.metadata.is_deleting();
        deleting.then(|| "the claims and the data of the template to be gone".to_owned())
    }
}

#[cfg(test)]
#[path = "decide_tests.rs"]
mod tests;
