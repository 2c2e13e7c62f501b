//! What to do with an IPPool and its claims, all in one pass.

use crate::plan::{End, Plan};
use std::collections::{BTreeMap, BTreeSet};

use capm3_api::{
    ipam::IpPool,
    metadata::{MetadataExt, group_of},
    neighbours::{CAPI_GROUP, Cluster},
    vocabulary::{IPAM_PROVIDER, annotation, finalizer, label},
};
use capm3_domain::{
    address::ClaimKey,
    wait::{Pause, Wait},
};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;

use super::{
    Snapshot,
    allot::{Allotment, Step, allot},
    claim,
    kinds::Claim,
};
use crate::{
    batch::{Batch, Claims, Pass, Refusals, end, may_write_status},
    finalizers::{add_finalizer, remove_finalizer},
    owners::owned_by,
};

/// Decides; `now` is written where something changes.
pub fn decide(snapshot: &Snapshot, now: &str) -> Plan {
    snapshot.batch(now).into_plan()
}

/// The same part by part: what the pool itself needs, each claim by itself, the pool's status.
pub fn decide_in_parts<'a>(snapshot: &'a Snapshot, now: &'a str) -> impl Iterator<Item = Plan> + 'a {
    snapshot.batch(now).into_parts()
}

impl Pass for Snapshot {
    fn batch<'a>(&'a self, now: &'a str) -> Batch<'a> {
        let pool = self.pool.as_ref();
        if let Some(pause) = Pause::of("IPPool", is_paused(pool), false) {
            return Batch { tail: Plan::wait_for(Wait::Paused(pause)), ..Batch::default() };
        }
        let mut held = pool.clone();
        let gate = enter(self, &mut held);
        let mut head = Plan::done();
        head.update_object(pool, &held);
        if let Some(wait) = gate {
            return Batch { head, tail: Plan::wait_for(wait), ..Batch::default() };
        }
        let allotment = allot(self, |place| self.in_the_way.get(place).cloned());
        let mut tail = let_orphans_go(self);
        let end = finish(&mut tail, self, &held, &allotment, now);
        let plan = move |(claim, step): (&Claim, Step<'_>)| {
            (claim.key().to_string(), claim::plan(pool, claim, &step, now))
        };
        let claims = Claims::new(allotment.steps.into_iter().map(plan));
        Batch { head, claims, tail: tail.ending(end) }
    }

    fn refuse(&mut self, refusals: Refusals) {
        self.refused = refusals;
    }
}

fn is_paused(pool: &IpPool) -> bool {
    pool.metadata.annotation(annotation::PAUSED).is_some()
}

/// Whether the address manager holds the pool and looks at its claims: neither it nor its Cluster is paused or missing.
pub(crate) fn is_at_work(pool: &IpPool, cluster: Option<&Cluster>) -> bool {
    let waits_for_cluster = match cluster {
        Some(cluster) => cluster.is_paused(),
        None => pool.spec.cluster_name.is_some() && !pool.metadata.is_deleting(),
    };
    pool.metadata.has_finalizer(finalizer::IP_POOL) && !is_paused(pool) && !waits_for_cluster
}

/// Label, owner and finalizer of the pool. Answers what the pool has to wait for before its claims are looked at.
fn enter(snapshot: &Snapshot, held: &mut IpPool) -> Option<Wait> {
    let deleting = held.metadata.is_deleting();
    if let Some(name) = held.spec.cluster_name.clone() {
        let Some(cluster) = &snapshot.cluster else {
            if deleting {
                return None;
            }
            set_labels(held, &name);
            return Some(Wait::ClusterOfPool(name));
        };
        if !deleting {
            set_labels(held, &name);
            set_owner(held, cluster);
        }
        if let Some(pause) = Pause::of("IPPool", false, cluster.is_paused()) {
            return Some(Wait::Paused(pause));
        }
    }
    if !deleting {
        add_finalizer(&mut held.metadata, finalizer::IP_POOL);
    }
    None
}

fn set_labels(pool: &mut IpPool, cluster: &str) {
    let labels = pool.metadata.labels.get_or_insert_default();
    labels.insert(label::CLUSTER_NAME.to_owned(), cluster.to_owned());
    labels.insert(label::PROVIDER.to_owned(), IPAM_PROVIDER.to_owned());
}

fn set_owner(pool: &mut IpPool, cluster: &Cluster) {
    let name = cluster.metadata.name_str();
    let owners = pool.metadata.owner_references.get_or_insert_default();
    let is_it =
        |o: &OwnerReference| o.kind == "Cluster" && group_of(&o.api_version) == CAPI_GROUP && o.name == name;
    if !owners.iter().any(is_it) {
        owners.push(OwnerReference { controller: Some(false), ..owned_by(cluster) });
    }
}

/// Terminating addresses whose claim is gone have nobody left who would release them.
pub(super) fn let_orphans_go(snapshot: &Snapshot) -> Plan {
    let mut plan = Plan::done();
    for address in &snapshot.addresses {
        if snapshot.claimless.contains(&address.place()) {
            claim::release_address(&mut plan, address);
        }
    }
    plan
}

/// The last writes: the status, or the end of the pool.
fn finish(tail: &mut Plan, snapshot: &Snapshot, held: &IpPool, allotment: &Allotment<'_>, now: &str) -> End {
    let mut new = held.clone();
    let deleting = held.metadata.is_deleting();
    if deleting && snapshot.addresses.is_empty() && !snapshot.is_proven_empty {
        return End::WaitFor(Wait::not_asked("every address of the pool"));
    }
    if deleting && snapshot.addresses.is_empty() {
        let_claims_go(tail, snapshot, allotment);
        remove_finalizer(&mut new.metadata, finalizer::IP_POOL);
        tail.update_object(held, &new);
        return End::Done;
    }
    let mut due = false;
    new.status.indexes = indexes(snapshot, allotment);
    if new.status.indexes != held.status.indexes {
        due = !may_write_status(held.status.last_updated.as_deref(), now);
        if !due {
            new.status.last_updated = Some(now.to_owned());
            tail.update_status(held, &new);
        }
    } else if held.status.last_updated.is_none() && !deleting {
        // Nothing was ever given out: it is as it was made.
        new.status.last_updated =
            held.metadata.creation_timestamp.as_ref().map(|created| created.0.to_string());
        tail.update_status(held, &new);
    }
    end(due, deleting.then_some(Wait::AddressesOfPool))
}

/// Nobody would take our finalizer off the claims that are left once the pool is gone.
fn let_claims_go(tail: &mut Plan, snapshot: &Snapshot, allotment: &Allotment<'_>) {
    let released =
        |(claim, step): &(&'_ Claim, Step<'_>)| matches!(step, Step::Release(_)).then(|| claim.key());
    let released: BTreeSet<ClaimKey> = allotment.steps.iter().filter_map(released).collect();
    for claim in &snapshot.all_claims {
        if !released.contains(&claim.key()) {
            claim::unhold(tail, claim);
        }
    }
}

/// Address by name of the claim. An address that names no claim stands under the empty name, so that it is seen.
fn indexes(snapshot: &Snapshot, allotment: &Allotment<'_>) -> BTreeMap<String, String> {
    let mut indexes = allotment.book.indexes();
    let mut addresses = snapshot.addresses.iter().rev();
    if let Some(nameless) = addresses.find(|address| address.claim_name().is_empty()) {
        indexes.insert(String::new(), nameless.address().to_owned());
    }
    indexes
}

#[cfg(test)]
#[path = "decide_tests.rs"]
mod tests;
