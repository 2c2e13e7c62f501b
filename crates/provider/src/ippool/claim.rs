//! One claim: give it an address object, or take it back.

use capm3_api::{
    ipam::{IpAddress, IpAddressSpec, IpClaim, IpPool},
    metadata::MetadataExt,
    reference::WideRef,
    vocabulary::finalizer,
};
use capm3_domain::address::Allocation;
use capm3_engine::Plan;
use kube::core::ObjectMeta;

use super::allot::Step;
use crate::{
    finalizers::{add_finalizer, remove_finalizer},
    owners::owned_by,
};

/// What a step writes.
pub(super) fn plan(pool: &IpPool, claim: &IpClaim, step: &Step<'_>) -> Plan {
    let mut plan = Plan::done();
    match step {
        Step::Hold => {}
        Step::Release(addresses) => release(&mut plan, claim, addresses),
        Step::Link(object) => {
            let name = object.metadata.name_str();
            plan.update(claim, &served(held(claim), pool, name));
        }
        Step::Create(allocation, name) => {
            // Finalizer first: the claim cannot vanish and leave its address behind.
            let held = held(claim);
            plan.update_object(claim, &held);
            plan.create(&address(pool, claim, allocation, name));
            plan.update_status(&held, &served(held.clone(), pool, name));
        }
        Step::Report(words) => {
            // A pool on its way out takes no new claims, so it must not hold them either.
            let mut new = if pool.metadata.is_deleting() { claim.clone() } else { held(claim) };
            new.status.error_message = Some(words.clone());
            plan.update(claim, &new);
        }
    }
    plan
}

fn held(claim: &IpClaim) -> IpClaim {
    let mut held = claim.clone();
    add_finalizer(&mut held.metadata, finalizer::IP_CLAIM);
    held
}

fn served(mut claim: IpClaim, pool: &IpPool, name: &str) -> IpClaim {
    claim.status.address = Some(WideRef::new(pool.metadata.namespace_str(), name));
    claim.status.error_message = None;
    claim
}

fn address(pool: &IpPool, claim: &IpClaim, allocation: &Allocation, name: &str) -> IpAddress {
    let namespace = pool.metadata.namespace_str();
    IpAddress {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            namespace: Some(namespace.to_owned()),
            labels: claim.metadata.labels.clone(),
            finalizers: Some(vec![finalizer::IP_ADDRESS.to_owned()]),
            owner_references: Some(vec![owned_by(pool), owned_by(claim)]),
            ..ObjectMeta::default()
        },
        spec: IpAddressSpec {
            address: allocation.address.to_string(),
            pool: WideRef::new(namespace, pool.metadata.name_str()),
            claim: WideRef::new(namespace, claim.metadata.name_str()),
            prefix: allocation.prefix,
            gateway: allocation.gateway.clone(),
            dns_servers: allocation.dns_servers.clone(),
        },
    }
}

fn release(plan: &mut Plan, claim: &IpClaim, addresses: &[&IpAddress]) {
    for object in addresses {
        let_go(plan, object);
        if !object.metadata.is_deleting() {
            plan.delete(*object);
        }
    }
    unhold(plan, claim);
}

/// Takes our finalizer off an address.
pub(super) fn let_go(plan: &mut Plan, object: &IpAddress) {
    let mut new = object.clone();
    remove_finalizer(&mut new.metadata, finalizer::IP_ADDRESS);
    plan.update_object(object, &new);
}

/// Takes our finalizer off a claim.
pub(super) fn unhold(plan: &mut Plan, claim: &IpClaim) {
    let mut new = claim.clone();
    remove_finalizer(&mut new.metadata, finalizer::IP_CLAIM);
    plan.update_object(claim, &new);
}
