//! What to do with a Metal3DataTemplate and its claims, all in one pass.

use crate::plan::{End, Plan};
use capm3_api::{
    metadata::MetadataExt,
    v1beta2::{Metal3Data, Metal3DataClaim},
    vocabulary::{annotation, event, finalizer},
};

use capm3_domain::wait::{Pause, Wait};
use capm3_engine::{EventNote, Object, ObjectKey};

use super::{
    DataTemplateSnapshot,
    allocate::{Allocations, Given, Replacement, Step, allocate},
    claim,
    template::keep,
};
use crate::{
    batch::{Batch, Claims, Pass, Refusals, end, may_write_status},
    finalizers::{add_finalizer, remove_finalizer},
};

/// Decides; `now` is written where something changes.
pub fn decide(snapshot: &DataTemplateSnapshot<'_>, now: &str) -> Plan {
    snapshot.batch(now).into_plan()
}

/// The same part by part: the template itself, each claim by itself, the template's status.
pub fn decide_in_parts<'a>(
    snapshot: &'a DataTemplateSnapshot<'_>,
    now: &'a str,
) -> impl Iterator<Item = Plan> + 'a {
    snapshot.batch(now).into_parts()
}

/// What each claim that needs something gets, without the writes: its data, nothing for now, or why it gets none.
pub fn allocated(
    snapshot: &DataTemplateSnapshot<'_>,
) -> Vec<(ObjectKey, Result<Option<Metal3Data>, String>)> {
    let steps = allocate(snapshot).steps.into_iter();
    let outcomes = steps.map(|(claim, step)| {
        let outcome = match step {
            Step::Hold | Step::Release(_) => Ok(None),
            Step::Link(data) | Step::Replace { by: Replacement::Made(data), .. } => Ok(Some(data.clone())),
            Step::Create(given) | Step::Replace { by: Replacement::New(given), .. } => {
                Ok(Some(data_of(snapshot, claim, given)))
            }
            Step::Report(words) => Err(words),
        };
        (claim.key(), outcome)
    });
    outcomes.collect()
}

impl Pass for DataTemplateSnapshot<'_> {
    fn batch<'a>(&'a self, now: &'a str) -> Batch<'a> {
        let template = self.template.as_ref();
        let is_paused = template.metadata.annotation(annotation::PAUSED).is_some();
        if let Some(pause) = Pause::of("Metal3DataTemplate", is_paused, false) {
            return Batch { after: Plan::wait_for(Wait::Paused(pause)), ..Batch::default() };
        }
        let mut before = Plan::done();
        if !template.metadata.is_deleting() {
            let mut metadata = template.metadata.clone();
            add_finalizer(&mut metadata, finalizer::DATA_TEMPLATE);
            keep(&mut metadata, self);
            before.update_metadata(template, &metadata);
        }
        // Reported once, with the write that adopts the template.
        for overlap in &self.overlaps {
            before.event(EventNote::warning(template, event::RANGES_OVERLAP, overlap.to_string()));
        }
        let allocations = allocate(self);
        let mut after = Plan::done();
        let end = finish(&mut after, self, &allocations, now);
        let plan = move |(claim, step): (&Metal3DataClaim, Step<'_>)| {
            (claim.metadata.name_str().to_owned(), plan_of(self, claim, step, now))
        };
        let claims = Claims::new(allocations.steps.into_iter().map(plan));
        Batch { before, claims, after: after.ending(end) }
    }

    fn refuse(&mut self, refusals: Refusals) {
        self.refused = refusals;
    }
}

/// What a step writes.
fn plan_of(snapshot: &DataTemplateSnapshot<'_>, claim: &Metal3DataClaim, step: Step<'_>, now: &str) -> Plan {
    let data = |given: Given<'_>| data_of(snapshot, claim, given);
    match step {
        Step::Hold => Plan::done(),
        Step::Link(data) => claim::link(claim, data),
        Step::Create(given) => claim::create(claim, &data(given)),
        Step::Replace { unfit, by: Replacement::Made(made) } => claim::replace(claim, unfit, made, false),
        Step::Replace { unfit, by: Replacement::New(given) } => {
            claim::replace(claim, unfit, &data(given), true)
        }
        Step::Release(datas) => claim::release(claim, datas.into_iter()),
        Step::Report(words) => claim::report(claim, &words, now),
    }
}

/// The data that a claim gets.
fn data_of(snapshot: &DataTemplateSnapshot<'_>, claim: &Metal3DataClaim, given: Given<'_>) -> Metal3Data {
    let seen = snapshot.machines.read(given.machine.name.clone());
    let name = snapshot.name_of(given.index);
    claim::data(&snapshot.template, claim, given.machine, seen.as_deref(), given.index, name)
}

/// The last writes: the status, or the end of the template.
fn finish(
    after: &mut Plan,
    snapshot: &DataTemplateSnapshot<'_>,
    allocations: &Allocations<'_>,
    now: &str,
) -> End {
    let template = snapshot.template.as_ref();
    if snapshot.seems_empty() && !snapshot.is_proven_empty {
        return End::WaitFor(Wait::not_asked("every claim and all data of the template"));
    }
    if snapshot.seems_empty() {
        let mut metadata = template.metadata.clone();
        remove_finalizer(&mut metadata, finalizer::DATA_TEMPLATE);
        after.update_metadata(template, &metadata);
        return End::Done;
    }
    // The status is as long as the list of all data, so it is compared only when it may be written.
    let may_write = may_write_status(template.status.last_updated.as_deref(), now);
    if may_write {
        update_status(after, snapshot, allocations, now);
    }
    let paused = Pause::of("Metal3DataClaim", false, allocations.is_paused).map(Wait::Paused);
    let deleting = template.metadata.is_deleting();
    end(!may_write, paused.or(deleting.then_some(Wait::ClaimsOfTemplate)))
}

fn update_status(
    after: &mut Plan,
    snapshot: &DataTemplateSnapshot<'_>,
    allocations: &Allocations<'_>,
    now: &str,
) {
    let template = snapshot.template.as_ref();
    let indexes = allocations.indexes(template.metadata.name_str(), &snapshot.all_datas.read(()));
    if indexes != template.status.indexes {
        let mut new = template.clone();
        new.status.indexes = indexes;
        new.status.last_updated = Some(now.to_owned());
        after.update_status(template, &new);
    }
}

#[cfg(test)]
#[path = "decide_tests.rs"]
mod tests;
