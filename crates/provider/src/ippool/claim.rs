//! One claim: give it an address object, or take it back.

use crate::plan::Plan;
use capm3_api::{
    ipam::{GROUP, IpAddress, IpAddressSpec, IpClaim, IpPool},
    metadata::MetadataExt,
    neighbours::{CapiIpAddress, CapiIpAddressSpec, IpAddressClaim, LocalRef, TypedPoolRef},
    reference::WideRef,
    vocabulary::{condition, event, finalizer, reason},
};
use capm3_domain::address::{AddressAllocator, Allocation, object_name};
use capm3_engine::{EventNote, Object};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::core::ObjectMeta;

use super::{
    allocate::{Refusal, Step},
    kinds::{Claim, Given},
};
use crate::{
    conditions::{Stamp, set},
    finalizers::{add_finalizer, remove_finalizer},
    owners::owned_by,
};

/// What a step writes.
pub(super) fn plan(pool: &IpPool, claim: &Claim, step: &Step<'_>, now: &str) -> Plan {
    let mut plan = match claim {
        Claim::Metal3(claim) => plan_of(pool, claim.as_ref(), step, now),
        Claim::Capi(claim) => plan_of(pool, claim.as_ref(), step, now),
    };
    if let Step::Release(addresses) = step {
        let mut release = Plan::done();
        for object in addresses {
            release_address(&mut release, object);
        }
        release_completely(&mut release, claim);
        plan.append(release);
    }
    plan
}

/// What the two kinds of claims have in common. How they say it differs.
trait Answer: Object {
    /// The finalizer by which we hold it.
    const FINALIZER: &'static str;
    /// Points it at an address.
    fn serve(&mut self, pool: &IpPool, name: &str, now: &str);
    /// Says why it has none.
    fn refuse(&mut self, refusal: &Refusal, now: &str);
    /// Adds what takes the address's name, where that is not its creation itself.
    fn take_name(&self, _plan: &mut Plan, _pool: &IpPool, _allocation: &Allocation, _name: &str) {}
    /// Adds the creation of its address.
    fn create_address(&self, plan: &mut Plan, pool: &IpPool, allocation: &Allocation, name: &str);
}

fn plan_of<K: Answer>(pool: &IpPool, claim: &K, step: &Step<'_>, now: &str) -> Plan {
    let mut plan = Plan::done();
    let mut held = claim.clone();
    add_finalizer(held.meta_mut(), K::FINALIZER);
    match step {
        Step::Hold | Step::Release(_) => {}
        Step::Link(object) => {
            let mut new = held;
            new.serve(pool, object.metadata().name_str(), now);
            plan.update(claim, &new);
        }
        Step::Create(allocation, name) | Step::Complete(allocation, name) => {
            // Finalizer first: the claim cannot vanish and leave its address behind.
            plan.update_object(claim, &held);
            if matches!(step, Step::Create(..)) {
                claim.take_name(&mut plan, pool, allocation, name);
            }
            claim.create_address(&mut plan, pool, allocation, name);
            let mut new = held.clone();
            new.serve(pool, name, now);
            plan.update_status(&held, &new);
        }
        Step::Report(refusal) => {
            // A pool being deleted takes no new claims, so it must not hold them either.
            let mut new = if pool.metadata.is_deleting() { claim.clone() } else { held };
            new.refuse(refusal, now);
            plan.update_object(claim, &new);
            if plan.update_status(claim, &new) {
                let words = format!("IPPool {}: {}", pool.metadata.name_str(), refusal.advice());
                plan.event(EventNote::warning(claim, event::ADDRESS_NOT_GIVEN, words));
            }
        }
    }
    plan
}

impl Answer for IpClaim {
    const FINALIZER: &'static str = finalizer::IP_CLAIM;

    fn serve(&mut self, pool: &IpPool, name: &str, _now: &str) {
        self.status.address = Some(WideRef::new(pool.metadata.namespace_str(), name));
        self.status.error_message = None;
    }

    fn refuse(&mut self, refusal: &Refusal, _now: &str) {
        self.status.error_message = Some(refusal.words.clone());
    }

    fn create_address(&self, plan: &mut Plan, pool: &IpPool, allocation: &Allocation, name: &str) {
        plan.create(&new_address(pool, self, allocation, name));
    }
}

/// The address object of an IPClaim.
pub(super) fn new_address(pool: &IpPool, claim: &IpClaim, allocation: &Allocation, name: &str) -> IpAddress {
    let owners = vec![owned_by(pool), owned_by(claim)];
    IpAddress {
        metadata: metadata(pool, &claim.metadata, owners, finalizer::IP_ADDRESS, name),
        spec: metal3_spec(pool, &claim.metadata, allocation),
    }
}

/// The addresses that the status of a pool shows, as objects: what is known of them where the objects themselves are not
/// given.
pub fn addresses_in_status(pool: &IpPool) -> Vec<IpAddress> {
    let allocator = AddressAllocator::new(&pool.spec, Vec::new());
    let shown = pool.status.indexes.iter().filter_map(|(claim, address)| {
        let allocation = allocator.allocation(address.parse().ok()?);
        let claim = ObjectMeta { name: Some(claim.clone()), ..ObjectMeta::default() };
        let name = object_name(&pool.spec.name_prefix, allocation.address);
        Some(IpAddress {
            metadata: metadata(pool, &claim, vec![owned_by(pool)], finalizer::IP_ADDRESS, &name),
            spec: metal3_spec(pool, &claim, &allocation),
        })
    });
    shown.collect()
}

fn metal3_spec(pool: &IpPool, claim: &ObjectMeta, allocation: &Allocation) -> IpAddressSpec {
    let namespace = pool.metadata.namespace_str();
    IpAddressSpec {
        address: allocation.address.to_string(),
        pool: WideRef::new(namespace, pool.metadata.name_str()),
        claim: WideRef::new(namespace, claim.name_str()),
        prefix: allocation.prefix,
        gateway: allocation.gateway.clone(),
        dns_servers: allocation.dns_servers.clone(),
    }
}

impl Answer for IpAddressClaim {
    const FINALIZER: &'static str = finalizer::CAPI_IP_ADDRESS_CLAIM;

    fn serve(&mut self, _pool: &IpPool, name: &str, now: &str) {
        self.status.address_ref = Some(LocalRef { name: name.to_owned() });
        let stamp = Stamp { now, generation: self.metadata.generation };
        set(&mut self.status.conditions, stamp, condition::READY, true, reason::READY, "");
    }

    fn refuse(&mut self, refusal: &Refusal, now: &str) {
        let stamp = Stamp { now, generation: self.metadata.generation };
        let conditions = &mut self.status.conditions;
        set(conditions, stamp, condition::READY, false, refusal.reason, refusal.words.clone());
    }

    /// Owned by the claim alone: when that is gone, the server clears it away, whoever dies meanwhile.
    fn take_name(&self, plan: &mut Plan, pool: &IpPool, allocation: &Allocation, name: &str) {
        plan.create(&IpAddress {
            metadata: ObjectMeta {
                finalizers: None,
                ..metadata(pool, &self.metadata, vec![owned_by(self)], finalizer::IP_ADDRESS, name)
            },
            spec: metal3_spec(pool, &self.metadata, allocation),
        });
    }

    fn create_address(&self, plan: &mut Plan, pool: &IpPool, allocation: &Allocation, name: &str) {
        let owners = vec![owned_by(pool), owned_by(self)];
        plan.create(&CapiIpAddress {
            metadata: metadata(pool, &self.metadata, owners, finalizer::CAPI_IP_ADDRESS, name),
            spec: CapiIpAddressSpec {
                claim_ref: LocalRef { name: self.metadata.name_str().to_owned() },
                pool_ref: TypedPoolRef {
                    name: pool.metadata.name_str().to_owned(),
                    kind: IpPool::API.kind.to_owned(),
                    api_group: GROUP.to_owned(),
                },
                address: allocation.address.to_string(),
                prefix: Some(allocation.prefix.unwrap_or_default()),
                gateway: allocation.gateway.clone(),
            },
        });
    }
}

fn metadata(
    pool: &IpPool,
    claim: &ObjectMeta,
    owners: Vec<OwnerReference>,
    finalizer: &str,
    name: &str,
) -> ObjectMeta {
    ObjectMeta {
        name: Some(name.to_owned()),
        namespace: pool.metadata.namespace.clone(),
        labels: claim.labels.clone(),
        finalizers: Some(vec![finalizer.to_owned()]),
        owner_references: Some(owners),
        ..ObjectMeta::default()
    }
}

/// Takes an address back.
pub(super) fn release_address(plan: &mut Plan, object: &Given) {
    match object {
        Given::Metal3(address) | Given::Lock(address) => {
            release_object(plan, address.as_ref(), finalizer::IP_ADDRESS)
        }
        Given::Capi(address) => release_object(plan, address.as_ref(), finalizer::CAPI_IP_ADDRESS),
    }
}

fn release_object<K: Object>(plan: &mut Plan, object: &K, finalizer: &str) {
    without(plan, object, &[finalizer]);
    if !object.meta().is_deleting() {
        plan.delete(object);
    }
}

/// Removes the finalizers of a claim whose addresses are taken back. If a Metal3Data still holds it, that is given up.
fn release_completely(plan: &mut Plan, claim: &Claim) {
    match claim {
        Claim::Metal3(object) => without(plan, object.as_ref(), &[claim.finalizer(), finalizer::DATA]),
        Claim::Capi(_) => unhold(plan, claim),
    }
}

/// Takes our finalizer off a claim.
pub(super) fn unhold(plan: &mut Plan, claim: &Claim) {
    match claim {
        Claim::Metal3(object) => without(plan, object.as_ref(), &[claim.finalizer()]),
        Claim::Capi(object) => without(plan, object.as_ref(), &[claim.finalizer()]),
    }
}

fn without<K: Object>(plan: &mut Plan, object: &K, finalizers: &[&str]) {
    let mut new = object.clone();
    for finalizer in finalizers {
        remove_finalizer(new.meta_mut(), finalizer);
    }
    plan.update_object(object, &new);
}
