//! What to do with an IPPool and its claims, all in one pass.

use crate::plan::{End, Plan};
use std::collections::{BTreeMap, BTreeSet};

use capm3_api::{
    ipam::{IpAddress, IpPool},
    metadata::{MetadataExt, group_of},
    neighbours::{CAPI_GROUP, Cluster},
    vocabulary::{IPAM_PROVIDER, annotation, finalizer, label},
};
use capm3_domain::{
    address::{Address, ClaimKey},
    wait::{Pause, Wait},
};
use capm3_engine::{Object, ObjectKey};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::core::ObjectMeta;

use super::{
    PoolSnapshot,
    allocate::{Allocations, Step, allocate},
    claim,
    kinds::{Claim, Given},
};
use crate::{
    batch::{Batch, Claims, Pass, Refusals, end, may_write_status},
    finalizers::{add_finalizer, remove_finalizer},
    owners::owned_by,
};

/// Decides; `now` is written where something changes.
pub fn decide(snapshot: &PoolSnapshot<'_>, now: &str) -> Plan {
    snapshot.batch(now).into_plan()
}

/// The same part by part: what the pool itself needs, each claim by itself, the pool's status.
pub fn decide_in_parts<'a>(snapshot: &'a PoolSnapshot<'_>, now: &'a str) -> impl Iterator<Item = Plan> + 'a {
    snapshot.batch(now).into_parts()
}

/// What each IPClaim that needs something gets, without the writes: its address, nothing for now, or why it gets none.
pub fn allocated(snapshot: &PoolSnapshot<'_>) -> Vec<(ObjectKey, Result<Option<IpAddress>, String>)> {
    let steps = allocate(snapshot).steps.into_iter();
    let outcomes = steps.filter_map(|(claim, step)| {
        let Claim::Metal3(claim) = claim else { return None };
        let outcome = match step {
            Step::Link(Given::Metal3(address)) => Ok(Some(address.as_ref().clone())),
            Step::Hold | Step::Release(_) | Step::Link(_) => Ok(None),
            Step::Create(allocation, name) | Step::Complete(allocation, name) => {
                Ok(Some(claim::new_address(&snapshot.pool, claim, &allocation, &name)))
            }
            Step::Report(refusal) => Err(refusal.advice()),
        };
        Some((claim.key(), outcome))
    });
    outcomes.collect()
}

impl Pass for PoolSnapshot<'_> {
    fn batch<'a>(&'a self, now: &'a str) -> Batch<'a> {
        let pool = self.pool.as_ref();
        if let Some(pause) = Pause::of("IPPool", is_paused(pool), false) {
            return Batch { after: Plan::wait_for(Wait::Paused(pause)), ..Batch::default() };
        }
        let mut metadata = pool.metadata.clone();
        let gate = enter(self, &mut metadata);
        let mut before = Plan::done();
        before.update_metadata(pool, &metadata);
        if let Some(wait) = gate {
            return Batch { before, after: Plan::wait_for(wait), ..Batch::default() };
        }
        let allocations = allocate(self);
        let mut after = let_orphans_go(self);
        let end = finish(&mut after, self, &allocations, now);
        let plan = move |(claim, step): (&Claim, Step<'_>)| {
            (claim.key().to_string(), claim::plan(pool, claim, &step, now))
        };
        let claims = Claims::new(allocations.steps.into_iter().map(plan));
        Batch { before, claims, after: after.ending(end) }
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
fn enter(snapshot: &PoolSnapshot<'_>, metadata: &mut ObjectMeta) -> Option<Wait> {
    let deleting = metadata.is_deleting();
    if let Some(name) = snapshot.pool.spec.cluster_name.clone() {
        let Some(cluster) = &snapshot.cluster else {
            if deleting {
                return None;
            }
            set_labels(metadata, &name);
            return Some(Wait::ClusterOfPool(name));
        };
        if !deleting {
            set_labels(metadata, &name);
            set_owner(metadata, cluster);
        }
        if let Some(pause) = Pause::of("IPPool", false, cluster.is_paused()) {
            return Some(Wait::Paused(pause));
        }
    }
    if !deleting {
        add_finalizer(metadata, finalizer::IP_POOL);
    }
    None
}

fn set_labels(metadata: &mut ObjectMeta, cluster: &str) {
    let labels = metadata.labels.get_or_insert_default();
    labels.insert(label::CLUSTER_NAME.to_owned(), cluster.to_owned());
    labels.insert(label::PROVIDER.to_owned(), IPAM_PROVIDER.to_owned());
}

fn set_owner(metadata: &mut ObjectMeta, cluster: &Cluster) {
    let name = cluster.metadata.name_str();
    let owners = metadata.owner_references.get_or_insert_default();
    let is_it =
        |o: &OwnerReference| o.kind == "Cluster" && group_of(&o.api_version) == CAPI_GROUP && o.name == name;
    if !owners.iter().any(is_it) {
        owners.push(OwnerReference { controller: Some(false), ..owned_by(cluster) });
    }
}

/// Terminating addresses whose claim is gone have nobody left who would release them.
pub(super) fn let_orphans_go(snapshot: &PoolSnapshot<'_>) -> Plan {
    let mut plan = Plan::done();
    for (place, address) in &snapshot.addresses {
        if snapshot.claimless.contains(place) {
            claim::release_address(&mut plan, address);
        }
    }
    plan
}

/// The last writes: the status, or the end of the pool.
fn finish(after: &mut Plan, snapshot: &PoolSnapshot<'_>, allocations: &Allocations<'_>, now: &str) -> End {
    let pool = snapshot.pool.as_ref();
    let deleting = pool.metadata.is_deleting();
    if deleting && !snapshot.has_addresses && !snapshot.is_proven_empty {
        return End::WaitFor(Wait::not_asked("every address of the pool"));
    }
    if deleting && !snapshot.has_addresses {
        let_claims_go(after, snapshot, allocations);
        let mut metadata = pool.metadata.clone();
        remove_finalizer(&mut metadata, finalizer::IP_POOL);
        after.update_metadata(pool, &metadata);
        return End::Done;
    }
    // The status is as long as the list of all addresses, so it is compared only when it may be written.
    let may_write = may_write_status(pool.status.last_updated.as_deref(), now);
    if may_write {
        update_status(after, snapshot, allocations, now);
    }
    end(!may_write, deleting.then_some(Wait::AddressesOfPool))
}

fn update_status(after: &mut Plan, snapshot: &PoolSnapshot<'_>, allocations: &Allocations<'_>, now: &str) {
    let pool = snapshot.pool.as_ref();
    let all = snapshot.all_addresses.read(());
    let indexes = indexes(snapshot, allocations, &all);
    let last_updated = if indexes != pool.status.indexes {
        Some(now.to_owned())
    } else if pool.status.last_updated.is_none() && !pool.metadata.is_deleting() {
        // Nothing was ever given out: it is as it was made.
        pool.metadata.creation_timestamp.as_ref().map(|created| created.0.to_string())
    } else {
        return;
    };
    let mut new = pool.clone();
    new.status.indexes = indexes;
    new.status.last_updated = last_updated;
    after.update_status(pool, &new);
}

/// Nobody would take our finalizer off the claims that are left once the pool is gone.
fn let_claims_go(after: &mut Plan, snapshot: &PoolSnapshot<'_>, allocations: &Allocations<'_>) {
    let released =
        |(claim, step): &(&'_ Claim, Step<'_>)| matches!(step, Step::Release(_)).then(|| claim.key());
    let released: BTreeSet<ClaimKey> = allocations.steps.iter().filter_map(released).collect();
    for claim in &snapshot.all_claims {
        if !released.contains(&claim.key()) {
            claim::unhold(after, claim);
        }
    }
}

/// Address by name of the claim, the lowest if it has several. Where claims of both kinds share a name, the IPClaim's address is
/// shown. An address that names no claim stands under the empty name, so that it is seen.
fn indexes(
    snapshot: &PoolSnapshot<'_>,
    allocations: &Allocations<'_>,
    all: &[Given],
) -> BTreeMap<String, String> {
    let mut by_claim: BTreeMap<Option<ClaimKey>, Address> = BTreeMap::new();
    for (address, claim) in allocations.holders(snapshot, all) {
        let first = by_claim.entry(claim).or_insert(address);
        *first = address.min(*first);
    }
    // IPAddressClaims come last in order, so IPClaims are inserted after them.
    let claims = by_claim.into_iter().rev();
    let name = |claim: Option<ClaimKey>| claim.map(|claim| claim.name).unwrap_or_default();
    claims.map(|(claim, address)| (name(claim), address.to_string())).collect()
}

#[cfg(test)]
#[path = "decide_tests.rs"]
mod tests;
