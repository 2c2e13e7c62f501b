//! What to do with a Metal3DataTemplate and its claims, all in one pass.

use crate::plan::{End, Plan};
use capm3_api::{
    metadata::MetadataExt,
    v1beta2::{Metal3DataClaim, Metal3DataTemplate},
    vocabulary::{annotation, event, finalizer},
};

use capm3_domain::wait::{Pause, Wait};
use capm3_engine::EventNote;

use super::{
    Snapshot,
    allot::{Allotment, Given, Replacement, Step, allot},
    claim,
    template::keep,
};
use crate::{
    batch::{Batch, Claims, Pass, Refusals, end, may_write_status},
    finalizers::{add_finalizer, remove_finalizer},
};

/// Decides; `now` is written where something changes.
pub fn decide(snapshot: &Snapshot, now: &str) -> Plan {
    snapshot.batch(now).into_plan()
}

/// The same part by part: the template itself, each claim by itself, the template's status.
pub fn decide_in_parts<'a>(snapshot: &'a Snapshot, now: &'a str) -> impl Iterator<Item = Plan> + 'a {
    snapshot.batch(now).into_parts()
}

impl Pass for Snapshot {
    fn batch<'a>(&'a self, now: &'a str) -> Batch<'a> {
        let template = self.template.as_ref();
        let is_paused = template.metadata.annotation(annotation::PAUSED).is_some();
        if let Some(pause) = Pause::of("Metal3DataTemplate", is_paused, false) {
            return Batch { tail: Plan::wait_for(Wait::Paused(pause)), ..Batch::default() };
        }
        let mut held = template.clone();
        if !template.metadata.is_deleting() {
            add_finalizer(&mut held.metadata, finalizer::DATA_TEMPLATE);
            keep(&mut held, self);
        }
        let mut head = Plan::done();
        head.update_object(template, &held);
        // Said once, with the write that takes the template on.
        for overlap in &self.overlaps {
            head.event(EventNote::warning(template, event::RANGES_OVERLAP, overlap.to_string()));
        }
        let allotment = allot(self);
        let mut tail = Plan::done();
        let end = finish(&mut tail, self, &held, &allotment, now);
        let plan = move |(claim, step): (&Metal3DataClaim, Step<'_>)| {
            (claim.metadata.name_str().to_owned(), plan_of(self, claim, step, now))
        };
        let claims = Claims::new(allotment.steps.into_iter().map(plan));
        Batch { head, claims, tail: tail.ending(end) }
    }

    fn refuse(&mut self, refusals: Refusals) {
        self.refused = refusals;
    }
}

/// What a step writes.
fn plan_of(snapshot: &Snapshot, claim: &Metal3DataClaim, step: Step<'_>, now: &str) -> Plan {
    let data = |given: Given<'_>| {
        claim::data(&snapshot.template, claim, given.machine, given.index, snapshot.name_of(given.index))
    };
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

/// The last writes: the status, or the end of the template.
fn finish(
    tail: &mut Plan,
    snapshot: &Snapshot,
    held: &Metal3DataTemplate,
    allotment: &Allotment<'_>,
    now: &str,
) -> End {
    let mut new = held.clone();
    let deleting = held.metadata.is_deleting();
    if snapshot.seems_empty() && !snapshot.is_proven_empty {
        return End::WaitFor(Wait::not_asked("every claim and all data of the template"));
    }
    if snapshot.seems_empty() {
        remove_finalizer(&mut new.metadata, finalizer::DATA_TEMPLATE);
        tail.update_object(held, &new);
        return End::Done;
    }
    let mut due = false;
    if allotment.indexes != held.status.indexes {
        due = !may_write_status(held.status.last_updated.as_deref(), now);
        if !due {
            new.status.indexes = allotment.indexes.clone();
            new.status.last_updated = Some(now.to_owned());
            tail.update_status(held, &new);
        }
    }
    let paused = Pause::of("Metal3DataClaim", false, allotment.is_paused).map(Wait::Paused);
    end(due, paused.or(deleting.then_some(Wait::ClaimsOfTemplate)))
}

#[cfg(test)]
#[path = "decide_tests.rs"]
mod tests;
